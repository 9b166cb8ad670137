#include "sim/report/run_directory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>
#include <vector>

#include "sim/config/reader.hpp"
#include "sim/report/requests_csv.hpp"

namespace tokenline::report {
namespace {

namespace fs = std::filesystem;

/// The files of a run directory.
constexpr std::array<std::string_view, 6> written{"config.yaml", run_marker,  "requests.csv",
                                                  "band.json",   "steps.csv", "trace.json"};

/// Visits the data files that a resolved scenario names: each value, and the path it means. The
/// reader takes a relative one from the folder of the file that names it, or of the scenario where
/// `--set` does.
class DataFiles {
 public:
  using Visit = std::function<void(config::Node& value, const fs::path& path)>;

  DataFiles(std::string scenario_file, Visit visit)
      : scenario_file_(std::move(scenario_file)), visit_(std::move(visit)) {}

  void visit_all(config::Node& config) const {
    visit_if_path(config.find("model"));
    if (config::Node* cluster = config.find("cluster")) visit_if_path(cluster->find("gpu"));
    for (const std::string_view key : {"traffic", "observed"})
      if (config::Node* section = config.find(key)) visit_files(*section);
  }

 private:
  void visit(config::Node& value) const {
    const bool set = value.where.file.starts_with("--set ");
    const fs::path folder = fs::path(set ? scenario_file_ : value.where.file).parent_path();
    visit_(value, folder / value.scalar);
  }

  /// Every `file:` at or below a mapping.
  void visit_files(config::Node& mapping) const {
    for (auto& [key, where, value] : mapping.entries)
      if (key == "file")
        visit(value);
      else
        visit_files(value);
  }

  /// The value of a key that takes a built-in name or a file.
  void visit_if_path(config::Node* value) const {
    if (value == nullptr) return;
    if (config::is_file_name(value->scalar)) visit(*value);
  }

  std::string scenario_file_;
  Visit visit_;
};

/// The path without symbolic links: `..` after one leads elsewhere than its text says.
fs::path real_path(const fs::path& path) { return fs::weakly_canonical(fs::absolute(path)); }

/// Whether a file begins as every JSON file of ours does.
bool is_ours(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string begin(256, '\0');
  in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(in.gcount()));
  std::erase_if(begin, [](char c) { return c == ' ' || c == '\n' || c == '\r'; });
  return begin.starts_with("{\"tokenline\":");
}

/// Whether a file begins as every page of `--report` does.
bool is_our_page(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string begin(512, '\0');
  in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return begin.find("<meta name=\"generator\" content=\"tokenline\">") != std::string::npos;
}

void remove_file(const fs::path& path) {
  std::error_code trouble;
  fs::remove(path, trouble);
  if (trouble) throw OutputError(fmt::format("{}: {}", path.string(), trouble.message()));
}

/// Whether two paths lead to one file; for files not there yet, whether they would.
bool same_file(const fs::path& a, const fs::path& b) {
  std::error_code ignored;
  if (fs::exists(a, ignored) && fs::exists(b, ignored)) return fs::equivalent(a, b, ignored);
  return real_path(a) == real_path(b);
}

/// What is written may go to a terminal, a pipe or nowhere: those hold nothing.
bool is_device(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) && !fs::is_regular_file(path, ignored) &&
         !fs::is_directory(path, ignored);
}

bool overwrites(const fs::path& output, const fs::path& input) {
  std::error_code ignored;
  if (!fs::is_directory(input, ignored)) return same_file(output, input);
  if (same_file(real_path(output).parent_path(), input)) return true;
  for (const auto& entry : fs::directory_iterator(input))
    if (entry.is_regular_file(ignored) && same_file(output, entry.path())) return true;
  return false;
}

}  // namespace

void claim_directory(const std::string& directory, std::string_view marker) {
  if (directory.empty()) throw OutputError("the directory for results has an empty name");
  std::error_code trouble;
  fs::create_directories(directory, trouble);
  if (trouble) throw OutputError(fmt::format("{}: {}", directory, trouble.message()));
  if (!fs::is_directory(directory))
    throw OutputError(fmt::format("{}: not a directory", directory));
  const bool empty = fs::is_empty(directory, trouble);
  if (trouble) throw OutputError(fmt::format("{}: {}", directory, trouble.message()));
  if (!empty && !is_ours(fs::path(directory) / marker))
    throw OutputError(fmt::format(
        "{}: not empty and without a {} of ours: not overwriting what is not a result of ours",
        directory, marker));
}

