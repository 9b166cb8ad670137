#include "hwmodels/kernels/elementwise.hpp"

#include <cmath>

namespace tokenline::hw {

ElementwisePricer::ElementwisePricer(const Gpu& gpu, std::string_view kernel, Bytes bytes_per_token)
    : gpu_(gpu),
      fit_(fit_of(gpu.elementwise, kernel)),
      bytes_per_token_(bytes_per_token),
      slice_(slice_of(fit_, {std::llround(bytes_per_token.value())})) {}

KernelCost ElementwisePricer::operator()(std::int64_t tokens) const {
  const auto count = static_cast<double>(tokens);
  return corrected(gpu_, fit_, {.bytes = count * bytes_per_token_}, slice_.at(count));
}

}  // namespace tokenline::hw
