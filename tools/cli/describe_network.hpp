#pragma once

#include <string>

namespace tokenline::cli {

/// What `describe` says of a kind of node, or of a fabric between nodes: its preset, and the paths
/// it makes. Contract: the name is one of node_fabric_names(), of inter_fabric_names().
[[nodiscard]] std::string describe_node_fabric(const std::string& name);
[[nodiscard]] std::string describe_inter_fabric(const std::string& name);

}  // namespace tokenline::cli
