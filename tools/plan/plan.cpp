#include "tools/plan/plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

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

}  // namespace tokenline::plan
