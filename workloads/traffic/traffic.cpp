#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "workloads/traffic/class_name.hpp"
#include "workloads/traffic/csv_file.hpp"
#include "workloads/traffic/generated.hpp"
#include "workloads/traffic/read_client.hpp"
#include "workloads/traffic/read_rows.hpp"
#include "workloads/traffic/source.hpp"
#include "workloads/traffic/trace.hpp"

namespace tokenline::traffic {
namespace {

Slo read_slo(config::Reader& entry) {
  Slo slo;
  config::Reader section =
      entry.section({"slo", "Targets; a request that meets all is good."}, true);
  const auto target = [&](config::Key key) -> std::optional<Duration> {
    const auto seconds = section.optional_seconds(key, {1e-9, 1e9});
    return seconds ? std::optional(to_duration(*seconds)) : std::nullopt;
  };
  slo.ttft = target({"ttft", "Time to the first token at most."});
  slo.tpot = target({"tpot", "Mean time per output token after the first at most."});
  slo.e2el = target({"e2el", "Time to the last token at most."});
  section.finish();
  return slo;
}

/// Gives `traffic` a class; `where` and `path` are of what names it.
void add_class(config::Document& document, const config::Location& where, const std::string& path,
               RequestClass added, Traffic& traffic) {
  const bool taken = std::ranges::any_of(
      traffic.classes, [&](const RequestClass& other) { return other.name == added.name; });
  if (taken)
    document.error(where, path, fmt::format("there is another class '{}' before", added.name),
                   "rename one: metrics are per class");
  traffic.classes.push_back(std::move(added));
}

TraceSelection read_selection(config::Reader& section) {
  TraceSelection selection = read_row_keys(section);
  const std::vector<std::string>& formats = trace_formats();
  const std::string format = section.word({"format", "How the file spells a request."}, formats);
  selection.format = static_cast<TraceFormat>(std::ranges::find(formats, format) - formats.begin());
  selection.speedup =
      section.real({"speedup", "Arrival times are divided by it."}, {1e-3, 1e3}, 1.0);
  return selection;
}

void read_replayed(config::Reader& entry, const RequestClass& shared, Traffic& traffic) {
  config::Reader section = entry.section({"trace", "Recorded requests to replay."});
  config::Document& document = entry.document();
  const std::size_t before = document.mistakes();
  const TraceSelection selection = read_selection(section);
  section.finish();
  // Why: with a wrong format or file name every line of the trace would look wrong.
  if (selection.file.empty() || document.mistakes() != before) return;
  Trace trace = read_trace(document, selection);
  if (document.mistakes() == before) check_rows(section, selection, trace, traffic);
  const auto first = static_cast<std::uint32_t>(traffic.classes.size());
  for (Arrival& arrival : trace.arrivals) arrival.class_index += first;
  if (trace.classes.empty() || selection.only) trace.classes = {shared.name};
  for (const std::string& class_name : trace.classes)
    add_class(document, section.where("file"), section.path() + ".file",
              {class_name, shared.slo, shared.priority, shared.client}, traffic);
  traffic.longest.push_back({trace.longest_prompt, trace.longest_total, trace.longest_at, "trace"});
  traffic.sources.push_back(
      std::make_unique<TraceSource>(std::move(trace.arrivals), std::move(trace.contents)));
}

void read_class(config::Reader& entry, const std::string& name, std::uint64_t seed,
                Traffic& traffic) {
  if (const auto problem = class_name_problem(name); !problem.empty()) entry.error("", problem);
  RequestClass described{name, read_slo(entry)};
  described.priority =
      entry.integer({"priority",
                     "Who goes first under engine.queue_policy: priority, and is refused last "
                     "under cluster.admission: shed_by_class: the smallest."},
                    {-1'000'000, 1'000'000}, 0);
  described.client = read_client(entry);
  const bool generated = entry.has("arrival");
  const bool replayed = entry.has("trace");
  if (generated == replayed) {
    entry.error("", fmt::format("a class is either generated (arrival) or replayed (trace): {}",
                                generated ? "here are both" : "here is neither"));
    entry.allow_unknown();
  }
  entry.alternative("without trace", generated && !replayed, [&] {
    const auto index = static_cast<std::uint32_t>(traffic.classes.size());
    add_class(entry.document(), entry.where(""), entry.path(), described, traffic);
    read_generated(entry, seed, name, index, traffic);
  });
  entry.alternative("without arrival", replayed && !generated,
                    [&] { read_replayed(entry, described, traffic); });
  entry.finish();
}

}  // namespace

Traffic read_traffic(config::Reader& scenario, std::uint64_t seed) {
  Traffic traffic;
  auto entries =
      scenario.named_sections({"traffic", "Classes of requests by name, generated or replayed."});
  for (auto& [name, entry] : entries) read_class(entry, name, seed, traffic);
  if (entries.empty() && scenario.has("traffic"))
    scenario.error("traffic", "no class of requests is given");
  return traffic;
}

}  // namespace tokenline::traffic
