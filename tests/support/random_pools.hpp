#pragma once

#include <cstdint>
#include <string>

namespace tokenline::test {

/// The YAML of a small scenario of pools that hand over KV, drawn from `seed`: any way of doing so,
/// one to three replicas of each role, and pools of blocks that hold little more than a request.
[[nodiscard]] std::string random_pools(std::uint64_t seed);

}  // namespace tokenline::test
