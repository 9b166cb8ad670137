#include "tools/plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "sim/report/run_directory.hpp"

namespace tokenline::plan {

std::string_view name(Case which) {
  constexpr std::array<std::string_view, 3> names{"planned", "burst", "loss"};
  return names.at(static_cast<std::size_t>(which));
}

std::string_view name(Verdict verdict) {
  constexpr std::array<std::string_view, 6> names{"winner", "costs_more", "dominated",
                                                  "misses", "bound",      "does_not_fit"};
  return names.at(static_cast<std::size_t>(verdict));
}

const Check* Outcome::tightest() const {
  const Check* worst = nullptr;
  // A check without a factor is worst where it is missed, and best where it is met.
  const auto rank = [](const Check& check) {
    return check.stress.value_or(check.passed ? 0.0 : std::numeric_limits<double>::infinity());
  };
  for (const Check& check : checks)
    if (worst == nullptr || rank(check) > rank(*worst)) worst = &check;
  return worst;
}

const Fleet* Design::passing() const {
  const auto found = std::ranges::find_if(fleets, &Fleet::passed);
  return found == fleets.end() ? nullptr : &*found;
}

const Fleet* Result::winning_fleet() const { return winner ? designs[*winner].passing() : nullptr; }

double passing_share(std::int64_t seeds, double confidence) {
  return std::pow(1.0 - confidence, 1.0 / static_cast<double>(seeds));
}

std::string winner_yaml(const Result& result, const std::string& directory) {
  std::vector<std::string> overrides = result.overrides;
  std::string asserts;
  for (const report::Condition& condition : result.plan.slo)
    asserts += (asserts.empty() ? "" : ", ") + fmt::format("\"{}\"", condition.text);
  overrides.push_back(fmt::format("assert=[{}]", asserts));
  overrides.push_back(fmt::format("scenario={}", config::emit_scalar(result.plan.name, true)));
  overrides.push_back(fmt::format("description={}",
                                  config::emit_scalar(result.designs[*result.winner].name, true)));
  const Scenario scenario = load_scenario(result.plan.base, {.overrides = overrides});
  return config::emit_yaml(report::rebased(scenario, directory.empty() ? "." : directory));
}

}  // namespace tokenline::plan
