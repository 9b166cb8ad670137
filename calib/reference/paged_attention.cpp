#include "calib/reference/paged_attention.hpp"

#include <algorithm>
#include <vector>

#include "sim/base/check.hpp"

namespace tokenline::reference {

PagedCache::PagedCache(std::int64_t blocks, std::int64_t block_size, std::int64_t width)
    : block_size_(block_size),
      pool_(blocks, block_size),
      keys_(blocks * block_size, width),
      values_(blocks * block_size, width) {
  TOKENLINE_CHECK(width >= 1, "a cache of width {}", width);
}

bool PagedCache::append(std::int64_t request, std::span<const double> key,
                        std::span<const double> value) {
  if (!pool_.append(request, 1)) return false;
  const std::int64_t place = pool_.tokens(request) - 1;
  const std::int64_t block = pool_.table(request).back();
  const std::int64_t row = block * block_size_ + place % block_size_;
  std::ranges::copy(key, keys_.row(row).begin());
  std::ranges::copy(value, values_.row(row).begin());
  return true;
}

Matrix PagedCache::gathered(std::int64_t request, const Matrix& from) const {
  const std::vector<std::int64_t> table = pool_.table(request);
  Matrix all(pool_.tokens(request), from.columns());
  for (std::int64_t i = 0; i < all.rows(); ++i) {
    const std::int64_t block = table[static_cast<std::size_t>(i / block_size_)];
    std::ranges::copy(from.row(block * block_size_ + i % block_size_), all.row(i).begin());
  }
  return all;
}

Matrix PagedCache::attention(std::int64_t request, const Matrix& q) const {
  const std::int64_t tokens = pool_.tokens(request);
  TOKENLINE_CHECK(tokens >= 1, "request {} has no tokens", request);
  Matrix o(q.rows(), values_.columns());
  for (std::int64_t i = 0; i < q.rows(); ++i) {
    PartialSoftmax softmax(values_.columns());
    std::int64_t left = tokens;
    for (const std::int64_t block : pool_.table(request)) {
      std::vector<double> scores;
      const std::int64_t first = block * block_size_;
      for (std::int64_t j = 0; j < std::min(left, block_size_); ++j)
        scores.push_back(scaled_product(q.row(i), keys_.row(first + j)));
      softmax.add(scores, values_, first);
      left -= block_size_;
    }
    softmax.divide_into(o.row(i));
  }
  return o;
}

}  // namespace tokenline::reference
