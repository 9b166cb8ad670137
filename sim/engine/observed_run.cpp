#include "sim/engine/observed_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

namespace tokenline {
namespace {

void check_classes(const config::Reader& section, const traffic::Observed& observed,
                   const traffic::Traffic& traffic) {
  std::vector<std::string> known;
  for (const traffic::RequestClass& c : traffic.classes) known.push_back(c.name);
  std::set<std::string> wrong;
  for (const traffic::ObservedRequest& request : observed.requests)
    if (!request.class_name.empty() && std::ranges::find(known, request.class_name) == known.end())
      wrong.insert(request.class_name);
  for (const std::string& name : wrong)
    section.error("file", fmt::format("it has requests of a class '{}', the traffic has not", name),
                  config::suggestion(name, known));
}

}  // namespace

std::vector<TimePoint> probes(const std::optional<ObservedRun>& observed) {
  std::vector<TimePoint> times;
  if (!observed) return times;
  for (const traffic::ObservedQueue& sample : observed->data.queue) times.push_back(sample.when);
  return times;
}

std::optional<ObservedRun> read_observed_run(config::Reader& root,
                                             const traffic::Traffic& traffic) {
  auto section = root.optional_section(
      {"observed", "What was measured of this traffic, to be held against its replay."});
  if (!section) return {};
  config::Document& document = root.document();
  const std::string file = section->text(
      {"file", "CSV of measured requests or of a server's queue, relative to the scenario."});
  const std::string path = section->existing_file("file", file);
  ObservedRun observed;
  observed.tolerance = section->real(
      {"tolerance",
       "Relative: `compare` refuses what-ifs where a P99 of the replay is further from the "
       "observed one."},
      {0.0, 10.0}, 0.2);
  section->finish();
  if (path.empty()) return observed;
  const std::size_t before = document.mistakes();
  observed.data = traffic::read_observed(document, path);
  if (document.mistakes() == before && !traffic.classes.empty())
    check_classes(*section, observed.data, traffic);
  return observed;
}

}  // namespace tokenline
