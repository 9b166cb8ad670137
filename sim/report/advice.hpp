#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/engine/scenario.hpp"
#include "sim/report/summary.hpp"

namespace tokenline::report {

/// What a rule says of a scenario.
enum class Verdict : std::uint8_t { obeyed, broken, not_applicable };

/// "obeyed", "broken", "not applicable".
[[nodiscard]] std::string_view name(Verdict verdict);

/// Overrides that follow a rule.
struct Proposal {
  std::string name;                         ///< "chunks of 512".
  std::vector<std::string> overrides = {};  ///< As `--set` takes them, in their order.
  bool by_the_rule = true;  ///< Else it goes beyond the rule, to be compared with it.
};

/// One rule held against one run.
struct Judgement {
  Verdict verdict = Verdict::not_applicable;
  std::string evidence = {};  ///< Of this scenario and its run, or why it does not apply.
  std::vector<Proposal> proposals = {};  ///< Only of a broken rule.
  std::string note = {};                 ///< What else to know; may be empty.
};

struct Subject;

/// One of the rules: sim/report/README.md has their reasons and sources.
struct Rule {
  std::string_view name;  ///< "prefill_attention".
  std::string_view text;  ///< What it asks for.
  Judgement (*judge)(const Subject& subject);
};

/// All ten; the number of a rule is its place, from 1.
[[nodiscard]] std::span<const Rule> production_rules();

/// Whether a run is better than another one, over all of their requests.
struct Effect {
  std::vector<std::string> better;  ///< Keys of headline_metrics() that improve by over 1 %,
  std::vector<std::string> worse;   ///< and that get worse.
};

/// The figures of a class that remedies are compared by.
[[nodiscard]] std::span<const std::string_view> headline_metrics();

[[nodiscard]] Effect effect(const Summary& before, const Summary& after);

/// A proposal after its run.
struct Remedy {
  Proposal proposal;
  std::string refusal;             ///< Why the scenario does not take the overrides; else empty,
  std::optional<Summary> summary;  ///< and then there is a run,
  Verdict verdict = Verdict::not_applicable;  ///< what the rule says of it,
  Effect effect;                              ///< and what it changes.
};

/// A rule, its judgement, and its remedies in the order of the proposals.
struct Finding {
  const Rule* rule = nullptr;
  Judgement judgement;
  std::vector<Remedy> remedies;
};

/// The rules held against a scenario.
struct Advice {
  Summary base;
  std::vector<Finding> findings;  ///< In the order of production_rules().

  [[nodiscard]] bool audits_passed() const;
};

/// Runs the scenario, judges it by every rule, and runs it again with each proposal: same seed,
/// same requests. The result is the same for any number of threads. Throws ConfigError for a
/// mistake of the scenario or of the overrides given with it.
[[nodiscard]] Advice advise(const std::string& path, const ScenarioOptions& options,
                            std::size_t threads);

/// The same of a scenario in text, as parse_scenario().
[[nodiscard]] Advice advise_text(const std::string& file, const std::string& text,
                                 const ScenarioOptions& options, std::size_t threads);

/// What `tokenline advise` prints.
[[nodiscard]] std::string advice_text(const Advice& advice);

/// The same as one JSON object, with the headline metrics of every class of every run.
[[nodiscard]] std::string advice_json(const Advice& advice);

}  // namespace tokenline::report
