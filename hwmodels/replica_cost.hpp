#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "hwmodels/step_cost.hpp"

namespace tokenline::hw {

/// Prices forward passes of one model on one replica, stage by stage of its pipeline.
class ReplicaCost {
 public:
  /// Throws std::invalid_argument for a setup that cannot be priced (StepCost::first_refusal()).
  explicit ReplicaCost(const StepSetup& setup);

  [[nodiscard]] const StepSetup& setup() const { return stages_.front()->setup(); }
  [[nodiscard]] std::size_t stages() const { return stages_.size(); }
  [[nodiscard]] const StepCost& stage(std::size_t i) const { return *stages_[i]; }

  /// The sum over the stages: a batch that meets no other on its way takes so long.
  [[nodiscard]] Price price(const StepShape& shape) const;

 private:
  std::vector<std::unique_ptr<const StepCost>> stages_;
};

}  // namespace tokenline::hw
