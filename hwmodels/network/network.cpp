#include "hwmodels/network/network.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <functional>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "sim/base/check.hpp"

namespace tokenline::hw {
namespace {

/// What routing makes least: seconds, then links.
using Distance = std::pair<double, int>;

constexpr Distance unreachable{std::numeric_limits<double>::infinity(), 0};

struct Sum {
  Distance operator()(const Distance& a, const Distance& b) const {
    return {a.first + b.first, a.second + b.second};
  }
};

using LinkGraph =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, boost::no_property,
                          boost::property<boost::edge_index_t, std::size_t>>;

bool ends_paths(VertexKind kind) {
  return kind == VertexKind::gpu || kind == VertexKind::host_memory || kind == VertexKind::nvme;
}

/// The vertices that a piece of a path may pass: its ends, and the switches and NICs of one node,
/// or of the fabric (node -1).
struct Piece {
  const Topology* topology = nullptr;
  std::size_t from = 0;
  std::size_t to = 0;
  std::int64_t node = 0;

  bool operator()(std::size_t vertex) const {
    if (vertex == from || vertex == to) return true;
    const Vertex& passed = topology->vertices[vertex];
    return passed.node == node && !ends_paths(passed.kind);
  }
};

}  // namespace

class Network::Graph {
 public:
  explicit Graph(const Topology& topology) : graph_(topology.vertices.size()) {
    for (std::size_t i = 0; i < topology.links.size(); ++i)
      boost::add_edge(topology.links[i].from, topology.links[i].to, i, graph_);
    for (std::size_t i = 0; i < topology.vertices.size(); ++i)
      vertices_.emplace(key(topology.vertices[i]), i);
  }

  [[nodiscard]] std::size_t find(const Vertex& vertex) const {
    const auto found = vertices_.find(key(vertex));
    TOKENLINE_CHECK(found != vertices_.end(), "no {} in this network", name(vertex));
    return found->second;
  }

  /// The links of the shortest way of a piece, in order.
  [[nodiscard]] std::vector<CapacityId> shortest(const Piece& piece) const {
    const Topology& topology = *piece.topology;
    const boost::filtered_graph<LinkGraph, boost::keep_all, Piece> open(graph_, boost::keep_all(),
                                                                        piece);
    const auto index = boost::get(boost::edge_index, graph_);
    const auto weight = [&](const LinkGraph::edge_descriptor& edge) {
      return Distance{topology.links[index[edge]].latency.value(), 1};
    };
    std::vector<Distance> distance(topology.vertices.size(), unreachable);
    boost::dijkstra_shortest_paths(
        open, piece.from,
        boost::weight_map(
            boost::make_function_property_map<LinkGraph::edge_descriptor, Distance>(weight))
            .distance_map(boost::make_iterator_property_map(
                distance.begin(), boost::get(boost::vertex_index, graph_)))
            .distance_combine(Sum())
            .distance_compare(std::less<>())
            .distance_inf(unreachable)
            .distance_zero(Distance{}));
    std::vector<CapacityId> links;
    for (std::size_t at = piece.to; at != piece.from;) {
      const CapacityId link = last_link(topology, distance, open, at);
      links.push_back(link);
      at = topology.links[link].from;
    }
    std::ranges::reverse(links);
    return links;
  }

 private:
  static std::tuple<VertexKind, std::int64_t, std::int64_t> key(const Vertex& vertex) {
    return {vertex.kind, vertex.node, vertex.index};
  }

  /// The earliest of the links on which a shortest way reaches `at`.
  template <class Open>
  [[nodiscard]] CapacityId last_link(const Topology& topology,
                                     const std::vector<Distance>& distance, const Open& open,
                                     std::size_t at) const {
    constexpr auto none = std::numeric_limits<std::size_t>::max();
    std::size_t best = none;
    for (auto [edge, end] = boost::in_edges(at, open); edge != end; ++edge) {
      const std::size_t link = boost::get(boost::edge_index, graph_, *edge);
      const Distance before = distance[topology.links[link].from];
      if (before == unreachable) continue;
      if (Sum()(before, {topology.links[link].latency.value(), 1}) == distance[at])
        best = std::min(best, link);
    }
    TOKENLINE_CHECK(best != none, "no way to {}", name(topology.vertices[at]));
    return static_cast<CapacityId>(best);
  }

  LinkGraph graph_;
  std::map<std::tuple<VertexKind, std::int64_t, std::int64_t>, std::size_t> vertices_;
};

namespace {

/// The vertices at which a path between nodes is cut into pieces.
std::vector<Vertex> stops_of(const ClusterDesign& design, const Vertex& from, const Vertex& to) {
  if (from.node == to.node) return {from, to};
  const InterFabric& fabric = design.between_nodes();
  const auto rail = [&](const Vertex& end, const Vertex& other) -> std::int64_t {
    if (!fabric.nic_per_gpu) return 0;
    if (end.kind == VertexKind::gpu) return end.index;
    return other.kind == VertexKind::gpu ? other.index : 0;
  };
  std::int64_t leaves = rail(from, to);
  const std::int64_t arrives = rail(to, from);
  std::vector<Vertex> stops{from};
  if (leaves != arrives && fabric.rails && fabric.cross_rail == CrossRail::nvswitch) {
    stops.push_back(gpu_at(from.node, arrives));
    leaves = arrives;
  }
  stops.push_back({VertexKind::nic, from.node, leaves});
  stops.push_back({VertexKind::nic, to.node, arrives});
  stops.push_back(to);
  return stops;
}

}  // namespace

Network::Network(const ClusterDesign& design, std::span<const Brownout> brownouts)
    : design_(design),
      topology_(build_topology(design)),
      graph_(std::make_unique<const Graph>(topology_)) {
  topology_.capacities = tokenline::hw::capacities(topology_, brownouts);
}

Network::Network(Network&&) noexcept = default;
Network& Network::operator=(Network&&) noexcept = default;
Network::~Network() = default;

Path Network::route(const Vertex& from, const Vertex& to) const {
  TOKENLINE_CHECK(ends_paths(from.kind) && ends_paths(to.kind) && from != to,
                  "no path from {} to {}", name(from), name(to));
  const std::vector<Vertex> stops = stops_of(design_, from, to);
  Path path;
  for (std::size_t i = 0; i + 1 < stops.size(); ++i) {
    const bool between_nodes = stops[i].node != stops[i + 1].node;
    const auto links = graph_->shortest({.topology = &topology_,
                                         .from = graph_->find(stops[i]),
                                         .to = graph_->find(stops[i + 1]),
                                         .node = between_nodes ? -1 : stops[i].node});
    path.links.insert(path.links.end(), links.begin(), links.end());
  }
  path.bandwidth = BytesPerSecond(std::numeric_limits<double>::infinity());
  path.uses = path.links;
  for (const CapacityId id : path.links) {
    const Link& link = topology_.links[id];
    path.latency += link.latency;
    if (link.shared) path.uses.push_back(*link.shared);
  }
  std::ranges::sort(path.uses);
  const auto repeated = std::ranges::unique(path.uses);
  path.uses.erase(repeated.begin(), repeated.end());
  for (const CapacityId used : path.uses)
    path.bandwidth = std::min(path.bandwidth, capacities()[used]);
  path.message = from.node == to.node ? design_.node.message : design_.between_nodes().message;
  return path;
}

}  // namespace tokenline::hw
