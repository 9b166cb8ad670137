#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/report/study.hpp"
#include "sim/stats/inference.hpp"

namespace tokenline::report {

/// Fewer replications than these have no interval worth its name.
inline constexpr std::size_t fewest_replications = 5;

struct ReplicationOptions {
  std::size_t count = 10;
  /// Adds replications, at least 10, until the interval of what the study ranks by (its first
  /// column without) is this share of the first variant's mean to either side, for every ranked
  /// variant. Stopping at a width makes intervals cover a little less than they say, the less the
  /// later they stop (Law, Simulation Modeling and Analysis, 2015, chapter 9.4.1).
  std::optional<double> precision;
  std::size_t most = 200;  ///< Replications, with `precision`.
  double confidence = 0.95;
  /// Measures from where MSER-5 sees the warm-up end, the same for all variants: the latest of
  /// theirs. A variant whose scenario has `measure:` keeps it.
  bool drop_warm_up = false;
  std::size_t threads = 1;
};

/// What an interval of the difference says. Better and worse only where less or more of the metric
/// is known to be; `differs` otherwise.
enum class PairedVerdict : std::uint8_t { better, worse, differs, none };

[[nodiscard]] std::string_view name(PairedVerdict evidence);

/// A metric of a variant against the same metric of the first one, seed by seed.
struct PairedFigure {
  std::string metric;
  double first = 0.0;          ///< The first variant's mean over the replications.
  double mean = 0.0;           ///< This variant's.
  stats::Interval difference;  ///< This − first; bounds may be infinite.
  PairedVerdict evidence = PairedVerdict::none;
};

/// How requests with prompts of some lengths fared against the same requests in the first variant:
/// the same seed, class and number, with the same lengths, measured and completed in both.
struct LengthShift {
  std::string class_name;
  std::int64_t from_tokens = 0;
  std::optional<std::int64_t> to_tokens;  ///< Exclusive; empty for the longest.
  std::uint64_t pairs = 0;
  std::uint64_t faster = 0;  ///< End to end, by any amount.
  std::uint64_t slower = 0;
  double mean_ttft_change_ms = 0.0;
  double mean_e2el_change_ms = 0.0;
};

/// Whether the requests of a class in the system get more and more while it arrives.
struct ClassGrowth {
  std::string class_name;
  /// On average over the last third of the time in which it arrives, less over the middle third.
  stats::Interval requests;
  /// The lower bound is above zero, and the growth a fifth of the middle third and one request or
  /// more: percentiles then depend on how long is simulated.
  bool saturated = false;
};

/// Whether a variant comes to rest while requests arrive.
struct Steadiness {
  /// Replications in which MSER-5 sees a steady state, and where the last of their warm-ups ends.
  std::size_t steady = 0;
  double warm_up_s = 0.0;
  std::vector<ClassGrowth> growth;  ///< Without classes of which all arrive at once.
};

struct ReplicatedVariant {
  std::vector<PairedFigure> figures;  ///< None for the first variant; without values left out.
  std::vector<LengthShift> shifts;    ///< By class, then length; only those with pairs.
  std::uint64_t unpaired = 0;         ///< Measured requests of this variant without a partner.
  Steadiness steadiness;
};

/// What a study says over several seeds.
struct Replicated {
  std::size_t count = 0;  ///< Replication i runs every variant with its seed + i.
  double confidence = 0.95;
  std::optional<double> precision;          ///< As asked for.
  bool reached = true;                      ///< Whether `precision` was.
  std::optional<double> measured_from_s;    ///< With drop_warm_up, where a steady state was seen.
  std::vector<ReplicatedVariant> variants;  ///< In the order of the study.
  std::vector<std::string> names;
};

/// Runs every variant of a study with several seeds and compares them pair by pair with the first.
/// `load` gives the study, fresh, with every variant's seed moved by that much. Metrics are the
/// study's columns and what it ranks by; those of `all` also for each class. The result is the same
/// for any number of threads.
[[nodiscard]] Replicated replicate(const std::function<Study(std::uint64_t)>& load,
                                   const ReplicationOptions& options);

/// The part of `compare`'s text about them, and the member of its JSON object.
[[nodiscard]] std::string replications_text(const Replicated& replicated);
[[nodiscard]] std::string replications_json(const Replicated& replicated);

}  // namespace tokenline::report
