#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/engine/scenario.hpp"
#include "sim/report/assertions.hpp"

namespace tokenline::report {

/// A figure that somebody stated, to be held against the simulation.
struct Claim {
  enum class Kind { about, at_least, at_most };

  std::string what;
  std::size_t variant = 0;  ///< Into Study::variants.
  std::string metric;
  Kind kind = Kind::about;
  double figure = 0.0;                ///< In the metric's own unit.
  double tolerance = 0.0;             ///< Relative; of Kind::about.
  std::string why;                    ///< Shown when the simulation differs,
  std::vector<std::string> evidence;  ///< with these further metrics of the variant.
};

/// What a study compares, and how.
struct StudyPlan {
  std::string name;
  std::string description;
  std::vector<std::string> columns;  ///< Metrics.
  std::optional<std::string> rank_by;
  std::optional<std::string> then_by;
  bool descending = false;
  std::vector<Claim> claims;
};

/// One scenario of a study: a base file with overrides.
struct Variant {
  std::string name;
  std::string note;
  bool ranked = true;
  Scenario scenario;
  std::vector<Condition> conditions;  ///< The scenario's asserts.
};

/// A scenario that variants change, whose replay is held against what was observed of it.
struct ObservedBase {
  std::string file;
  Scenario scenario;
};

/// A study file with its scenarios, read, checked and ready to run.
struct Study {
  StudyPlan plan;
  std::vector<Variant> variants;
  std::vector<ObservedBase> observed;  ///< The bases with `observed:`, each once.
};

/// Reads a study and loads its scenarios. Throws ConfigError with every mistake found: those of the
/// study at their line, those of an override at its line in the study, each with its variant. The
/// seed of every scenario is moved by `seed_shift`.
[[nodiscard]] Study load_study(const std::string& path, std::uint64_t seed_shift = 0);

/// The same from text; base files are relative to the folder of `file`.
[[nodiscard]] Study parse_study(const std::string& file, std::string_view text,
                                std::uint64_t seed_shift = 0);

/// The keys of a study, as `tokenline describe study` shows them.
[[nodiscard]] std::vector<config::KeyInfo> study_keys();

}  // namespace tokenline::report
