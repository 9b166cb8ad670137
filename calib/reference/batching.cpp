#include "calib/reference/batching.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/base/integer.hpp"

namespace tokenline::reference {
namespace {

std::int64_t sum(std::span<const std::int64_t> outputs) {
  return std::accumulate(outputs.begin(), outputs.end(), std::int64_t{0});
}

void check(std::span<const std::int64_t> outputs, std::int64_t slots) {
  TOKENLINE_CHECK(!outputs.empty() && std::ranges::min(outputs) >= 1 && slots >= 1,
                  "{} outputs in {} slots", outputs.size(), slots);
}

}  // namespace

BatchingResult static_batching(std::span<const std::int64_t> outputs, std::int64_t slots) {
  check(outputs, slots);
  BatchingResult result{0, sum(outputs), slots};
  const auto size = static_cast<std::size_t>(slots);
  for (std::size_t first = 0; first < outputs.size(); first += size)
    result.steps +=
        std::ranges::max(outputs.subspan(first, std::min(size, outputs.size() - first)));
  return result;
}

BatchingResult continuous_batching(std::span<const std::int64_t> outputs, std::int64_t slots) {
  check(outputs, slots);
  BatchingResult result{0, sum(outputs), slots};
  std::vector<std::int64_t> left;
  std::size_t next = 0;
  while (next < outputs.size() || !left.empty()) {
    while (next < outputs.size() && left.size() < static_cast<std::size_t>(slots))
      left.push_back(outputs[next++]);
    for (std::int64_t& tokens : left) --tokens;
    std::erase(left, 0);
    ++result.steps;
  }
  return result;
}

std::int64_t fewest_steps(std::span<const std::int64_t> outputs, std::int64_t slots) {
  check(outputs, slots);
  return std::max(ceil_div(sum(outputs), slots), std::ranges::max(outputs));
}

}  // namespace tokenline::reference
