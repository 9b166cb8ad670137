#include "sim/report/run_directory.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <system_error>

#include "sim/report/requests_csv.hpp"

namespace tokenline::report {
namespace {

namespace fs = std::filesystem;

/// Renames the data files that a scenario names, for a file in another folder. The reader takes a
/// relative one from the folder of the file that names it, or of the scenario where `--set` does.
class Rebase {
 public:
  Rebase(const std::string& scenario_file, const std::string& directory)
      : scenario_file_(scenario_file), directory_(fs::absolute(directory).lexically_normal()) {}

  void rename(config::Node& value) const {
    if (fs::path(value.scalar).is_absolute()) return;
    const bool set = value.where.file.starts_with("--set ");
    const fs::path folder = fs::path(set ? scenario_file_ : value.where.file).parent_path();
    value.scalar = fs::absolute(folder / value.scalar)
                       .lexically_normal()
                       .lexically_relative(directory_)
                       .generic_string();
  }

  /// Every `file:` at or below a mapping.
  void rename_files(config::Node& mapping) const {
    for (auto& [key, where, value] : mapping.entries)
      if (key == "file")
        rename(value);
      else
        rename_files(value);
  }

  /// The value of a key that takes a built-in name or a path, told apart as the scenario does.
  void rename_if_path(config::Node* value) const {
    if (value == nullptr) return;
    const std::string& text = value->scalar;
    if (text.find('/') != std::string::npos || text.ends_with(".json") || text.ends_with(".yaml"))
      rename(*value);
  }

 private:
  std::string scenario_file_;
  fs::path directory_;
};

template <class Write>
void write_stream(const std::string& path, const Write& write) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  if (out) write(out);
  out.close();
  if (!out) throw OutputError(fmt::format("{}: cannot be written", path));
}

}  // namespace

void claim_directory(const std::string& directory, std::string_view marker) {
  std::error_code trouble;
  fs::create_directories(directory, trouble);
  if (trouble) throw OutputError(fmt::format("{}: {}", directory, trouble.message()));
  if (!fs::is_directory(directory))
    throw OutputError(fmt::format("{}: not a directory", directory));
  const bool empty = fs::is_empty(directory, trouble);
  if (trouble) throw OutputError(fmt::format("{}: {}", directory, trouble.message()));
  if (!empty && !fs::exists(fs::path(directory) / marker))
    throw OutputError(
        fmt::format("{}: not empty and without {}: not overwriting what is not a result of ours",
                    directory, marker));
}

void write_file(const std::string& path, std::string_view text) {
  write_stream(path, [&](std::ostream& out) {
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
  });
}

config::Node rebased(const Scenario& scenario, const std::string& directory) {
  config::Node config = scenario.resolved;
  const Rebase rebase(scenario.file, directory);
  rebase.rename_if_path(config.find("model"));
  if (config::Node* cluster = config.find("cluster")) rebase.rename_if_path(cluster->find("gpu"));
  if (config::Node* traffic = config.find("traffic")) rebase.rename_files(*traffic);
  return config;
}

void write_run(const std::string& directory, const Scenario& scenario, const RunResult& run,
               const Summary& summary) {
  const fs::path folder(directory);
  write_file((folder / "config.yaml").string(), config::emit_yaml(rebased(scenario, directory)));
  write_file((folder / run_marker).string(), summary_json(summary));
  write_stream((folder / "requests.csv").string(),
               [&](std::ostream& out) { write_requests_csv(out, run); });
}

}  // namespace tokenline::report