void claim_run_directory(const std::string& directory, const std::string& scenario) {
  claim_directory(directory, run_marker);
  std::ifstream in(fs::path(directory) / run_marker, std::ios::binary);
  if (!in) return;
  const auto earlier = nlohmann::json::parse(in, nullptr, false);
  if (earlier.is_object() && earlier.value("scenario", nlohmann::json()) == scenario) return;
  throw OutputError(
      fmt::format("{}: holds a run of another scenario than '{}'\n"
                  "  hint: name another directory, or remove this one first",
                  directory, scenario));
}

std::set<std::string> input_files(const Scenario& scenario) {
  std::set<std::string> files;
  config::Node config = scenario.resolved;
  DataFiles(scenario.file, [&](const config::Node& /*value*/, const fs::path& path) {
    files.insert(real_path(path).string());
  }).visit_all(config);
  return files;
}

void refuse_inputs(const std::string& directory, const std::set<std::string>& inputs) {
  const fs::path folder = real_path(directory);
  const auto linked = [&](const std::string& input) {
    return std::ranges::any_of(written, [&](std::string_view name) {
      return fs::exists(folder / name) && same_file(folder / name, input);
    });
  };
  for (const std::string& input : inputs)
    if (fs::path(input).parent_path() == folder || linked(input))
      throw OutputError(
          fmt::format("{}: holds '{}', which the scenario reads: results go elsewhere", directory,
                      fs::path(input).filename().string()));
}

std::vector<std::string> run_files(const std::string& directory) {
  std::vector<std::string> files;
  for (const std::string_view name : written)
    files.push_back((fs::path(directory) / name).string());
  return files;
}

void remove_stale_report(const std::string& directory) {
  const fs::path page = fs::path(directory) / "report.html";
  if (is_our_page(page)) remove_file(page);
}

void write_file(const std::string& path, const std::function<void(std::ostream&)>& write) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  if (out) write(out);
  out.close();
  if (!out) throw OutputError(fmt::format("{}: cannot be written", path));
}

void write_file(const std::string& path, std::string_view text) {
  write_file(path, [&](std::ostream& out) {
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
  });
}

void write_files(std::span<const OutputFile> files) {
  std::vector<std::string> created;
  try {
    for (const OutputFile& file : files) {
      const bool fresh = !fs::exists(file.path);
      if (!std::ofstream(file.path, std::ios::binary | std::ios::app))
        throw OutputError(fmt::format("{}: cannot be written", file.path));
      if (fresh) created.push_back(file.path);
    }
    for (const OutputFile& file : files) write_file(file.path, file.text);
  } catch (...) {
    std::error_code ignored;
    for (const std::string& path : created) fs::remove(path, ignored);
    throw;
  }
}

void refuse_to_overwrite(std::span<const std::string> outputs,
                         std::span<const std::string> inputs) {
  for (const std::string& output : outputs) {
    if (output.empty()) throw OutputError("a file to write has an empty name");
    if (is_device(output)) continue;
    for (const std::string& input : inputs)
      if (overwrites(output, input))
        throw OutputError(
            fmt::format("{}: would overwrite an input ('{}'); name another file", output, input));
    for (const std::string& other : outputs)
      if (&other != &output && same_file(output, other))
        throw OutputError(fmt::format("{}: two results would go to one file", output));
  }
}

config::Node rebased(const Scenario& scenario, const std::string& directory) {
  config::Node config = scenario.resolved;
  const fs::path folder = real_path(directory);
  DataFiles(scenario.file, [&](config::Node& value, const fs::path& path) {
    if (fs::path(value.scalar).is_absolute()) return;
    value.scalar = real_path(path).lexically_relative(folder).generic_string();
  }).visit_all(config);
  return config;
}

void write_run(const std::string& directory, const Scenario& scenario, const RunResult& run,
               const Summary& summary) {
  const fs::path folder(directory);
  write_file((folder / "config.yaml").string(), config::emit_yaml(rebased(scenario, directory)));
  write_file((folder / run_marker).string(), summary_json(summary));
  write_file((folder / "requests.csv").string(),
             [&](std::ostream& out) { write_requests_csv(out, run); });
  for (const std::string_view optional : {"band.json", "steps.csv", "trace.json"})
    remove_file(folder / optional);
  remove_stale_report(directory);
}

}  // namespace tokenline::report
