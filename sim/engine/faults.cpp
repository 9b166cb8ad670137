#include "sim/engine/faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tokenline {
namespace {

using config::Reader;

constexpr std::array<std::string_view, 3> kind_names{"instance_crash", "straggler",
                                                     "link_brownout"};
constexpr config::Range<double> times{0.0, 1e9};
/// As many as a network has at most of nodes, and of GPUs in a node.
constexpr config::Range<std::int64_t> node_indices{0, 4'095};
constexpr config::Range<std::int64_t> nic_indices{0, 255};

TimePoint fault_time(Seconds seconds) { return TimePoint{} + to_duration(seconds); }

void read_replica(Reader& item, std::int64_t replicas, Fault& fault) {
  const std::int64_t replica = item.integer({"replica", "Which one, counted from 0."}, {0, 4095});
  if (replica >= replicas)
    item.error("replica", fmt::format("there are {} replicas, counted from 0", replicas));
  fault.replica = static_cast<std::uint32_t>(replica);
}

void read_crash(Reader& item, Duration restart_delay, Fault& fault) {
  fault.at = fault_time(item.seconds({"at", "When the replica crashes."}, times));
  const auto restart = item.optional_seconds(
      {"restart", "Until it serves again; cluster.restart_delay unless given."}, {1e-3, 1e9});
  fault.restart = restart ? to_duration(*restart) : restart_delay;
}

void read_span(Reader& item, Fault& fault) {
  const std::size_t before = item.document().mistakes();
  fault.at = fault_time(item.seconds({"from", "When it begins."}, times));
  fault.to = fault_time(item.seconds({"to", "When all is as fast as before."}, times));
  if (fault.to <= fault.at && item.document().mistakes() == before)
    item.error("to", "it ends before it begins");
}

void read_slowdown(Reader& item, Fault& fault) {
  // One slow GPU slows the others of a replica too: they wait for it in every collective.
  fault.slowdown = item.real(
      {"slowdown", "Its GPU times are multiplied by it, in steps that start in that time."},
      {1.0, 1e3});
}

void check_links(const Reader& item, const FaultTargets& targets, const hw::Brownout& brownout) {
  if (!targets.names_network) {
    item.error("link", "there are no links: no network is named",
               "give cluster.network: {node: hgx_h100, fabric: infiniband_ndr}, or another of "
               "`tokenline list networks`");
    return;
  }
  if (targets.network == nullptr) return;
  const hw::ClusterDesign& design = targets.network->design();
  const hw::Topology& topology = targets.network->topology();
  const hw::Brownout all{.link = brownout.link};
  if (hw::affected(topology, all).empty()) {
    item.error("link", fmt::format("the network of {} node{} has no such links", design.nodes,
                                   design.nodes == 1 ? "" : "s"));
    return;
  }
  if (brownout.node.value_or(0) >= design.nodes) {
    item.error("node", fmt::format("there are {} nodes, counted from 0", design.nodes));
    return;
  }
  if (hw::affected(topology, brownout).empty())
    item.error("nic", fmt::format("a node has {} NICs, counted from 0",
                                  design.between_nodes().nic_per_gpu ? design.gpus_per_node : 1));
}

void read_brownout(Reader& item, const FaultTargets& targets, Fault& fault) {
  static const std::vector<std::string> links{"nic", "spine"};
  const std::size_t before = item.document().mistakes();
  hw::Brownout& brownout = fault.brownout;
  const std::string link =
      item.word({"link",
                 "Which cables: nic: of NICs to their leaf switches; spine: of all leaf switches "
                 "to the spine."},
                links);
  if (link == "spine") brownout.link = hw::FabricLink::spine;
  item.alternative("with link: nic", link == "nic", [&] {
    brownout.node = item.optional_integer(
        {"node", "Of the NICs of that node, counted from 0; of all nodes unless given."},
        node_indices);
    brownout.nic = item.optional_integer(
        {"nic", "Of the NIC of that index in its node; of all unless given."}, nic_indices);
  });
  brownout.bandwidth_factor =
      item.real({"bandwidth_factor", "What is left of their bandwidth, both ways."}, {1e-3, 1.0});
  if (item.document().mistakes() == before) check_links(item, targets, brownout);
}

template <class T>
bool may_be_one(const std::optional<T>& a, const std::optional<T>& b) {
  return !a || !b || *a == *b;
}

/// Whether the factors of `other` multiply with those of `fault` when that begins.
bool adds_to(const Fault& other, const Fault& fault) {
  if (other.kind != fault.kind || other.at > fault.at || other.to <= fault.at) return false;
  if (fault.kind == FaultKind::straggler) return other.replica == fault.replica;
  return other.brownout.link == fault.brownout.link &&
         may_be_one(other.brownout.node, fault.brownout.node) &&
         may_be_one(other.brownout.nic, fault.brownout.nic);
}

/// Beyond this the simulated time would end before a step does.
constexpr double slowest = 1e4;

void check_together(const std::vector<Reader>& items, const std::vector<Fault>& faults) {
  for (std::size_t i = 0; i < faults.size(); ++i) {
    if (faults[i].kind == FaultKind::instance_crash) continue;
    double factor = 1.0;
    for (const Fault& other : faults)
      if (adds_to(other, faults[i])) factor *= other.slowdown / other.brownout.bandwidth_factor;
    if (factor <= slowest * (1.0 + 1e-9)) continue;
    items[i].error(
        faults[i].kind == FaultKind::straggler ? "slowdown" : "bandwidth_factor",
        fmt::format("together with the others of that time it makes things {:.3g} times slower, "
                    "more than {:.0f} times",
                    factor, slowest),
        "factors of one time multiply: let them follow one another, or take milder ones");
    return;
  }
}

Fault read_fault(Reader& item, const FaultTargets& targets) {
  static const std::vector<std::string> kinds(kind_names.begin(), kind_names.end());
  const std::size_t before = item.document().mistakes();
  Fault fault;
  const std::string kind = item.word({"kind", "What goes wrong."}, kinds);
  if (item.document().mistakes() != before) {
    item.allow_unknown();
    item.finish();
    return fault;
  }
  fault.kind = static_cast<FaultKind>(std::ranges::find(kinds, kind) - kinds.begin());
  item.alternative("with kind: instance_crash", kind == name(FaultKind::instance_crash), [&] {
    read_replica(item, targets.replicas, fault);
    read_crash(item, targets.restart_delay, fault);
  });
  item.alternative("with kind: straggler", kind == name(FaultKind::straggler), [&] {
    read_replica(item, targets.replicas, fault);
    read_span(item, fault);
    read_slowdown(item, fault);
  });
  item.alternative("with kind: link_brownout", kind == name(FaultKind::link_brownout), [&] {
    read_brownout(item, targets, fault);
    read_span(item, fault);
  });
  item.finish();
  return fault;
}

}  // namespace

std::string_view name(FaultKind kind) { return kind_names.at(static_cast<std::size_t>(kind)); }

double slowdown(const std::vector<Fault>& faults, std::uint32_t replica, TimePoint now) {
  double factor = 1.0;
  for (const Fault& fault : faults)
    if (fault.kind == FaultKind::straggler && fault.replica == replica && fault.at <= now &&
        now < fault.to)
      factor *= fault.slowdown;
  return factor;
}

std::vector<hw::Brownout> brownouts(const std::vector<Fault>& faults, TimePoint now) {
  std::vector<hw::Brownout> all;
  for (const Fault& fault : faults)
    if (fault.kind == FaultKind::link_brownout && fault.at <= now && now < fault.to)
      all.push_back(fault.brownout);
  return all;
}

std::vector<TimePoint> brownout_changes(const std::vector<Fault>& faults) {
  std::vector<TimePoint> changes;
  for (const Fault& fault : faults) {
    if (fault.kind != FaultKind::link_brownout) continue;
    changes.push_back(fault.at);
    changes.push_back(fault.to);
  }
  std::ranges::sort(changes);
  const auto repeated = std::ranges::unique(changes);
  changes.erase(repeated.begin(), repeated.end());
  return changes;
}

std::vector<Fault> read_faults(Reader& root, const FaultTargets& targets) {
  std::vector<Fault> faults;
  root.alternative("", root.has("faults"), [&] {
    const std::size_t before = root.document().mistakes();
    std::vector<Reader> items =
        root.items({"faults", "What goes wrong with replicas and between nodes, and when."}, true);
    for (Reader& item : items) faults.push_back(read_fault(item, targets));
    if (root.document().mistakes() == before) check_together(items, faults);
  });
  return faults;
}

}  // namespace tokenline
