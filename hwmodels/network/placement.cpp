#include "hwmodels/network/placement.hpp"

#include "hwmodels/network/network.hpp"
#include "sim/base/check.hpp"
#include "sim/base/integer.hpp"

namespace tokenline::hw {
namespace {

/// Numbers the GPUs of all nodes through, node after node.
class Row {
 public:
  explicit Row(std::int64_t gpus_per_node) : gpus_per_node_(gpus_per_node) {
    TOKENLINE_CHECK(gpus_per_node > 0, "nodes of {} GPUs", gpus_per_node);
  }

  /// The first GPU of the next replica.
  std::int64_t take(std::int64_t gpus) {
    TOKENLINE_CHECK(gpus > 0, "a replica of {} GPUs", gpus);
    const std::int64_t left = ceil_div(end_, gpus_per_node_) * gpus_per_node_ - end_;
    const std::int64_t begin = gpus <= left ? end_ : end_ + left;
    end_ = begin + gpus;
    return begin;
  }

  [[nodiscard]] std::int64_t nodes() const { return ceil_div(end_, gpus_per_node_); }

 private:
  std::int64_t gpus_per_node_;
  std::int64_t end_ = 0;
};

}  // namespace

std::vector<std::vector<Vertex>> place(std::span<const std::int64_t> replicas,
                                       std::int64_t gpus_per_node) {
  Row row(gpus_per_node);
  std::vector<std::vector<Vertex>> all;
  all.reserve(replicas.size());
  for (const std::int64_t gpus : replicas) {
    const std::int64_t begin = row.take(gpus);
    std::vector<Vertex>& own = all.emplace_back();
    for (std::int64_t gpu = begin; gpu < begin + gpus; ++gpu)
      own.push_back(gpu_at(gpu / gpus_per_node, gpu % gpus_per_node));
  }
  return all;
}

std::int64_t nodes_of(std::span<const std::int64_t> replicas, std::int64_t gpus_per_node) {
  Row row(gpus_per_node);
  for (const std::int64_t gpus : replicas) row.take(gpus);
  return row.nodes();
}

}  // namespace tokenline::hw
