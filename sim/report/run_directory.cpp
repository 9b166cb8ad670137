#include "sim/report/run_directory.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <system_error>

#include "sim/report/requests_csv.hpp"

namespace tokenline::report {
namespace {

namespace fs = std::filesystem;

/// Renames what a `file:` at or below `node` says. The reader takes it from the folder of the file
/// that names it, or of the scenario where `--set` does.
void rebase(config::Node& node, const std::string& scenario_file, const fs::path& directory) {
  for (auto& [key, where, value] : node.entries) {
    if (value.kind == config::Node::Kind::mapping) {
      rebase(value, scenario_file, directory);
    } else if (key == "file" && fs::path(value.scalar).is_relative()) {
      const bool set = value.where.file.starts_with("--set ");
      const fs::path folder = fs::path(set ? scenario_file : value.where.file).parent_path();
      value.scalar = fs::absolute(folder / value.scalar)
                         .lexically_normal()
                         .lexically_relative(fs::absolute(directory).lexically_normal())
                         .generic_string();
    }
  }
}

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
  if (config::Node* traffic = config.find("traffic")) rebase(*traffic, scenario.file, directory);
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
