#include "hwmodels/replica_cost.hpp"

namespace tokenline::hw {

ReplicaCost::ReplicaCost(const StepSetup& setup) {
  stages_.push_back(std::make_unique<const StepCost>(setup));
  for (std::int64_t i = 1; i < setup.parallelism.pipeline; ++i)
    stages_.push_back(std::make_unique<const StepCost>(setup, i));
}

Price ReplicaCost::price(const StepShape& shape) const {
  Price sum = stages_.front()->price(shape);
  for (std::size_t i = 1; i < stages_.size(); ++i) sum += stages_[i]->price(shape);
  return sum;
}

}  // namespace tokenline::hw
