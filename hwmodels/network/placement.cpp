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

std::vector<std::vector<Vertex>> rank_groups(std::span<const Vertex> gpus,
                                             const models::Parallelism& parallelism,
                                             std::int64_t stage, models::RankGroup kind) {
  TOKENLINE_CHECK(std::ssize(gpus) == parallelism.gpus(), "{} GPUs of {}", gpus.size(),
                  parallelism.gpus());
  const bool received = kind == models::RankGroup::stages;
  TOKENLINE_CHECK(stage >= (received ? 1 : 0) && stage < parallelism.pipeline, "stage {}", stage);
  const std::int64_t in_stage = parallelism.stage_gpus();
  const auto at = [&](std::int64_t of, std::int64_t rank) {
    return gpus[static_cast<std::size_t>(of * in_stage + rank)];
  };
  std::vector<std::vector<Vertex>> groups;
  if (received) {
    for (std::int64_t rank = 0; rank < in_stage; ++rank)
      groups.push_back({at(stage - 1, rank), at(stage, rank)});
    return groups;
  }
  const std::int64_t size = kind == models::RankGroup::tensor ? parallelism.tensor
                            : kind == models::RankGroup::data ? parallelism.data
                                                              : parallelism.context;
  // Ranks of a group are `stride` apart.
  const std::int64_t stride = kind == models::RankGroup::tensor ? 1
                              : kind == models::RankGroup::data
                                  ? parallelism.tensor * parallelism.context
                                  : parallelism.tensor;
  for (std::int64_t rank = 0; rank < in_stage; ++rank) {
    if (rank / stride % size != 0) continue;
    auto& group = groups.emplace_back();
    for (std::int64_t i = 0; i < size; ++i) group.push_back(at(stage, rank + i * stride));
  }
  return groups;
}

}  // namespace tokenline::hw
