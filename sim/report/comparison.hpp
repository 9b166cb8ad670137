#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "sim/report/latency_curves.hpp"
#include "sim/report/ledger_bands.hpp"
#include "sim/report/replications.hpp"
#include "sim/report/study.hpp"

namespace tokenline::report {

/// A variant after its run.
struct VariantResult {
  std::string name;
  std::string note;
  bool ranked = true;
  Summary summary;
  std::vector<ClassCurves> curves = {};   ///< With ComparisonOptions::report, else empty.
  std::vector<ClassLedger> ledgers = {};  ///< Likewise.

  /// A metric of it; without a value where its scenario has no such class.
  [[nodiscard]] Figure figure(const std::string& metric) const;
};

/// A claim held against the simulation.
struct ClaimResult {
  std::optional<double> simulated;
  std::optional<double> ratio;  ///< Simulated ÷ claimed.
  bool confirmed = false;
  std::vector<std::pair<std::string, Figure>> evidence;  ///< By metric.
  /// Where a latency went, largest part first; empty for other metrics.
  std::vector<Share> ledger;
};

/// How near the replay of a base is to what was observed of it.
struct BaseFidelity {
  std::string file;
  Fidelity fidelity;
};

/// The result of a study.
struct Comparison {
  StudyPlan plan;
  std::vector<BaseFidelity> observed;  ///< Of Study::observed.
  /// A base missed what was observed, so that no variant was simulated; all that follows is empty.
  bool refused = false;
  std::vector<VariantResult> variants;  ///< In the order of the study.
  std::vector<ClaimResult> claims;      ///< In the order of plan.claims.
  /// Indices of the ranked variants, best first: by rank_by, then then_by, then the order of the
  /// study; without a value last. Without rank_by in the order of the study.
  std::vector<std::size_t> ranking;
  std::vector<std::size_t> unranked;
  std::optional<Replicated> replicated;  ///< Where several seeds were asked for.

  /// Whether every base that was observed is replayed within its tolerance.
  [[nodiscard]] bool faithful() const;
  [[nodiscard]] bool audits_passed() const;
  [[nodiscard]] bool asserts_passed() const;
  /// rank_by of a variant ÷ that of the first one; empty without rank_by.
  [[nodiscard]] std::optional<double> factor(std::size_t variant) const;
};

struct ComparisonOptions {
  std::size_t threads = 1;
  /// Simulates the variants of a base whose replay misses what was observed too.
  bool ignore_fidelity = false;
  /// Where to write compare.json and a run directory per variant, if anywhere.
  std::optional<std::string> out;
  /// Keep what comparison_report() shows of each variant.
  bool report = false;
  /// Also runs the study with several seeds; `reload` then gives it, as replicate() wants it.
  std::optional<ReplicationOptions> replications = {};
  std::function<Study(std::uint64_t)> reload = {};
  /// Once a stop is requested, compare() soon throws Interrupted.
  std::stop_token stop = {};
};

/// Runs every variant of a study; its traffic is used up. The result and all files are the same for
/// any number of threads. Throws OutputError when results cannot be written.
[[nodiscard]] Comparison compare(Study& study, const ComparisonOptions& options);

/// Holds a claim against a variant's summary.
[[nodiscard]] ClaimResult judge(const Claim& claim, const VariantResult& variant);

/// Where the latency that a metric measures went: of TTFT, of E2E, or (TPOT, ITL) of the time after
/// the first token; of the request at P99 for a P99, else on average. Empty for other metrics.
[[nodiscard]] std::vector<Share> ledger_of(const Summary& summary, const std::string& metric);

/// The order of the ranked variants, as Comparison::ranking.
[[nodiscard]] std::vector<std::size_t> rank(const StudyPlan& plan,
                                            const std::vector<VariantResult>& variants);

/// What `tokenline compare` prints: claims, ranking, the unranked, and the verdicts.
[[nodiscard]] std::string comparison_text(const Comparison& comparison);

/// compare.json: one object, with the summary of every variant.
[[nodiscard]] std::string comparison_json(const Comparison& comparison);

/// A name as a folder: letters, digits and points, everything else as single dashes; never empty.
[[nodiscard]] std::string slug(const std::string& name);

}  // namespace tokenline::report
