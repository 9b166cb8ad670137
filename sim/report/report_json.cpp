#include "sim/report/report_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/report/config_origins.hpp"

namespace tokenline::report {
namespace {

using Json = nlohmann::ordered_json;

/// To the microsecond: what a reader of a table can use.
double shown_ms(double ms) { return std::round(ms * 1e3) / 1e3; }
double shown_ms(Duration duration) { return shown_ms(milliseconds(duration)); }

Json curve_json(const LatencyCurve& curve) {
  Json ms = Json::array();
  Json slower = Json::array();
  for (const CurvePoint& point : curve.points) {
    ms.push_back(rounded(point.ms, 6));
    slower.push_back(point.slower);
  }
  return {{"samples", curve.samples}, {"ms", std::move(ms)}, {"slower", std::move(slower)}};
}

Json bands(const LedgerSplit& split, bool behind) {
  Json list = Json::array();
  for (const LedgerBand& band : split.bands) {
    Json object{{"name", band.name},
                {"requests", band.requests},
                {"least_ms", shown_ms(band.least_ms)},
                {"most_ms", shown_ms(band.most_ms)},
                {"mean_ms", band.mean_ms}};
    if (behind) object["behind"] = band.behind;
    list.push_back(std::move(object));
  }
  return list;
}

/// Amounts that are not zero, by the index of the part.
template <class PartTimes>
Json amounts(const PartTimes& parts, std::size_t count) {
  Json object = Json::object();
  for (std::size_t i = 0; i < count; ++i)
    if (const Duration time = parts[static_cast<Part>(i)]; time != Duration{})
      object[std::to_string(i)] = shown_ms(time);
  return object;
}

Json request(const RequestRecord& r, const RunResult& run) {
  return {{"class", run.classes[r.class_index].name},
          {"instance", run.instances[r.instance].name},
          {"arrival_s", shown_ms(r.arrival - TimePoint{}) / 1e3},
          {"prompt_tokens", r.prompt_tokens},
          {"output_tokens", r.output_tokens},
          {"ttft_ms", shown_ms(r.ttft())},
          {"e2el_ms", shown_ms(r.e2el())},
          {"preemptions", r.preemptions},
          {"retries", r.retries},
          {"ttft", amounts(r.ttft_parts, ttft_part_count)},
          {"e2el", amounts(r.parts, part_count)}};
}

std::set<std::uint32_t> shown_requests(const std::vector<ClassLedger>& classes) {
  std::set<std::uint32_t> ids;
  for (const ClassLedger& ledger : classes)
    for (const LedgerSplit* split : {&ledger.ttft, &ledger.e2el})
      for (const LedgerBand& band : split->bands)
        for (const auto& behind : band.behind) ids.insert(behind.begin(), behind.end());
  return ids;
}

}  // namespace

std::string curves_json(const std::vector<ClassCurves>& classes) {
  Json list = Json::array();
  for (const ClassCurves& c : classes)
    list.push_back({{"class", c.name},
                    {"ttft", curve_json(c.ttft)},
                    {"tpot", curve_json(c.tpot)},
                    {"itl", curve_json(c.itl)},
                    {"e2el", curve_json(c.e2el)}});
  return list.dump();
}

std::string ledger_json(const std::vector<ClassLedger>& classes, const RunResult* run) {
  Json root = Json::object();
  root["parts"] = Json::array();
  for (std::size_t i = 0; i < part_count; ++i) root["parts"].push_back(name(static_cast<Part>(i)));
  root["classes"] = Json::array();
  for (const ClassLedger& ledger : classes)
    root["classes"].push_back({{"class", ledger.name},
                               {"ttft", bands(ledger.ttft, run != nullptr)},
                               {"e2el", bands(ledger.e2el, run != nullptr)}});
  if (run != nullptr) {
    root["requests"] = Json::object();
    for (const std::uint32_t id : shown_requests(classes))
      root["requests"][std::to_string(id)] = request(run->log.records[id], *run);
  }
  return root.dump();
}

std::string scenario_json(const Scenario& scenario) {
  Json targets = Json::object();
  const auto add = [](Json& object, const char* key, const std::optional<Duration>& target) {
    if (target) object[key] = milliseconds(*target);
  };
  for (const traffic::RequestClass& c : scenario.traffic.classes) {
    Json object = Json::object();
    add(object, "ttft", c.slo.ttft);
    add(object, "tpot", c.slo.tpot);
    add(object, "e2el", c.slo.e2el);
    targets[c.name] = std::move(object);
  }
  Json values = Json::array();
  for (const ConfigValue& value : config_values(scenario))
    values.push_back({value.path, value.value, name(value.origin), value.place});
  return Json{{"description", scenario.description},
              {"targets_ms", std::move(targets)},
              {"config", std::move(values)}}
      .dump();
}

std::string object_json(std::span<const std::pair<std::string_view, std::string>> members) {
  std::string text = "{";
  for (const auto& [key, value] : members)
    text += fmt::format("{}{}:{}", text.size() > 1 ? "," : "", Json(key).dump(), value);
  return text + "}";
}

std::string compact_json(std::string_view text) {
  // Line breaks stand between tokens only: dump() escapes those of a string.
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n')
      while (i + 1 < text.size() && text[i + 1] == ' ') ++i;
    else
      result += text[i];
  return result;
}

double rounded(double value, int digits) {
  return std::strtod(fmt::format("{:.{}g}", value, digits).c_str(), nullptr);
}

}  // namespace tokenline::report
