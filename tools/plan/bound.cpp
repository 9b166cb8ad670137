// What no fleet of a design can do better, from the prices of its operators alone.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/report/metric.hpp"
#include "sim/report/parallel.hpp"
#include "tools/plan/problem.hpp"

namespace tokenline::plan {
namespace {

using Relation = report::Condition::Comparison;

/// Nanoseconds are rounded, and sums of doubles too.
constexpr double slack = 1.0 - 1e-6;

/// The measured requests of a case, by class.
struct Demand {
  struct Request {
    double prompt = 0.0;
    double decoded = 0.0;  ///< Output tokens after the first.
  };
  std::vector<std::string> classes;
  std::vector<std::vector<Request>> requests;
  double first = std::numeric_limits<double>::infinity();  ///< Arrival, in seconds.
  double last = 0.0;
};

/// A percentile of a latency that a condition bounds from above, in seconds.
struct Target {
  std::string metric;     ///< "ttft", "tpot" or "e2el".
  std::size_t scope = 0;  ///< Class; past the last for all.
  double quantile = 0.0;  ///< Negative for a mean.
  double seconds = 0.0;
  std::string text;
};

bool reacts(const Scenario& scenario) {
  const config::Node* traffic = scenario.resolved.find("traffic");
  for (const auto& entry : traffic->entries) {
    const config::Node* arrival = entry.value.find("arrival");
    const config::Node* process = arrival == nullptr ? nullptr : arrival->find("process");
    if (entry.value.find("session") != nullptr ||
        (process != nullptr && process->scalar == "closed_loop"))
      return true;
  }
  return !std::ranges::all_of(scenario.traffic.classes,
                              [](const auto& c) { return c.client.patient(); });
}

/// Empty where requests depend on answers, or may find their prompts computed.
std::optional<Demand> demand_of(Scenario scenario) {
  if (reacts(scenario)) return std::nullopt;
  Demand demand;
  demand.classes = report::class_names(scenario);
  demand.requests.resize(demand.classes.size());
  for (const auto& source : scenario.traffic.sources) {
    if (source->shares()) return std::nullopt;
    while (const auto arrival = source->next()) {
      const auto& window = scenario.measure;
      if (window && (arrival->when < window->from || (window->to && arrival->when >= *window->to)))
        continue;
      const double when = to_seconds(arrival->when - TimePoint{}).value();
      demand.first = std::min(demand.first, when);
      demand.last = std::max(demand.last, when);
      demand.requests[arrival->class_index].push_back(
          {static_cast<double>(arrival->prompt_tokens),
           static_cast<double>(std::max<std::int64_t>(0, arrival->output_tokens - 1))});
    }
  }
  if (demand.first > demand.last) return std::nullopt;
  return demand;
}

std::vector<Target> targets_of(const Plan& plan, const Demand& demand) {
  std::vector<Target> targets;
  for (const report::Condition& condition : plan.slo) {
    if (condition.comparison != Relation::less && condition.comparison != Relation::at_most)
      continue;
    const std::string_view key = report::key_of(condition.metric);
    const std::string_view scope = report::scope_of(condition.metric);
    const auto found = std::ranges::find(demand.classes, scope);
    for (const auto& [statistic, quantile] :
         {std::pair{"mean_", -1.0}, std::pair{"median_", 0.5}, std::pair{"p90_", 0.9},
          std::pair{"p95_", 0.95}, std::pair{"p99_", 0.99}})
      for (const char* metric : {"ttft", "tpot", "e2el"})
        if (key == fmt::format("{}{}_ms", statistic, metric))
          targets.push_back({.metric = metric,
                             .scope = static_cast<std::size_t>(found - demand.classes.begin()),
                             .quantile = quantile,
                             .seconds = condition.bound / 1e3,
                             .text = condition.text});
  }
  return targets;
}

/// Whether every measured request must be answered: percentiles are then over all of them.
bool all_answered(const Plan& plan) {
  return std::ranges::any_of(plan.slo, [](const report::Condition& c) {
    return c.metric == "all.failed" && ((c.comparison == Relation::equal && c.bound == 0.0) ||
                                        (c.comparison == Relation::less && c.bound <= 1.0) ||
                                        (c.comparison == Relation::at_most && c.bound < 1.0));
  });
}

/// The least time of a stage per token of prompts or answers, over all sizes of a step, and that of
/// a whole step: a token runs through every stage.
struct Floors {
  double per_token = 0.0;
  double step = 0.0;
};

Floors floors_of(const hw::ReplicaCost& cost) {
  Floors floors;
  for (std::size_t i = 0; i < cost.stages(); ++i) {
    const hw::StepCost& stage = cost.stage(i);
    const models::Parallelism& parallelism = stage.setup().parallelism;
    const auto prices = stage.token_prices();
    double per_token = std::numeric_limits<double>::infinity();
    double step = per_token;
    for (std::size_t own = 1; own < prices.size(); ++own) {
      const double tokens =
          static_cast<double>(own) * static_cast<double>(parallelism.data * parallelism.context);
      per_token = std::min(per_token, prices[own].time.value() / tokens);
      step = std::min(step, prices[own].time.value());
    }
    floors.per_token = std::max(floors.per_token, per_token);
    floors.step += step;
  }
  return floors;
}

/// Of a design: tokens per second of each pool's replica at most, and floors of latencies.
struct Limits {
  std::vector<double> replica_rate;  ///< By pool; one where all replicas are alike.
  double token = std::numeric_limits<double>::infinity();   ///< Seconds per prompt token.
  double decode = std::numeric_limits<double>::infinity();  ///< Seconds per output token.
};

Limits limits_of(const Problem& problem, const Design& design) {
  const Scenario scenario =
      load_scenario(problem.plan().base,
                    {.overrides = problem.overrides(design, {.units = problem.plan().min_units})});
  const double tokens_per_pass =
      scenario.speculation ? 1.0 + static_cast<double>(scenario.speculation->tokens) : 1.0;
  Limits limits;
  const auto add = [&](const hw::ReplicaCost& cost, bool decodes) {
    const Floors floors = floors_of(cost);
    limits.replica_rate.push_back(1.0 / floors.per_token);
    limits.token = std::min(limits.token, floors.per_token);
    if (decodes) limits.decode = std::min(limits.decode, floors.step / tokens_per_pass);
  };
  if (scenario.pools.empty()) add(*scenario.cost, true);
  // In the order of Design::pools.
  for (const auto& [name, replicas] : design.pools)
    for (const Pool& pool : scenario.pools)
      if (pool.name == name) add(*pool.cost, pool.role != PoolRole::prefill);
  return limits;
}

std::vector<Demand::Request> requests_in(const Demand& demand, std::size_t scope) {
  if (scope < demand.requests.size()) return demand.requests[scope];
  std::vector<Demand::Request> all;
  for (const auto& requests : demand.requests)
    all.insert(all.end(), requests.begin(), requests.end());
  return all;
}

/// How many of `count` samples lie below a bound that their linearly interpolated percentile keeps:
/// the order statistic at the floor of its rank, and all before it.
std::size_t kept(double quantile, std::size_t count) {
  if (count == 0 || quantile < 0.0) return 0;
  return static_cast<std::size_t>(std::floor(quantile * static_cast<double>(count - 1) + 1e-9)) + 1;
}

double smallest(std::vector<double> values, std::size_t count) {
  std::ranges::sort(values);
  double sum = 0.0;
  for (std::size_t i = 0; i < count; ++i) sum += values[i];
  return sum;
}

/// Tokens that must have been computed by a time after the first arrival.
struct Work {
  double tokens = 0.0;
  double seconds = 0.0;
};

/// Of each class the target that asks for most: prompts by TTFT, whole requests by E2EL.
Work work_of(const Demand& demand, const std::vector<Target>& targets) {
  Work work;
  for (std::size_t c = 0; c < demand.requests.size(); ++c) {
    const auto& requests = demand.requests[c];
    double most = 0.0;
    for (const Target& target : targets) {
      if (target.scope != c || target.metric == "tpot" || target.quantile < 0.0) continue;
      std::vector<double> tokens;
      for (const auto& r : requests)
        tokens.push_back(r.prompt + (target.metric == "e2el" ? r.decoded : 0.0));
      const double sum = smallest(tokens, kept(target.quantile, tokens.size()));
      if (sum <= 0.0) continue;
      most = std::max(most, sum);
      work.seconds = std::max(work.seconds, target.seconds);
    }
    work.tokens += most;
  }
  work.seconds += demand.last - demand.first;
  return work;
}

double rate_of(const Plan& plan, const Design& design, const Limits& limits, std::int64_t units,
               Case which, std::size_t lost) {
  double rate = 0.0;
  for (std::size_t pool = 0; pool < limits.replica_rate.size(); ++pool) {
    const std::int64_t each = design.pools.empty() ? 1 : design.pools[pool].second;
    const std::int64_t missing = which == Case::loss && pool == lost ? plan.survive : 0;
    rate += static_cast<double>(units * each - missing) * limits.replica_rate[pool];
  }
  return rate;
}

/// Why no size meets a target; empty where none says so.
std::string impossible(const Demand& demand, const std::vector<Target>& targets,
                       const Limits& limits) {
  for (const Target& target : targets) {
    if (target.metric == "tpot" && limits.decode * slack > target.seconds)
      return fmt::format("{}: a step takes at least {:.4g} ms, attention and host time not counted",
                         target.text, limits.decode * 1e3);
    if (target.metric != "ttft") continue;
    std::vector<double> prompts;
    for (const auto& r : requests_in(demand, target.scope)) prompts.push_back(r.prompt);
    if (prompts.empty()) continue;
    std::ranges::sort(prompts);
    const std::size_t count = kept(target.quantile, prompts.size());
    const double length = target.quantile < 0.0 ? smallest(prompts, prompts.size()) /
                                                      static_cast<double>(prompts.size())
                                                : prompts[count - 1];
    if (length * limits.token * slack > target.seconds)
      return fmt::format(
          "{}: {:.0f} prompt tokens take at least {:.4g} ms, attention and host time not counted",
          target.text, length, length * limits.token * 1e3);
  }
  return {};
}

/// A case with what it asks for.
struct Load {
  Case which;
  std::size_t pool;
  Work work;
};

void bound_design(const Plan& plan, const Demand& demand, const std::vector<Target>& targets,
                  const std::vector<Load>& loads, const Limits& limits, Design& design) {
  design.bound = impossible(demand, targets, limits);
  if (!design.bound.empty()) {
    design.verdict = Verdict::bound;
    design.reason = design.bound;
    design.least_units = plan.max_units + 1;
    return;
  }
  for (const Load& load : loads)
    while (design.least_units <= plan.max_units &&
           rate_of(plan, design, limits, design.least_units, load.which, load.pool) *
                   load.work.seconds <
               load.work.tokens * slack) {
      ++design.least_units;
      design.bound = fmt::format(
          "{:.4g} tokens in {:.4g} s ({}), of which one replica computes at most {:.4g} per second",
          load.work.tokens, load.work.seconds, name(load.which),
          *std::ranges::max_element(limits.replica_rate));
    }
  if (design.least_units > plan.max_units) {
    design.verdict = Verdict::bound;
    design.reason = design.bound;
  }
}

}  // namespace

void bound_sizes(const Problem& problem, std::vector<Design>& designs, std::size_t threads) {
  const Plan& plan = problem.plan();
  for (Design& design : designs) design.least_units = plan.min_units;
  const auto planned = demand_of(problem.traffic(Case::planned));
  if (!planned || !all_answered(plan)) return;
  const auto targets = targets_of(plan, *planned);
  const auto burst = plan.burst > 1.0 ? demand_of(problem.traffic(Case::burst)) : planned;
  report::for_each_index(designs.size(), threads, [&](std::size_t i) {
    Design& design = designs[i];
    if (design.verdict == Verdict::does_not_fit) return;
    std::vector<Load> loads;
    for (const auto& [which, pool] : cases_of(plan, design))
      loads.push_back({which, pool, work_of(which == Case::burst ? *burst : *planned, targets)});
    bound_design(plan, *planned, targets, loads, limits_of(problem, design), design);
  });
}

}  // namespace tokenline::plan
