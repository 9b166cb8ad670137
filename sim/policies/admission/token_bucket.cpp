#include <algorithm>
#include <cmath>

#include "sim/policies/policies.hpp"
#include "sim/stats/int128.hpp"

namespace tokenline {
namespace {

/// A bucket that is full at first. Counted in 10^-15 of what it holds, so that a rate is a whole
/// number of them per nanosecond to 10^-6 per second, and no rounding decides on a request.
class TokenBucket final : public AdmissionControl {
 public:
  explicit TokenBucket(const AdmissionSetup& setup)
      : counts_tokens_(setup.bucket_counts_tokens),
        per_nanosecond_(std::llround(setup.bucket_rate.value() * 1e6)),
        burst_(stats::Int128{setup.bucket_burst} * whole),
        level_(burst_) {}

  bool admits(const AdmissionRequest& request, std::span<const ReplicaView> /*replicas*/) override {
    level_ =
        std::min(burst_, level_ + stats::Int128{(request.now - filled_).count()} * per_nanosecond_);
    filled_ = request.now;
    const stats::Int128 cost = counts_tokens_ ? request.prompt_tokens * whole : whole;
    if (level_ < cost) return false;
    level_ -= cost;
    return true;
  }

 private:
  static constexpr stats::Int128 whole = 1'000'000'000'000'000;

  bool counts_tokens_;
  std::int64_t per_nanosecond_;
  stats::Int128 burst_;
  stats::Int128 level_;
  TimePoint filled_{};
};

}  // namespace

void register_admission_token_bucket(Policies& policies) {
  policies.admission.add(
      "token_bucket",
      {.summary = "Admits `bucket_rate` requests or prompt tokens per second, and up to "
                  "`bucket_burst` at once after a lull; refuses the others.",
       .source = "Envoy's local rate limit (token bucket); the requests and tokens per minute that "
                 "model APIs allow",
       .make = [](const AdmissionSetup& setup) { return std::make_unique<TokenBucket>(setup); }});
}

}  // namespace tokenline
