#pragma once

#include <optional>
#include <vector>

#include "tools/plan/plan.hpp"

namespace tokenline::plan {

/// What a fleet costs and draws under the planned load, with the first seed.
struct Economics {
  std::optional<double> usd_per_million_output_tokens;
  std::optional<double> usd_per_million_tokens;  ///< Prompts and answers.
  std::optional<double> joules_per_output_token;
  std::optional<double> kwh_per_day;
  std::optional<double> output_tokens_per_gpu;  ///< Per second.
  std::optional<double> tokens_per_user;        ///< Per second.
  std::optional<double> p99_ttft_ms;
};
[[nodiscard]] Economics economics(const Fleet& fleet);

/// An SLO over all simulations of a fleet in one case: the one that comes nearest to missing it, or
/// misses it by most.
struct WorstCheck {
  Case which = Case::planned;
  Check check;
};
[[nodiscard]] std::vector<WorstCheck> worst_checks(const Fleet& fleet);

/// The simulated fleet that misses by the smallest factor.
struct Closest {
  std::size_t design = 0;
  const Fleet* fleet = nullptr;
  const Outcome* outcome = nullptr;
};
/// Empty where nothing was simulated.
[[nodiscard]] std::optional<Closest> closest(const Result& result);

}  // namespace tokenline::plan
