#include "tools/cli/describe_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "hwmodels/network/network.hpp"
#include "hwmodels/network/presets.hpp"
#include "sim/report/text_table.hpp"

namespace tokenline::cli {
namespace {

std::string_view text_of(std::span<const hw::CatalogFile> presets, std::string_view name) {
  return std::ranges::find(presets, name, &hw::CatalogFile::name)->yaml;
}

void add(report::TextTable& table, const hw::Network& network, const std::string& label,
         const hw::Vertex& from, const hw::Vertex& to) {
  const hw::Path path = network.route(from, to);
  table.row({label, fmt::format("{:.4g}", path.bandwidth.value() / 1e9),
             fmt::format("{:.3g}", path.latency.value() * 1e6),
             fmt::format("{:.3g}", path.message.value() * 1e6),
             fmt::format("{}", path.links.size())});
}

report::TextTable path_table() {
  report::TextTable table(1);
  table.row({"path", "GB/s alone", "latency us", "per message us", "links"});
  return table;
}

}  // namespace

std::string describe_node_fabric(const std::string& name) {
  const hw::NodeFabric node = hw::load_node_fabric(name);
  const hw::Network network({.nodes = 1, .gpus_per_node = node.gpus, .node = node, .fabric = {}});
  const hw::Vertex gpu = hw::gpu_at(0, 0);
  report::TextTable table = path_table();
  if (node.gpus > 1) {
    add(table, network, "GPU 0 to 1", gpu, hw::gpu_at(0, 1));
    add(table, network, "GPU 0 to the last", gpu, hw::gpu_at(0, node.gpus - 1));
  }
  add(table, network, "host memory to GPU", hw::memory_at(0), gpu);
  add(table, network, "GPU to host memory", gpu, hw::memory_at(0));
  add(table, network, "drives to GPU", hw::nvme_at(0), gpu);
  add(table, network, "GPU to drives", gpu, hw::nvme_at(0));
  return fmt::format("node {}\n{}\n{}", name, text_of(hw::node_presets(), name), table.text());
}

std::string describe_inter_fabric(const std::string& name) {
  constexpr std::string_view usual_node = "hgx_h100";
  const hw::NodeFabric node = hw::load_node_fabric(std::string(usual_node));
  const hw::InterFabric fabric = hw::load_inter_fabric(name);
  const hw::Network network({.nodes = fabric.nodes_per_leaf + 1,
                             .gpus_per_node = node.gpus,
                             .node = node,
                             .fabric = fabric});
  const hw::Vertex gpu = hw::gpu_at(0, 0);
  report::TextTable table = path_table();
  add(table, network, "GPU 0 to GPU 0 of the next node", gpu, hw::gpu_at(1, 0));
  add(table, network, "GPU 0 to GPU 1 of the next node", gpu, hw::gpu_at(1, 1));
  add(table, network, "GPU 0 to GPU 0 under another leaf", gpu,
      hw::gpu_at(fabric.nodes_per_leaf, 0));
  add(table, network, "host memory to that of the next node", hw::memory_at(0), hw::memory_at(1));
  return fmt::format("fabric {}\n{}\nBetween nodes of the kind {}:\n{}", name,
                     text_of(hw::fabric_presets(), name), usual_node, table.text());
}

}  // namespace tokenline::cli
