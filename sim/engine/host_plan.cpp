#include "sim/engine/host_plan.hpp"

#include <cmath>

namespace tokenline {
namespace {

/// What one GPU moves of a block.
struct HostPart {
  Bytes bytes;
  std::int64_t pieces = 1;
};

/// Copies of blocks from all `gpus` to the memory, or the drives, of their nodes.
struct Way {
  const hw::Network& network;
  std::span<const hw::Vertex> gpus;
  std::vector<HostPart> parts;  ///< Of each stage: consecutive GPUs, equally many.
  bool nvme = false;

  [[nodiscard]] const HostPart& part(std::size_t gpu) const {
    return parts[gpu * parts.size() / gpus.size()];
  }
  [[nodiscard]] hw::Vertex store(const hw::Vertex& gpu) const {
    return nvme ? hw::nvme_at(gpu.node) : hw::memory_at(gpu.node);
  }
  [[nodiscard]] hw::CopyCost copy(bool to_gpu) const {
    std::vector<hw::CopyShare> shares;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const hw::Vertex there = store(gpus[i]);
      shares.push_back({.from = to_gpu ? there : gpus[i],
                        .to = to_gpu ? gpus[i] : there,
                        .bytes = part(i).bytes,
                        .pieces = part(i).pieces});
    }
    return hw::copy_cost(network, shares);
  }
  /// The same bytes from the memory of the nodes to their drives.
  [[nodiscard]] hw::CopyCost from_memory() const {
    std::vector<hw::CopyShare> shares;
    for (std::size_t i = 0; i < gpus.size(); ++i)
      shares.push_back({.from = hw::memory_at(gpus[i].node),
                        .to = store(gpus[i]),
                        .bytes = part(i).bytes,
                        .pieces = part(i).pieces});
    return hw::copy_cost(network, shares);
  }
};

std::int64_t blocks_of(Bytes size, Bytes block) {
  return static_cast<std::int64_t>(std::floor(size / block));
}

}  // namespace

HostPlan plan_swap(const EngineConfig& config, const hw::ReplicaCost& cost,
                   const MemoryPlan& memory, const hw::Network& network,
                   std::span<const hw::Vertex> gpus) {
  const models::Architecture& model = cost.setup().model;
  const Way way{.network = network,
                .gpus = gpus,
                .parts = {{.bytes = memory.block, .pieces = model.layers * (model.mla ? 1 : 2)}}};
  return {.swap_blocks = blocks_of(config.swap_space, memory.block),
          .swap_out = way.copy(false),
          .swap_in = way.copy(true),
          .tiers = {}};
}

std::vector<TierPlan> plan_tiers(const EngineConfig& config, const std::vector<MemoryPlan>& stages,
                                 const hw::Network& network, std::span<const hw::Vertex> gpus) {
  Way way{.network = network, .gpus = gpus, .parts = {}};
  Bytes block;
  for (const MemoryPlan& stage : stages) {
    way.parts.push_back({.bytes = stage.block});
    block += static_cast<double>(gpus.size() / stages.size()) * stage.block;
  }
  std::vector<TierPlan> tiers;
  for (const bool nvme : {false, true}) {
    const Bytes size = nvme ? config.offload_nvme : config.offload_host;
    if (size <= Bytes()) continue;
    way.nvme = nvme;
    tiers.push_back({.nvme = nvme,
                     .blocks = blocks_of(size, block),
                     .block = block,
                     .read = way.copy(true),
                     .write = tiers.empty() ? way.copy(false) : way.from_memory()});
  }
  return tiers;
}

}  // namespace tokenline
