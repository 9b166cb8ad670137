#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/reader.hpp"
#include "sim/report/assertions.hpp"

namespace tokenline::plan {

/// One value of an axis: keys of the scenario that it sets.
struct Choice {
  std::string name;
  /// "cluster.gpu=h100_sxm", with its place in the plan.
  std::vector<std::pair<std::string, config::Location>> set;
  /// Replicas of each pool in one unit of the fleet; empty where all replicas are alike.
  std::vector<std::pair<std::string, std::int64_t>> pools;
};

/// A knob of the search space; choices in the order of the text.
struct Axis {
  std::string name;
  std::vector<Choice> choices;
};

/// Dollars per GPU and hour, and where they are from.
struct Prices {
  std::map<std::string, double, std::less<>> usd_per_gpu_hour;
  std::string date;
  std::string source;
  std::vector<std::string> own;  ///< GPUs whose price the plan gives itself.
};

/// A plan file, read and checked against its base scenario.
struct Plan {
  std::string name;
  std::string description;
  std::string file;
  std::string base;            ///< Path of the scenario whose traffic is to be served.
  double growth = 1.0;         ///< Load of the plan over that of the base.
  double burst = 1.0;          ///< Load of a burst over that of the plan.
  std::int64_t survive = 0;    ///< Replicas that may be missing at the load of the plan.
  std::int64_t min_units = 1;  ///< Of replicas, or of the pools of a Choice.
  std::int64_t max_units = 16;
  std::int64_t seeds = 5;
  double confidence = 0.95;
  bool size_all = false;  ///< Sizes every design, not only those that could be cheapest.
  std::vector<report::Condition> slo;
  std::vector<Axis> axes;
  Prices prices;
};

/// Reads a plan and its base. Throws ConfigError with every mistake found, at its line.
[[nodiscard]] Plan load_plan(const std::string& path);

/// The same from text; the base is relative to the folder of `file`.
[[nodiscard]] Plan parse_plan(const std::string& file, std::string_view text);

/// The keys of a plan, as `tokenline describe plan` shows them.
[[nodiscard]] std::vector<config::KeyInfo> plan_keys();

/// Under which a fleet must meet the SLOs.
enum class Case {
  planned,  ///< All of it, at the load of the plan.
  burst,    ///< All of it, at the load of a burst.
  loss,     ///< Without `survive` replicas, at the load of the plan.
};
/// "planned", "burst", "loss".
[[nodiscard]] std::string_view name(Case which);

/// One SLO in one simulation.
struct Check {
  std::string condition;
  std::optional<double> value;
  double bound = 0.0;
  bool passed = false;
  /// By what factor the bound is missed, below 1 where it is met: value / bound, or its inverse for
  /// conditions from below. Empty where there is no value or the bound is not positive.
  std::optional<double> stress;
  std::string limit;  ///< The largest part of that latency in the ledger; empty for others.
};

/// What a simulation of a fleet came to.
struct Outcome {
  Case which = Case::planned;
  std::string pool;  ///< In which the replicas are missing; empty where all are alike.
  std::int64_t seed = 0;
  std::vector<Check> checks;
  bool passed = false;
  double simulated_s = 0.0;
  std::int64_t steps = 0;
  /// Of the measured requests: completed requests, output and all tokens per second of the time in
  /// which they arrive, the speed at which a user sees tokens (1000 / mean TPOT), and latencies.
  std::optional<double> request_throughput;
  std::optional<double> output_throughput;
  std::optional<double> total_token_throughput;
  std::optional<double> tokens_per_user;
  std::optional<double> p99_ttft_ms;
  std::optional<double> p99_tpot_ms;
  std::optional<double> watts;  ///< Mean draw of all GPUs; empty where a datasheet states none.

