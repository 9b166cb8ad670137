#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/engine/scenario.hpp"
#include "tools/plan/plan.hpp"

namespace tokenline::plan {

/// One simulation: a fleet under a load.
struct Trial {
  std::size_t design = 0;
  std::int64_t units = 0;
  Case which = Case::planned;
  std::size_t pool = 0;   ///< Which loses replicas, in Case::loss.
  std::int64_t seed = 0;  ///< From 0, added to that of the base.
  double factor = 1.0;    ///< Over the load of the case.
};

/// A plan with its base, and every design of its search space.
class Problem {
 public:
  /// Builds a smallest fleet of each design. Throws ConfigError for what no design could be, at the
  /// choice; a replica that cannot be built on its GPUs is Verdict::does_not_fit.
  Problem(const Plan& plan, std::size_t threads);

  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] const std::vector<Design>& designs() const { return designs_; }
  [[nodiscard]] const config::Node& base() const { return base_; }

  /// Overrides of the base that make the scenario of a trial; empty where no replica of a pool is
  /// left.
  [[nodiscard]] std::vector<std::string> overrides(const Design& design, const Trial& trial) const;
  /// The traffic alone: the base at the load of a case.
  [[nodiscard]] Scenario traffic(Case which) const;

 private:
  /// A design, and the mistakes that no other GPU would cure.
  struct Built {
    Design design;
    std::vector<config::Diagnostic> mistakes;
  };
  [[nodiscard]] Built build(std::size_t index) const;
  [[nodiscard]] double load(const Trial& trial) const;
  void price(Built& built, const Scenario& scenario) const;

  Plan plan_;
  config::Node base_;  ///< Resolved.
  std::uint64_t base_seed_ = 0;
  std::vector<Design> designs_;
};

/// Whether a mistake says that a replica cannot be built on its GPUs, which others could cure.
[[nodiscard]] bool is_misfit(const config::Diagnostic& mistake);

/// Simulates a trial. A fleet without a replica, or one that cannot be built in this size, misses
/// without a simulation.
struct Tried {
  Outcome outcome;
  bool audit_passed = true;
};
[[nodiscard]] Tried evaluate(const Problem& problem, const Trial& trial,
                             const std::stop_token& stop);

/// Fills least_units and bound of every design that fits, and Verdict::bound where no size in
/// the plan's range can meet an SLO (README.md, *Bounds*).
void bound_sizes(const Problem& problem, std::vector<Design>& designs, std::size_t threads);

/// The cases of a plan, hardest first, with the pool that loses replicas.
[[nodiscard]] std::vector<std::pair<Case, std::size_t>> cases_of(const Plan& plan,
                                                                 const Design& design);

}  // namespace tokenline::plan
