#include "sim/report/html_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/check.hpp"
#include "sim/report/html/files.hpp"
#include "sim/report/report_json.hpp"

namespace tokenline::report {
namespace {

std::string_view file(std::string_view name) {
  const auto found = std::ranges::find(html::files(), name, &html::File::name);
  TOKENLINE_CHECK(found != html::files().end(), "no file '{}' of the report is embedded", name);
  return found->text;
}

/// Inside strings, where alone it stands in JSON, `<` may be written as an escape: without it no
/// markup can begin.
std::string without_markup(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json)
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  return text;
}

}  // namespace

std::string report_page(std::string_view json) {
  std::string scripts;
  for (const auto* name : {"dom", "charts", "parts", "figures", "ledger", "curves", "roofline",
                           "timeline", "replications", "study", "plan", "main"})
    scripts += file(name);
  const std::array<std::pair<std::string_view, std::string>, 3> parts{
      {{"/* style */", std::string(file("style"))},
       {"{}", without_markup(json)},
       {"/* scripts */", std::move(scripts)}}};
  const std::string_view page = file("page");
  std::string text;
  std::size_t from = 0;
  for (const auto& [marker, content] : parts) {
    const std::size_t at = page.find(marker, from);
    TOKENLINE_CHECK(at != std::string_view::npos, "the page of the report has no '{}'", marker);
    text += page.substr(from, at - from);
    text += content;
    from = at + marker.size();
  }
  text += page.substr(from);
  return text;
}

std::string run_report(const Scenario& scenario, const RunResult& run, const Summary& summary,
                       const Timeline& timeline) {
  const std::array<std::pair<std::string_view, std::string>, 6> members{
      {{"kind", "\"run\""},
       {"summary", compact_json(summary_json(summary))},
       {"scenario", scenario_json(scenario)},
       {"curves", curves_json(latency_curves(run))},
       {"ledger", ledger_json(ledger_bands(run), &run)},
       {"timeline", timeline_json(timeline, scenario, run)}}};
  return report_page(object_json(members));
}

std::string comparison_report(const Comparison& comparison) {
  std::string variants;
  for (const VariantResult& variant : comparison.variants) {
    const std::array<std::pair<std::string_view, std::string>, 2> members{
        {{"curves", curves_json(variant.curves)},
         {"ledger", ledger_json(variant.ledgers, nullptr)}}};
    variants += (variants.empty() ? "" : ",") + object_json(members);
  }
  const std::array<std::pair<std::string_view, std::string>, 3> members{
      {{"kind", "\"study\""},
       {"comparison", compact_json(comparison_json(comparison))},
       {"variants", fmt::format("[{}]", variants)}}};
  return report_page(object_json(members));
}

}  // namespace tokenline::report