  /// The check that is missed by the largest factor, or met by the smallest; null without checks.
  [[nodiscard]] const Check* tightest() const;
};

/// A fleet: a design in a size.
struct Fleet {
  std::int64_t units = 0;
  std::int64_t gpus = 0;
  double usd_per_hour = 0.0;
  std::vector<Outcome> outcomes;  ///< In the order in which they were simulated.
  std::int64_t seeds = 0;         ///< So many seeds met every SLO in every case, from the first.
  bool passed = false;            ///< Every seed so far.
};

/// Why a design is not the answer.
enum class Verdict {
  winner,       ///< The cheapest fleet that met every SLO with every seed.
  costs_more,   ///< A fleet of it meets them, and costs more.
  dominated,    ///< Any fleet of it that could meet them costs at least as much as the winner.
  misses,       ///< The largest fleet misses an SLO.
  bound,        ///< No fleet can meet an SLO: a closed-form bound says so.
  does_not_fit  ///< No replica of it can be built: memory, degrees, kernels.
};
[[nodiscard]] std::string_view name(Verdict verdict);

/// One choice per axis.
struct Design {
  std::vector<std::size_t> choice;  ///< By axis.
  std::string name;                 ///< "H100, TP8, chunks 2048".
  std::vector<std::string> overrides;
  std::vector<std::pair<std::string, std::int64_t>> pools;  ///< Choice::pools.
  std::string gpu;  ///< "h100_sxm"; of pools with several "h100_sxm + h200_sxm".
  std::int64_t gpus_per_unit = 0;
  double usd_per_unit_hour = 0.0;
  Verdict verdict = Verdict::does_not_fit;
  std::string reason;             ///< In words, with the figures.
  std::int64_t least_units = 1;   ///< The bound on the size: fewer cannot meet the SLOs.
  std::string bound;              ///< What says so; empty where there is none.
  std::int64_t misses_up_to = 0;  ///< The largest size that was simulated and misses.
  std::vector<Fleet> fleets;      ///< Simulated, by size.

  /// The smallest fleet that passed all it was simulated with, or null.
  [[nodiscard]] const Fleet* passing() const;
};

/// What one other choice of one axis changes, the others as in the winner.
struct Change {
  std::size_t axis = 0;
  std::string from;
  std::string to;
  std::size_t design = 0;
  std::optional<double> usd_per_hour;  ///< Of its smallest fleet that passed; empty if none did.
  /// A fleet of the winner's size, at the load of the plan with the first seed; empty where it
  /// cannot be built.
  std::optional<Outcome> same_size;
};

/// The result of a plan.
struct Result {
  Plan plan;
  std::vector<Design> designs;
  std::optional<std::size_t> winner;  ///< Into `designs`.
  /// Of the winner, over the load of the plan: the largest factor simulated at which all of the
  /// fleet meets every SLO with every seed, and the smallest at which it misses one.
  std::optional<double> holds_at;
  std::optional<double> breaks_at;
  std::vector<Change> changes;
  std::vector<std::size_t> cost_latency_front;  ///< Designs whose passing fleet nothing dominates.
  std::vector<std::size_t> throughput_speed_front;
  std::int64_t simulations = 0;
  double simulated_s = 0.0;
  std::int64_t steps = 0;
  bool audits_passed = true;
  std::vector<std::string> overrides;  ///< Of the base, which make the winner; empty without one.

  [[nodiscard]] const Fleet* winning_fleet() const;
};

/// How to search.
struct Effort {
  std::size_t threads = 1;
  bool brute_force = false;   ///< Simulates every size of every design with every seed and case.
  std::stop_token stop = {};  ///< Once a stop is requested, solve() soon throws Interrupted.
};

/// The result is the same for any number of threads. Throws ConfigError where an axis asks for what
/// no scenario has.
[[nodiscard]] Result solve(const Plan& plan, const Effort& effort);

/// `passed` of `seeds` replications met the SLOs: what share of such replications does so at least,
/// with that confidence (Clopper and Pearson, Biometrika 26, 1934; one-sided, all passed):
/// (1 − confidence)^(1/seeds).
[[nodiscard]] double passing_share(std::int64_t seeds, double confidence);

/// The winner as a scenario whose `assert:` lines are the SLOs, for a file in `directory`.
/// Contract: there is a winner.
[[nodiscard]] std::string winner_yaml(const Result& result, const std::string& directory);

/// The tables on the console, and plan.json.
[[nodiscard]] std::string plan_text(const Result& result);
[[nodiscard]] std::string plan_json(const Result& result);

/// The text of an HTML page that needs no network, with all of plan.json.
[[nodiscard]] std::string plan_report(const Result& result);

}  // namespace tokenline::plan
