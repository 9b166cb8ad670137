#include "tools/plan/economics.hpp"

#include <algorithm>
#include <limits>

#include "sim/report/figures.hpp"

namespace tokenline::plan {
namespace {

double factor_of(const Check* check) {
  constexpr double worst = std::numeric_limits<double>::infinity();
  if (check == nullptr) return worst;
  return check->stress.value_or(check->passed ? 0.0 : worst);
}

std::optional<double> per(double amount, std::optional<double> rate, double scale) {
  const auto share = rate ? report::ratio(amount, *rate) : std::nullopt;
  return share ? std::optional(*share * scale) : std::nullopt;
}

/// The tightest check of the worst simulation of a fleet.
const Outcome* worst_outcome(const Fleet& fleet) {
  const auto worst = std::ranges::max_element(
      fleet.outcomes, {}, [](const Outcome& o) { return factor_of(o.tightest()); });
  return worst == fleet.outcomes.end() ? nullptr : &*worst;
}

}  // namespace

Economics economics(const Fleet& fleet) {
  Economics result;
  for (const Outcome& outcome : fleet.outcomes) {
    if (outcome.which != Case::planned || outcome.seed != 0) continue;
    const double usd_per_second = fleet.usd_per_hour / 3600.0;
    result.usd_per_million_output_tokens = per(usd_per_second, outcome.output_throughput, 1e6);
    result.usd_per_million_tokens = per(usd_per_second, outcome.total_token_throughput, 1e6);
    if (outcome.watts) {
      result.joules_per_output_token = per(*outcome.watts, outcome.output_throughput, 1.0);
      result.kwh_per_day = *outcome.watts * 24.0 / 1e3;
    }
    if (outcome.output_throughput)
      result.output_tokens_per_gpu = *outcome.output_throughput / static_cast<double>(fleet.gpus);
    result.tokens_per_user = outcome.tokens_per_user;
    result.p99_ttft_ms = outcome.p99_ttft_ms;
  }
  return result;
}

std::vector<WorstCheck> worst_checks(const Fleet& fleet) {
  std::vector<WorstCheck> worst;
  for (const Case which : {Case::planned, Case::burst, Case::loss})
    for (const Outcome& outcome : fleet.outcomes) {
      if (outcome.which != which) continue;
      for (const Check& check : outcome.checks) {
        const auto known = std::ranges::find_if(worst, [&](const WorstCheck& w) {
          return w.which == which && w.check.condition == check.condition;
        });
        if (known == worst.end())
          worst.push_back({which, check});
        else if (factor_of(&check) > factor_of(&known->check))
          known->check = check;
      }
    }
  return worst;
}

std::optional<Closest> closest(const Result& result) {
  std::optional<Closest> best;
  double least = 0.0;
  for (std::size_t i = 0; i < result.designs.size(); ++i)
    for (const Fleet& fleet : result.designs[i].fleets) {
      const Outcome* outcome = worst_outcome(fleet);
      if (outcome == nullptr) continue;
      const double factor = factor_of(outcome->tightest());
      if (best && factor >= least) continue;
      best = Closest{i, &fleet, outcome};
      least = factor;
    }
  return best;
}

}  // namespace tokenline::plan
