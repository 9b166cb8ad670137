#include "workloads/traffic/content.hpp"

#include "sim/base/random.hpp"

namespace tokenline::traffic {

ContentRun SharedPrefix::of(std::uint64_t number) const {
  RandomStream random(seed, purpose, number);
  // Why not the remainder: the high bits of a product are even, but for 2^-32.
  const std::uint64_t group = (std::uint64_t{random()} * static_cast<std::uint64_t>(groups)) >> 32U;
  return {content_id(purpose, group), tokens};
}

std::uint64_t content_id(std::uint64_t purpose, std::uint64_t number) {
  return mixed(mixed(0, purpose), number);
}

}  // namespace tokenline::traffic
