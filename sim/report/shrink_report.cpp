#include "sim/report/shrink_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/report/metric.hpp"
#include "sim/report/text_table.hpp"
#include "sim/report/version.hpp"

namespace tokenline::report {
namespace {

constexpr std::size_t most_rows = 50;

std::string value_text(const SubsetRun& run, const Condition& condition) {
  const std::string_view unit = unit_of(key_of(condition.metric));
  return fmt::format("{}{}{}", figure_text(run.value), unit.empty() ? "" : " ", unit);
}

std::string requests_table(const RunResult& run) {
  TextTable table(2);
  table.row({"", "", "arrival", "prompt", "output", "TTFT", "E2EL", ""});
  table.row({"class", "replica", "s", "tokens", "tokens", "ms", "ms", "outcome"});
  std::size_t rows = 0;
  for (const RequestRecord& r : run.log.records) {
    if (++rows > most_rows) break;
    const bool completed = r.outcome == Outcome::completed;
    const auto latency = [&](Duration duration) {
      return figure_text(completed ? std::optional(milliseconds(duration)) : std::nullopt);
    };
    const auto ns = r.arrival.time_since_epoch().count();
    table.row({run.classes[r.class_index].name,
               r.outcome == Outcome::rejected ? "-" : run.instances[r.instance].name,
               fmt::format("{}.{:09}", ns / 1'000'000'000, ns % 1'000'000'000),
               fmt::format("{}", r.prompt_tokens), fmt::format("{}", r.output_tokens),
               latency(r.ttft()), latency(r.e2el()), std::string(name(r.outcome))});
  }
  return table.text();
}

std::string reach(const Shrunk& shrunk) {
  return shrunk.one_minimal ? "without any one of them it holds no longer (1-minimal)"
                            : "NOT 1-minimal: the budget ended the search (--budget)";
}

}  // namespace

std::string shrink_text(const RequestSubsets& requests, const Shrunk& shrunk,
                        const SubsetRun& run) {
  const Condition& condition = requests.condition();
  std::string out =
      fmt::format("{}: {} of {} requests are left with which {}\n  (it is {}); {}\n",
                  requests.scenario().name, shrunk.kept.size(), requests.arrivals().size(),
                  condition.text, value_text(run, condition), reach(shrunk));
  out += fmt::format("  {} simulations of {} requests in all\n\n", shrunk.effort.tests,
                     shrunk.effort.tested);
  out += requests_table(run.run);
  if (shrunk.kept.size() > most_rows)
    out += fmt::format("… and {} more\n", shrunk.kept.size() - most_rows);
  return out;
}

std::string shrink_json(const RequestSubsets& requests, const Shrunk& shrunk,
                        const SubsetRun& run) {
  const nlohmann::ordered_json root{
      {"tokenline", version()},
      {"scenario", requests.scenario().name},
      {"breaks", requests.condition().text},
      {"value", run.value ? nlohmann::ordered_json(*run.value) : nlohmann::ordered_json()},
      {"requests", shrunk.kept.size()},
      {"requests_before", requests.arrivals().size()},
      {"one_minimal", shrunk.one_minimal},
      {"simulations", shrunk.effort.tests},
      {"simulated_requests", shrunk.effort.tested}};
  return root.dump(2) + '\n';
}

}  // namespace tokenline::report
