#include "sim/report/why/recorded_run.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "sim/config/diagnostic.hpp"
#include "sim/config/node.hpp"
#include "sim/report/run_directory.hpp"
#include "sim/report/version.hpp"

namespace tokenline::report {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void refuse(const std::string& file, const std::string& message) {
  throw config::ConfigError({.where = {.file = file},
                             .path = {},
                             .message = message,
                             .hint = "run its config.yaml again with --out, or explain that file"});
}

/// The first key whose values differ, "config_sha256" aside.
std::string difference(const Json& recorded, const Json& again) {
  for (const auto& [key, value] : again.items())
    if (key != "config_sha256" && (!recorded.contains(key) || recorded[key] != value)) return key;
  for (const auto& [key, value] : recorded.items())
    if (!again.contains(key)) return key;
  return {};
}

}  // namespace

bool is_run_directory(const std::string& path) {
  return std::filesystem::is_directory(path) &&
         std::filesystem::exists(std::filesystem::path(path) / run_marker);
}

void require_recorded(const std::string& file, const Summary& again) {
  const Json recorded = Json::parse(config::read_file(file), nullptr, false);
  if (!recorded.is_object() || !recorded.contains("tokenline") ||
      !recorded["tokenline"].is_string())
    refuse(file, "not the summary of a run");
  const auto& writer = recorded["tokenline"].get_ref<const std::string&>();
  if (writer != version())
    refuse(file, fmt::format("written by tokenline {}, and this is {}", writer, version()));
  const std::string key = difference(recorded, Json::parse(summary_json(again)));
  if (!key.empty())
    refuse(file, fmt::format("config.yaml beside it now gives another result: '{}' differs", key));
}

}  // namespace tokenline::report
