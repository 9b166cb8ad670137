#include <boost/random/lognormal_distribution.hpp>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/policies/policies.hpp"
#include "sim/policies/queue/ranked_queue.hpp"

namespace tokenline {
namespace {

/// Ranks by the length of the answer as a predictor gives it: the true length times a lognormal
/// error of median 1. The n-th request of a class gets the same prediction whatever the engine
/// does.
class ShortestJobFirst final : public RankedQueue<double> {
 public:
  explicit ShortestJobFirst(const QueueSetup& setup)
      : seed_(setup.seed), sigma_(setup.length_prediction_sigma) {
    for (const QueueClass& c : setup.classes)
      purposes_.push_back(RandomStream::hash(c.name + "/length_prediction"));
  }

 private:
  [[nodiscard]] double rank(const QueuedRequest& request) const override {
    const auto length = static_cast<double>(request.output_tokens);
    if (sigma_ == 0.0) return length;
    RandomStream random(seed_, purposes_[request.class_index], request.class_number);
    return length * boost::random::lognormal_distribution<double>(0.0, sigma_)(random);
  }

  std::uint64_t seed_;
  double sigma_;
  std::vector<std::uint64_t> purposes_;  ///< By class.
};

}  // namespace

void register_queue_shortest_job_first(Policies& policies) {
  policies.queue.add(
      "shortest_job_first",
      {.summary = "The shortest predicted answer first; predictions are off by the factor that "
                  "`length_prediction_sigma` says. Long answers may starve.",
       .source = "SSJF (Qiu et al., Efficient Interactive LLM Serving with Proxy Model-based "
                 "Sequence Length Prediction, 2024)",
       .make = [](const QueueSetup& setup) { return std::make_unique<ShortestJobFirst>(setup); }});
}

}  // namespace tokenline
