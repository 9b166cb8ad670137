// The search space: every choice of each axis with every one of the others, built once.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "sim/report/parallel.hpp"
#include "tools/plan/load.hpp"
#include "tools/plan/problem.hpp"

namespace tokenline::plan {
namespace {

using config::Diagnostic;

/// The choices of the i-th design: the last axis changes fastest.
std::vector<std::size_t> choices_of(const std::vector<Axis>& axes, std::size_t index) {
  std::vector<std::size_t> chosen(axes.size());
  for (std::size_t a = axes.size(); a-- > 0;) {
    chosen[a] = index % axes[a].choices.size();
    index /= axes[a].choices.size();
  }
  return chosen;
}

Design unbuilt(const Plan& plan, std::size_t index) {
  Design design;
  design.choice = choices_of(plan.axes, index);
  for (std::size_t a = 0; a < plan.axes.size(); ++a) {
    const Choice& choice = plan.axes[a].choices[design.choice[a]];
    design.name += (a == 0 ? "" : ", ") + choice.name;
    for (const auto& [assignment, where] : choice.set) design.overrides.push_back(assignment);
    design.pools.insert(design.pools.end(), choice.pools.begin(), choice.pools.end());
  }
  if (plan.axes.empty()) design.name = "as in the base";
  return design;
}

/// A mistake at the choice in the plan that made it.
Diagnostic relocated(Diagnostic mistake, const Plan& plan) {
  for (const Axis& axis : plan.axes)
    for (const Choice& choice : axis.choices)
      for (const auto& [assignment, where] : choice.set)
        if (mistake.where.file == "--set " + assignment) mistake.where = where;
  if (mistake.where.file.starts_with("--set ")) mistake.where = {plan.file, 1, 1};
  return mistake;
}

std::string joined_gpus(const Scenario& scenario) {
  if (scenario.pools.empty()) return scenario.cost->setup().gpu.name;
  std::set<std::string> names;
  for (const Pool& pool : scenario.pools) names.insert(pool.cost->setup().gpu.name);
  std::string text;
  for (const std::string& gpu : names) text += (text.empty() ? "" : " + ") + gpu;
  return text;
}

}  // namespace

bool is_misfit(const Diagnostic& mistake) {
  // The words of sim/engine/scenario_checks.cpp, workloads/models/sharding.cpp and
  // hwmodels/step_cost.cpp; tests/unit/plan/designs_test.cpp holds one of each against them.
  constexpr std::array<std::string_view, 11> words{"does not fit",
                                                   "do not fit",
                                                   "KV blocks; the pool has",
                                                   "do not hold the activations",
                                                   "out of memory",
                                                   "does not divide",
                                                   "do not divide",
                                                   "spans nodes of",
                                                   "needs the asynchronous",
                                                   "was not measured on",
                                                   "reaches others in its node"};
  return std::ranges::any_of(words, [&](std::string_view word) {
    return mistake.message.find(word) != std::string::npos;
  });
}

std::vector<std::pair<Case, std::size_t>> cases_of(const Plan& plan, const Design& design) {
  std::vector<std::pair<Case, std::size_t>> cases;
  if (plan.survive > 0)
    for (std::size_t pool = 0; pool < std::max<std::size_t>(1, design.pools.size()); ++pool)
      cases.emplace_back(Case::loss, pool);
  if (plan.burst > 1.0) cases.emplace_back(Case::burst, 0);
  cases.emplace_back(Case::planned, 0);
  return cases;
}

Problem::Problem(const Plan& plan, std::size_t threads) : plan_(plan) {
  Scenario base = load_scenario(plan.base);
  base_ = std::move(base.resolved);
  base_seed_ = base.seed;
  std::size_t count = 1;
  for (const Axis& axis : plan.axes) {
    count *= axis.choices.size();
    if (count > 100'000)
      throw config::ConfigError(
          Diagnostic{{plan.file, 1, 1}, "axes", "more than 100,000 designs", "leave out choices"});
  }
  std::vector<Built> built(count);
  report::for_each_index(count, threads, [&](std::size_t i) { built[i] = build(i); });
  std::vector<Diagnostic> mistakes;
  std::set<std::tuple<std::string, int, int, std::string, std::string>> seen;
  for (Built& one : built) {
    for (Diagnostic& d : one.mistakes)
      if (seen.emplace(d.where.file, d.where.line, d.where.column, d.path, d.message).second) {
        d.message += fmt::format(" (design '{}')", one.design.name);
        mistakes.push_back(std::move(d));
      }
    designs_.push_back(std::move(one.design));
  }
  if (!mistakes.empty()) throw config::ConfigError(std::move(mistakes));
}

Problem::Built Problem::build(std::size_t index) const {
  Built built{.design = unbuilt(plan_, index), .mistakes = {}};
  try {
    const Trial smallest{.units = plan_.min_units};
    const Scenario scenario =
        load_scenario(plan_.base, {.overrides = overrides(built.design, smallest)});
    price(built, scenario);
  } catch (const config::ConfigError& error) {
    for (const Diagnostic& mistake : error.diagnostics()) {
      if (!is_misfit(mistake))
        built.mistakes.push_back(relocated(mistake, plan_));
      else if (built.design.reason.empty())
        built.design.reason = mistake.message;
    }
  }
  return built;
}

void Problem::price(Built& built, const Scenario& scenario) const {
  Design& design = built.design;
  design.gpu = joined_gpus(scenario);
  design.verdict = Verdict::misses;
  const auto add = [&](const hw::ReplicaCost& cost, std::int64_t gpus) {
    const std::string& gpu = cost.setup().gpu.name;
    const auto usd = plan_.prices.usd_per_gpu_hour.find(gpu);
    if (usd == plan_.prices.usd_per_gpu_hour.end()) {
      built.mistakes.push_back({{plan_.file, 1, 1},
                                "prices",
                                fmt::format("there is no price of a {}", gpu),
                                fmt::format("prices: {{{}: 1.50}}, in dollars per hour", gpu)});
      return;
    }
    design.gpus_per_unit += gpus;
    design.usd_per_unit_hour += static_cast<double>(gpus) * usd->second;
  };
  if (scenario.pools.empty()) return add(*scenario.cost, scenario.cluster.parallelism.gpus());
  for (const Pool& pool : scenario.pools) {
    const auto unit =
        std::ranges::find(design.pools, pool.name, &std::pair<std::string, std::int64_t>::first);
    if (unit == design.pools.end())
      built.mistakes.push_back({{plan_.file, 1, 1},
                                "axes",
                                fmt::format("no choice says how many replicas of pool '{}' are in "
                                            "a unit",
                                            pool.name),
                                fmt::format("pools: {{{}: 1}} beside its `set`", pool.name)});
    else
      add(*pool.cost, unit->second * pool.parallelism.gpus());
  }
}

double Problem::load(const Trial& trial) const {
  return plan_.growth * (trial.which == Case::burst ? plan_.burst : 1.0) * trial.factor;
}

std::vector<std::string> Problem::overrides(const Design& design, const Trial& trial) const {
  std::vector<std::string> all = design.overrides;
  const auto left = [&](std::int64_t replicas, std::size_t pool) {
    return trial.which == Case::loss && pool == trial.pool ? replicas - plan_.survive : replicas;
  };
  for (std::size_t pool = 0; pool < design.pools.size(); ++pool) {
    const std::int64_t replicas = left(trial.units * design.pools[pool].second, pool);
    if (replicas < 1) return {};
    all.push_back(fmt::format("cluster.pools.{}.replicas={}", design.pools[pool].first, replicas));
  }
  if (design.pools.empty()) {
    if (left(trial.units, 0) < 1) return {};
    all.push_back(fmt::format("cluster.replicas={}", left(trial.units, 0)));
  }
  for (std::string& scaled : scaled_load(base_, load(trial))) all.push_back(std::move(scaled));
  all.push_back(fmt::format("seed={}", base_seed_ + static_cast<std::uint64_t>(trial.seed)));
  return all;
}

Scenario Problem::traffic(Case which) const {
  return load_scenario(plan_.base, {.overrides = scaled_load(base_, load({.which = which}))});
}

}  // namespace tokenline::plan
