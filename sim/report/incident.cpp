#include "sim/report/incident.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/report/replayed_class.hpp"
#include "sim/report/text_table.hpp"
#include "sim/report/version.hpp"

namespace tokenline::report {

using config::Node;

std::string incident_yaml(const Scenario& base, const IncidentSource& source,
                          const IncidentTraffic& incident, double tolerance,
                          const std::string& directory) {
  Node root = rebased(base, directory);
  std::erase_if(root.entries, [](const Node::Entry& entry) {
    return entry.key == "assert" || entry.key == "measure";
  });
  set_value(root, "scenario", text_value(fmt::format("{} on {}", source.log, base.name)));
  set_value(
      root, "description",
      text_value(fmt::format("The traffic of {} ({}; requests: {}) on the fleet of {}.", source.log,
                             source.format, incident.requests.arrivals.size(), base.name)));
  const Node* stated = base.resolved.find("traffic");
  Node traffic;
  traffic.kind = Node::Kind::mapping;
  for (const traffic::RequestClass& c : incident.classes)
    set_value(traffic, c.name, replayed_class(c.name, true, stated->find(c.name)));
  set_value(root, "traffic", std::move(traffic));
  set_value(root, "observed",
            config::parse_yaml("observed",
                               fmt::format("{{file: observed.csv, tolerance: {}}}", tolerance)));
  return config::emit_yaml(root);
}

std::string import_json(const IncidentTraffic& incident) {
  nlohmann::ordered_json root{{"tokenline", version()},
                              {"requests", incident.requests.arrivals.size()},
                              {"left_out", incident.left_out},
                              {"assumed", incident.assumed},
                              {"ignored_columns", incident.ignored_columns}};
  return root.dump(2) + '\n';
}

std::string import_text(const IncidentTraffic& incident, const Fidelity& fidelity) {
  constexpr std::size_t width = 100;
  std::string out = fmt::format("{} requests", incident.requests.arrivals.size());
  if (!incident.requests.arrivals.empty())
    out += fmt::format(" within {:.1f} s", to_seconds(incident.requests.arrivals.back().when -
                                                      incident.requests.arrivals.front().when)
                                               .value());
  out += incident.left_out > 0
             ? fmt::format("; {} without an answer are left out\n", incident.left_out)
             : "\n";
  for (const std::string& sentence : incident.assumed)
    out += wrapped("assumed: " + sentence, 2, width);
  return out + '\n' + fidelity_text(fidelity);
}

}  // namespace tokenline::report
