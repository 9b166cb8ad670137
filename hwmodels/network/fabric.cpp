#include "hwmodels/network/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "hwmodels/network/placement.hpp"
#include "hwmodels/network/presets.hpp"
#include "hwmodels/network/topology.hpp"
#include "sim/base/check.hpp"
#include "sim/config/reader.hpp"

namespace tokenline::hw {
namespace {

using config::Range;
using config::Reader;

/// What there is lies well within these; beyond them simulated times would end.
constexpr Range<double> rates{1e6, 1e15};
constexpr Range<double> delays{0.0, 1.0};
constexpr Range<double> shares{1e-2, 1.0};
/// What keeps the graph, and the time to build it, within reason.
constexpr Range<std::int64_t> gpu_count{1, 256};
constexpr Range<std::int64_t> node_count{1, 4'096};

/// The keys of a cable inside `reader`'s mapping.
Cable read_cable(Reader reader) {
  Cable cable;
  const BytesPerSecond rate = reader.bandwidth({"bandwidth", "Line rate of each direction"}, rates);
  const double efficiency =
      reader.real({"efficiency", "Share of the line rate that payload reaches"}, shares, 1.0);
  const auto back = reader.optional_real(
      {"efficiency_back",
       "The same from the GPU, into memory, into drives, where it differs from the other way"},
      shares);
  cable.forward = rate * efficiency;
  cable.backward = rate * back.value_or(efficiency);
  cable.both_ways = reader.bandwidth(
      {"both_ways", "Limit of the sum of the two directions; 0: none"}, {0.0, rates.max}, "0 B/s");
  if (cable.both_ways > BytesPerSecond() && cable.both_ways < BytesPerSecond(rates.min))
    reader.error("both_ways", "is below 1 MB/s; leave it out where there is no such limit");
  cable.latency = reader.seconds({"latency", "Of a message, either way"}, delays);
  reader.finish();
  return cable;
}

constexpr config::Key message_key{"message",
                                  "Time of each contiguous piece of a transfer, beyond its bytes"};

/// Reads the whole of a file with `read`.
template <class Fabric, class Read>
Fabric parse(const std::string& file, std::string_view yaml, const Read& read) {
  config::Document document(config::parse_yaml(file, yaml));
  Reader reader(document);
  Fabric fabric;
  read(reader, fabric);
  reader.finish();
  document.throw_if_errors();
  const std::size_t begin = file.rfind('/') + 1;  // npos + 1 is 0.
  fabric.name = file.substr(begin, file.rfind(".yaml") - begin);
  return fabric;
}

void read_node(Reader& reader, NodeFabric& node) {
  node.description = reader.text({"description", "Full name of the node"});
  node.gpus = reader.integer({"gpus", "GPUs of the usual node"}, gpu_count);
  if (auto nvlink = reader.optional_section({"nvlink", "A GPU's links to the NVSwitch"}))
    node.nvlink = read_cable(*std::move(nvlink));
  node.pcie = read_cable(reader.section(
      {"pcie", "A GPU's link to its PCIe switch, and that switch's to the root complex"}));
  node.gpus_per_switch = reader.integer({"gpus_per_switch", "GPUs of a PCIe switch"}, gpu_count);
  node.memory = read_cable(reader.section({"host_memory", "All of the host's memory"}));
  node.nvme = read_cable(reader.section({"nvme", "All NVMe drives together"}));
  node.message = reader.seconds(message_key, delays);
}

void read_rails(Reader& reader, InterFabric& fabric) {
  fabric.rails = reader.boolean(
      {"rails", "NICs of one index share a leaf, instead of those of a group of nodes"}, false);
  const std::vector<std::string> ways{"nvswitch", "spine"};
  reader.alternative("with rails: true", fabric.rails, [&] {
    const std::string way =
        reader.word({"cross_rail",
                     "How a flow changes rails: by its own node's NVSwitch to the "
                     "neighbour on that rail, or by the spine"},
                    ways);
    fabric.cross_rail = way == ways.front() ? CrossRail::nvswitch : CrossRail::spine;
  });
  if (fabric.rails && !fabric.nic_per_gpu)
    reader.error("rails", "rails need a NIC per GPU", "nics: per_gpu");
}

void read_inter(Reader& reader, InterFabric& fabric) {
  fabric.description = reader.text({"description", "Full name of the fabric"});
  const std::vector<std::string> nics{"per_gpu", "per_node"};
  fabric.nic_per_gpu =
      reader.word({"nics", "A NIC at each GPU, or one at the root complex"}, nics) == nics.front();
  fabric.nic = read_cable(
      reader.section({"nic", "A NIC's link to its leaf, with the latency of NIC and leaf"}));
  read_rails(reader, fabric);
  fabric.nodes_per_leaf =
      reader.integer({"nodes_per_leaf", "Nodes whose NICs share leaves"}, node_count);
  fabric.oversubscription = reader.real(
      {"oversubscription", "Bandwidth of a leaf's NICs over its bandwidth to the spine"},
      {1.0, 100.0});
  fabric.spine_latency =
      reader.seconds({"spine_latency", "Of a leaf to the spine, or back"}, delays);
  fabric.message = reader.seconds(message_key, delays);
  Reader collectives = reader.section({"collectives", "What NCCL adds between nodes"});
  fabric.collective_step = collectives.seconds(
      {"step", "Time of a step of a collective beyond the latency of its path"}, delays);
  fabric.collective_efficiency =
      collectives.real({"efficiency", "Share of a path's bandwidth that it reaches"}, shares);
  collectives.finish();
}

std::vector<std::string> names_of(std::span<const CatalogFile> presets) {
  std::vector<std::string> names;
  for (const CatalogFile& preset : presets) names.emplace_back(preset.name);
  std::ranges::sort(names);
  return names;
}

template <class Parse>
auto load(const std::string& name_or_path, std::string_view kind,
          std::span<const CatalogFile> presets, const Parse& parse_file) {
  if (config::is_file_name(name_or_path))
    return parse_file(name_or_path, config::read_file(name_or_path));
  const auto found = std::ranges::find(presets, name_or_path, &CatalogFile::name);
  if (found == presets.end()) {
    throw config::ConfigError(config::Diagnostic{
        {name_or_path, 1, 1},
        std::string(kind),
        fmt::format("no built-in {} is called '{}'", kind, name_or_path),
        config::suggestion(name_or_path, names_of(presets)) + "; or the path of such a file"});
  }
  return parse_file(fmt::format("{}.yaml", found->name), found->yaml);
}

/// The preset or file so called, which `key` names; nothing after a mistake, which is recorded.
template <class Load>
auto load_named(Reader& reader, std::string_view key, const std::string& name,
                const Load& load_file) -> std::optional<decltype(load_file(name))> {
  const bool is_path = config::is_file_name(name);
  const std::string source = is_path ? reader.existing_file(key, name) : name;
  if (source.empty()) return {};
  try {
    return load_file(source);
  } catch (const config::ConfigError& e) {
    for (const config::Diagnostic& d : e.diagnostics()) {
      if (is_path)
        reader.document().error(d.where, d.path, d.message, d.hint);
      else
        reader.error(key, d.message, d.hint);
    }
    return {};
  }
}

}  // namespace

const InterFabric& ClusterDesign::between_nodes() const {
  TOKENLINE_CHECK(fabric.has_value(), "{} nodes without a fabric", nodes);
  return *fabric;
}

NodeFabric parse_node_fabric(const std::string& file, std::string_view yaml) {
  return parse<NodeFabric>(file, yaml, read_node);
}

InterFabric parse_inter_fabric(const std::string& file, std::string_view yaml) {
  return parse<InterFabric>(file, yaml, read_inter);
}

NodeFabric load_node_fabric(const std::string& name_or_path) {
  return load(name_or_path, "node", node_presets(), parse_node_fabric);
}

InterFabric load_inter_fabric(const std::string& name_or_path) {
  return load(name_or_path, "fabric", fabric_presets(), parse_inter_fabric);
}

std::vector<std::string> node_fabric_names() { return names_of(node_presets()); }

std::vector<std::string> inter_fabric_names() { return names_of(fabric_presets()); }

ClusterDesign read_cluster_design(config::Reader& reader, std::span<const std::int64_t> replicas) {
  ClusterDesign design;
  const std::size_t before = reader.document().mistakes();
  const std::string node =
      reader.text({"node", "Kind of node: a name of `list networks`, or a file"});
  const auto nodes = reader.optional_integer(
      {"nodes", "Nodes of the cluster; without it, those that the replicas take"}, node_count);
  const auto gpus = reader.optional_integer(
      {"gpus_per_node", "GPUs of each node; without it, those of the usual node"}, gpu_count);
  const auto fabric = reader.optional_text(
      {"fabric", "What connects the nodes: a name of `list networks`, or a file"});
  if (reader.document().mistakes() != before) return design;
  if (!node.empty())
    design.node = load_named(reader, "node", node, load_node_fabric).value_or(NodeFabric{});
  if (fabric) design.fabric = load_named(reader, "fabric", *fabric, load_inter_fabric);
  design.gpus_per_node = gpus.value_or(design.node.gpus);
  if (reader.document().mistakes() != before) return design;
  const std::int64_t needed = std::max<std::int64_t>(1, nodes_of(replicas, design.gpus_per_node));
  design.nodes = nodes.value_or(needed);
  if (needed > nodes.value_or(node_count.max)) {
    reader.error("nodes", fmt::format("the replicas take {} nodes of {} GPUs, more than {}", needed,
                                      design.gpus_per_node, nodes.value_or(node_count.max)));
    return design;
  }
  if (const std::string refusal = first_refusal(design); !refusal.empty())
    reader.error("fabric", refusal,
                 design.fabric ? "" : "infiniband_ndr, or another of `tokenline list networks`");
  return design;
}

}  // namespace tokenline::hw
