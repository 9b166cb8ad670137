#include "sim/engine/resharding.hpp"

#include <algorithm>

namespace tokenline {

std::vector<KvSlice> reshard(std::int64_t kv_heads, std::int64_t from, std::int64_t to) {
  const std::int64_t wanted = std::max<std::int64_t>(1, kv_heads / to);  // heads of a receiver
  const std::int64_t owned = std::max<std::int64_t>(1, kv_heads / from);
  const std::int64_t copies = std::max<std::int64_t>(1, from / kv_heads);
  std::vector<KvSlice> slices;
  for (std::int64_t rank = 0; rank < to; ++rank) {
    const std::int64_t first = to <= kv_heads ? rank * wanted : rank / (to / kv_heads);
    for (std::int64_t head = first; head < first + wanted; ++head) {
      const std::int64_t sender = head / owned * copies + rank % copies;
      if (!slices.empty() && slices.back().from == sender && slices.back().to == rank)
        ++slices.back().heads;
      else
        slices.push_back({.from = sender, .to = rank, .heads = 1});
    }
  }
  return slices;
}

}  // namespace tokenline
