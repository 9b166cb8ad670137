#pragma once

#include <cstdint>
#include <vector>

namespace tokenline {

/// What one GPU of a replica sends to one of another: so many KV heads of a sequence.
struct KvSlice {
  std::int64_t from = 0;  ///< Tensor-parallel ranks.
  std::int64_t to = 0;
  std::int64_t heads = 0;

  friend bool operator==(const KvSlice&, const KvSlice&) = default;
};

/// Who sends what when a sequence moves from a replica of `from` tensor-parallel ranks to one of
/// `to`: every rank of the latter gets exactly the heads that it keeps. Up to `kv_heads` ranks each
/// keep an equal share of the heads, more ranks keep one head each, which several then have; of
/// several that have it, receivers take turns. Sorted by `to`, then `from`. MLA's latent is one
/// head. Contract: each degree divides `kv_heads` or is a multiple of it.
[[nodiscard]] std::vector<KvSlice> reshard(std::int64_t kv_heads, std::int64_t from,
                                           std::int64_t to);

}  // namespace tokenline
