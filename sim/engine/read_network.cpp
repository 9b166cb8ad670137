#include "sim/engine/read_network.hpp"

#include "hwmodels/network/placement.hpp"

namespace tokenline {

void read_network(config::Reader& cluster, std::span<const std::int64_t> replicas,
                  ClusterConfig& config) {
  const std::size_t before = cluster.document().mistakes();
  auto section = cluster.optional_section(
      {"network",
       "Links inside and between the nodes; needed where a replica spans nodes. Replicas are "
       "placed node after node, tensor parallelism innermost, pipeline stages outermost."});
  if (!section) return;
  const hw::ClusterDesign design = hw::read_cluster_design(*section, replicas);
  section->finish();
  if (replicas.empty() || cluster.document().mistakes() != before) return;
  config.network = std::make_shared<const hw::Network>(design);
  config.gpus = hw::place(replicas, design.gpus_per_node);
}

}  // namespace tokenline
