#include "sim/report/why/recorded_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <streambuf>
#include <string_view>

#include "sim/config/diagnostic.hpp"
#include "sim/config/node.hpp"
#include "sim/report/requests_csv.hpp"
#include "sim/report/run_directory.hpp"
#include "sim/report/version.hpp"

namespace tokenline::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* rerun = "run its config.yaml again with --out, or explain that file";

[[noreturn]] void refuse(const std::string& file, const std::string& message) {
  throw config::ConfigError(
      {.where = {.file = file}, .path = {}, .message = message, .hint = rerun});
}

/// The first key whose values differ, "config_sha256" aside.
std::string difference(const Json& recorded, const Json& again) {
  for (const auto& [key, value] : again.items())
    if (key != "config_sha256" && (!recorded.contains(key) || recorded[key] != value)) return key;
  for (const auto& [key, value] : recorded.items())
    if (!again.contains(key)) return key;
  return {};
}

/// Compares what is written to it with a file.
class FileComparison final : public std::streambuf {
 public:
  explicit FileComparison(const std::string& file) : file_(file, std::ios::binary) {}

  /// The first line that differs, once all is written; 0 where none does.
  [[nodiscard]] int difference() {
    if (same_ && file_.peek() == std::ifstream::traits_type::eof()) return 0;
    return line_;
  }

 private:
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    if (!same_) return size;
    const std::string_view written(text, static_cast<std::size_t>(size));
    read_.resize(written.size());
    file_.read(read_.data(), size);
    read_.resize(static_cast<std::size_t>(file_.gcount()));
    const auto end = std::ranges::mismatch(written, read_).in1;
    line_ += static_cast<int>(std::count(written.begin(), end, '\n'));
    same_ = end == written.end();
    return size;
  }

  std::ifstream file_;
  std::string read_;
  bool same_ = true;
  int line_ = 1;
};

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

void require_recorded_requests(const std::string& file, const RunResult& again) {
  if (!std::filesystem::exists(file)) return;
  FileComparison comparison(file);
  std::ostream out(&comparison);
  write_requests_csv(out, again);
  if (const int line = comparison.difference(); line > 0)
    throw config::ConfigError({.where = {.file = file, .line = line, .column = 1},
                               .path = {},
                               .message = "not what config.yaml beside it gives",
                               .hint = rerun});
}

}  // namespace tokenline::report
