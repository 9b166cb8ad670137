#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hwmodels/network/topology.hpp"
#include "workloads/models/operators.hpp"

namespace tokenline::hw {

/// Places replicas of so many GPUs each on nodes, in order, as launchers number ranks: a replica
/// takes the next GPUs, one that does not fit what is left of a node begins at the next node. Those
/// larger than a node all lie on their nodes in the same way. Returns the GPUs of each, by rank.
[[nodiscard]] std::vector<std::vector<Vertex>> place(std::span<const std::int64_t> replicas,
                                                     std::int64_t gpus_per_node);

/// The nodes that place() uses.
[[nodiscard]] std::int64_t nodes_of(std::span<const std::int64_t> replicas,
                                    std::int64_t gpus_per_node);

/// The groups of GPUs between which the collectives of a pipeline stage are; `gpus` are those of
/// the replica by rank: stage after stage, in it attention group after attention group, in that
/// context rank after context rank, in that the tensor ranks (Megatron-LM, arXiv 2104.04473, 5.1;
/// vLLM's parallel_state). Contract: `gpus` are as many as the parallelism says; RankGroup::stages
/// is not asked of the first stage.
[[nodiscard]] std::vector<std::vector<Vertex>> rank_groups(std::span<const Vertex> gpus,
                                                           const models::Parallelism& parallelism,
                                                           std::int64_t stage,
                                                           models::RankGroup kind);

}  // namespace tokenline::hw
