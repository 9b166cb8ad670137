// One simulation of a fleet, and what the SLOs say of it.
#include <fmt/format.h>

#include <algorithm>

#include "hwmodels/power.hpp"
#include "sim/engine/run.hpp"
#include "sim/report/comparison.hpp"
#include "sim/report/metric.hpp"
#include "sim/report/summary.hpp"
#include "tools/plan/problem.hpp"

namespace tokenline::plan {
namespace {

using Relation = report::Condition::Comparison;

std::optional<double> stress_of(const report::Condition& condition, std::optional<double> value) {
  if (!value || condition.bound <= 0.0) return std::nullopt;
  if (condition.comparison == Relation::less || condition.comparison == Relation::at_most)
    return *value / condition.bound;
  if ((condition.comparison == Relation::greater || condition.comparison == Relation::at_least) &&
      *value > 0.0)
    return condition.bound / *value;
  return std::nullopt;
}

/// "59 % of it is wait_token_budget"; of tokens after the first the ledger has only means.
std::string limit_of(const report::Summary& summary, const std::string& metric) {
  const auto parts = report::ledger_of(summary, metric);
  if (parts.empty()) return {};
  const std::string_view key = report::key_of(metric);
  const bool mean = key.ends_with("_tpot_ms") || key.ends_with("_itl_ms");
  return fmt::format("{}{:.0f} % of it is {}", mean ? "on average " : "",
                     100.0 * parts.front().fraction, name(parts.front().part));
}

std::vector<Check> checks_of(const Plan& plan, const report::Summary& summary) {
  std::vector<Check> checks;
  const auto results = report::check(plan.slo, summary);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const report::Condition& condition = plan.slo[i];
    checks.push_back({.condition = condition.text,
                      .value = results[i].value,
                      .bound = condition.bound,
                      .passed = results[i].passed,
                      .stress = stress_of(condition, results[i].value),
                      .limit = results[i].passed ? "" : limit_of(summary, condition.metric)});
  }
  return checks;
}

const hw::ReplicaCost& cost_of(const Scenario& scenario, std::string_view pool) {
  const auto found = std::ranges::find(scenario.pools, pool, &Pool::name);
  return found == scenario.pools.end() ? *scenario.cost : *found->cost;
}

/// Mean draw over the measured part of the run.
std::optional<double> mean_watts(const Scenario& scenario, const RunResult& run) {
  double watts = 0.0;
  for (const InstanceResult& instance : run.instances) {
    const hw::ReplicaCost& cost = cost_of(scenario, instance.pool);
    const hw::StepSetup& setup = cost.setup();
    const auto model = hw::power_model(setup.gpu, setup.model.quantization);
    if (!model) return std::nullopt;
    const InstanceStats& stats = instance.measured;
    const Seconds elapsed = to_seconds(stats.as_of - instance.measured_from);
    const Joules used = hw::energy(*model, {.elapsed = elapsed,
                                            .busy = to_seconds(stats.gpu),
                                            .flops = stats.flops,
                                            .bytes = stats.hbm_bytes});
    const Watts draw = elapsed.value() > 0.0 ? used / elapsed : model->idle;
    watts += static_cast<double>(setup.parallelism.gpus()) * draw.value();
  }
  return watts;
}

/// In which the measured requests arrive. Why not until the last answer: a short run would charge a
/// slow fleet for its last answers, and no load that lasts does.
double arrival_span(const Scenario& scenario, const RunResult& run) {
  TimePoint first = TimePoint::max();
  TimePoint last{};
  for (const RequestRecord& record : run.log.records) {
    if (!record.measured) continue;
    first = std::min(first, record.arrival);
    last = std::max(last, record.arrival);
  }
  if (scenario.measure) first = scenario.measure->from;
  if (scenario.measure && scenario.measure->to) last = *scenario.measure->to;
  return last > first ? to_seconds(last - first).value() : 0.0;
}

void add_metrics(Outcome& outcome, const report::Summary& summary, double span) {
  const auto all = [&](const char* key) { return report::metric(summary, key).value; };
  const auto rate = [&](const char* key) -> std::optional<double> {
    const auto amount = all(key);
    return amount ? report::ratio(*amount, span) : std::nullopt;
  };
  outcome.request_throughput = rate("all.completed");
  outcome.output_throughput = rate("all.total_output_tokens");
  if (const auto prompts = rate("all.total_input_tokens"); prompts && outcome.output_throughput)
    outcome.total_token_throughput = *prompts + *outcome.output_throughput;
  outcome.p99_ttft_ms = all("all.p99_ttft_ms");
  outcome.p99_tpot_ms = all("all.p99_tpot_ms");
  if (const auto tpot = all("all.mean_tpot_ms"); tpot && *tpot > 0.0)
    outcome.tokens_per_user = 1000.0 / *tpot;
}

Outcome not_run(Outcome outcome, std::string why) {
  outcome.checks.push_back({.condition = std::move(why), .value = {}, .stress = {}, .limit = {}});
  return outcome;
}

}  // namespace

Tried evaluate(const Problem& problem, const Trial& trial, const std::stop_token& stop) {
  const Design& design = problem.designs()[trial.design];
  Tried tried;
  Outcome& outcome = tried.outcome;
  outcome.which = trial.which;
  outcome.seed = trial.seed;
  if (trial.which == Case::loss && !design.pools.empty())
    outcome.pool = design.pools[trial.pool].first;
  const auto overrides = problem.overrides(design, trial);
  if (overrides.empty()) {
    outcome = not_run(outcome, "no replica is left");
    return tried;
  }
  std::optional<Scenario> scenario;
  try {
    scenario = load_scenario(problem.plan().base, {.overrides = overrides});
  } catch (const config::ConfigError& error) {
    outcome = not_run(outcome, error.diagnostics().front().message);
    return tried;
  }
  const RunResult run = tokenline::run(*scenario, {}, nullptr, stop);
  const report::Summary summary = report::summarize(*scenario, run);
  outcome.checks = checks_of(problem.plan(), summary);
  outcome.passed = std::ranges::all_of(outcome.checks, &Check::passed);
  outcome.simulated_s = summary.simulated_s;
  for (const InstanceResult& instance : run.instances) outcome.steps += instance.whole.steps;
  add_metrics(outcome, summary, arrival_span(*scenario, run));
  outcome.watts = mean_watts(*scenario, run);
  tried.audit_passed = summary.audit.passed;
  return tried;
}

}  // namespace tokenline::plan
