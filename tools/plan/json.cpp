// plan.json.
#include <nlohmann/json.hpp>

#include "sim/report/version.hpp"
#include "tools/plan/economics.hpp"

namespace tokenline::plan {
namespace {

using Json = nlohmann::ordered_json;

Json number(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json check_object(const Check& check) {
  return {{"slo", check.condition},
          {"value", number(check.value)},
          {"bound", check.bound},
          {"passed", check.passed},
          {"stress", number(check.stress)},
          {"limit", check.limit.empty() ? Json(nullptr) : Json(check.limit)}};
}

Json outcome_object(const Outcome& outcome) {
  Json checks = Json::array();
  for (const Check& check : outcome.checks) checks.push_back(check_object(check));
  return {{"case", name(outcome.which)},
          {"pool", outcome.pool.empty() ? Json(nullptr) : Json(outcome.pool)},
          {"seed", outcome.seed},
          {"passed", outcome.passed},
          {"simulated_s", outcome.simulated_s},
          {"steps", outcome.steps},
          {"request_throughput", number(outcome.request_throughput)},
          {"output_throughput", number(outcome.output_throughput)},
          {"total_token_throughput", number(outcome.total_token_throughput)},
          {"output_tokens_per_s_per_user", number(outcome.tokens_per_user)},
          {"p99_ttft_ms", number(outcome.p99_ttft_ms)},
          {"p99_tpot_ms", number(outcome.p99_tpot_ms)},
          {"mean_power_w", number(outcome.watts)},
          {"checks", std::move(checks)}};
}

Json fleet_object(const Fleet& fleet) {
  const Economics e = economics(fleet);
  Json outcomes = Json::array();
  for (const Outcome& outcome : fleet.outcomes) outcomes.push_back(outcome_object(outcome));
  return {{"units", fleet.units},
          {"gpus", fleet.gpus},
          {"usd_per_hour", fleet.usd_per_hour},
          {"passed", fleet.passed},
          {"seeds_passed", fleet.seeds},
          {"usd_per_million_output_tokens", number(e.usd_per_million_output_tokens)},
          {"usd_per_million_tokens", number(e.usd_per_million_tokens)},
          {"joules_per_output_token", number(e.joules_per_output_token)},
          {"kwh_per_day", number(e.kwh_per_day)},
          {"output_tokens_per_s_per_gpu", number(e.output_tokens_per_gpu)},
          {"simulations", std::move(outcomes)}};
}

Json design_object(const Plan& plan, const Design& design) {
  Json choices = Json::object();
  for (std::size_t a = 0; a < plan.axes.size(); ++a)
    choices[plan.axes[a].name] = plan.axes[a].choices[design.choice[a]].name;
  Json fleets = Json::array();
  for (const Fleet& fleet : design.fleets) fleets.push_back(fleet_object(fleet));
  return {{"name", design.name},
          {"choices", std::move(choices)},
          {"set", design.overrides},
          {"gpu", design.gpu.empty() ? Json(nullptr) : Json(design.gpu)},
          {"gpus_per_unit", design.gpus_per_unit},
          {"usd_per_unit_hour", design.usd_per_unit_hour},
          {"verdict", name(design.verdict)},
          {"reason", design.reason},
          {"least_units", design.least_units},
          {"bound", design.bound.empty() ? Json(nullptr) : Json(design.bound)},
          {"misses_up_to", design.misses_up_to},
          {"fleets", std::move(fleets)}};
}

Json plan_object(const Plan& plan) {
  Json slo = Json::array();
  for (const auto& condition : plan.slo) slo.push_back(condition.text);
  return {{"base", plan.base},
          {"growth", plan.growth},
          {"burst", plan.burst},
          {"survive", plan.survive},
          {"min", plan.min_units},
          {"max", plan.max_units},
          {"seeds", plan.seeds},
          {"confidence", plan.confidence},
          {"size_all", plan.size_all},
          {"slo", std::move(slo)},
          {"prices",
           {{"date", plan.prices.date},
            {"source", plan.prices.source},
            {"own", plan.prices.own},
            {"usd_per_gpu_hour", plan.prices.usd_per_gpu_hour}}}};
}

Json change_object(const Result& result, const Change& change) {
  return {{"axis", result.plan.axes[change.axis].name},
          {"from", change.from},
          {"to", change.to},
          {"design", result.designs[change.design].name},
          {"usd_per_hour", number(change.usd_per_hour)},
          {"same_size", change.same_size ? outcome_object(*change.same_size) : Json(nullptr)}};
}

Json names_of(const Result& result, const std::vector<std::size_t>& designs) {
  Json names = Json::array();
  for (const std::size_t i : designs) names.push_back(result.designs[i].name);
  return names;
}

Json winner_object(const Result& result) {
  if (!result.winner) return nullptr;
  return {{"design", result.designs[*result.winner].name},
          {"units", result.winning_fleet()->units},
          {"gpus", result.winning_fleet()->gpus},
          {"usd_per_hour", result.winning_fleet()->usd_per_hour},
          {"passing_share_at_least", passing_share(result.plan.seeds, result.plan.confidence)},
          {"holds_at", number(result.holds_at)},
          {"breaks_at", number(result.breaks_at)}};
}

Json closest_object(const Result& result) {
  const auto near = result.winner ? std::nullopt : closest(result);
  if (!near) return nullptr;
  return {{"design", result.designs[near->design].name},
          {"units", near->fleet->units},
          {"gpus", near->fleet->gpus},
          {"usd_per_hour", near->fleet->usd_per_hour},
          {"simulation", outcome_object(*near->outcome)}};
}

}  // namespace

std::string plan_json(const Result& result) {
  Json designs = Json::array();
  for (const Design& design : result.designs) designs.push_back(design_object(result.plan, design));
  Json changes = Json::array();
  for (const Change& change : result.changes) changes.push_back(change_object(result, change));
  const Json all{{"tokenline", report::version()},
                 {"plan", result.plan.name},
                 {"settings", plan_object(result.plan)},
                 {"winner", winner_object(result)},
                 {"closest", closest_object(result)},
                 {"designs", std::move(designs)},
                 {"cost_latency_front", names_of(result, result.cost_latency_front)},
                 {"throughput_speed_front", names_of(result, result.throughput_speed_front)},
                 {"changes", std::move(changes)},
                 {"simulations", result.simulations},
                 {"simulated_s", result.simulated_s},
                 {"steps", result.steps},
                 {"audits_passed", result.audits_passed}};
  return all.dump(2) + "\n";
}

}  // namespace tokenline::plan
