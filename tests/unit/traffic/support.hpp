#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/node.hpp"
#include "sim/config/reader.hpp"
#include "workloads/traffic/source.hpp"

namespace tokenline::traffic::testing {

/// Reads a scenario of nothing but traffic.
inline Traffic read(const std::string& file, std::string_view yaml, std::uint64_t seed = 42,
                    const std::vector<std::string>& overrides = {}) {
  config::Node root = config::parse_yaml(file, yaml);
  for (const auto& assignment : overrides) config::apply_override(root, assignment);
  config::Document document(std::move(root));
  config::Reader reader(document);
  Traffic traffic = read_traffic(reader, seed);
  reader.finish();
  document.throw_if_errors();
  return traffic;
}

/// The mistakes of a scenario, as the user sees them; empty when there are none.
inline std::string mistakes(const std::string& file, std::string_view yaml) {
  try {
    (void)read(file, yaml);
    return {};
  } catch (const config::ConfigError& error) {
    return error.what();
  }
}

inline std::vector<Arrival> all_of(Source& source) {
  std::vector<Arrival> arrivals;
  while (const auto arrival = source.next()) arrivals.push_back(*arrival);
  return arrivals;
}

}  // namespace tokenline::traffic::testing
