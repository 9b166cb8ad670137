#include "tools/sweep/manifest.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/report/version.hpp"

namespace tokenline::sweep {
namespace {

using Json = nlohmann::ordered_json;

Json point_json(const Point& point) {
  return {{"values", point.values}, {"seed", point.seed}, {"sha256", point.sha256}};
}

Point point_from(const Json& json) {
  Point point;
  point.values = json.at("values").get<std::vector<std::string>>();
  point.seed = json.at("seed");
  point.sha256 = json.at("sha256");
  return point;
}

[[noreturn]] void refuse_manifest(const std::string& file, std::string message) {
  throw config::ConfigError({{file, 1, 1}, {}, std::move(message), {}});
}

}  // namespace

std::string manifest_json(const Sweep& sweep) {
  std::string text = fmt::format(
      "{{\"tokenline\": {},\n \"sweep\": {},\n \"description\": {},\n \"axes\": {},\n \"points\": "
      "[",
      Json(report::version()).dump(), Json(sweep.name).dump(), Json(sweep.description).dump(),
      Json(sweep.axes).dump());
  for (const Point& point : sweep.points)
    text +=
        fmt::format("{}\n  {}", &point == sweep.points.data() ? "" : ",", point_json(point).dump());
  return text + "\n]}\n";
}

Sweep parse_manifest(const std::string& file, std::string_view json) try {
  const Json root = Json::parse(json);
  const std::string version = root.at("tokenline");
  Sweep sweep{.name = root.at("sweep"), .description = {}, .axes = {}, .points = {}};
  if (version != report::version())
    refuse_manifest(file, fmt::format("results of tokenline {}; this is {}: run the sweep again",
                                      version, report::version()));
  sweep.description = root.at("description");
  sweep.axes = root.at("axes").get<std::vector<std::string>>();
  for (const Json& point : root.at("points")) {
    sweep.points.push_back(point_from(point));
    if (sweep.points.back().values.size() != sweep.axes.size())
      refuse_manifest(file, "a point without a value for each axis");
  }
  return sweep;
} catch (const Json::exception&) {
  refuse_manifest(file, "not the manifest of a sweep");
}

std::string manifest_sweep(const std::string& file, std::string_view json) try {
  const Json root = Json::parse(json);
  static_cast<void>(root.at("tokenline"));
  return root.at("sweep");
} catch (const Json::exception&) {
  refuse_manifest(file, "not the manifest of a sweep");
}

}  // namespace tokenline::sweep
