#include "tools/sweep/point_digest.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "sim/report/digest.hpp"
#include "sim/report/run_directory.hpp"
#include "sim/report/version.hpp"

namespace tokenline::sweep {

std::string FileDigests::of(const std::string& path) {
  const std::lock_guard lock(mutex_);
  auto found = known_.find(path);
  if (found == known_.end())
    found = known_.emplace(path, report::sha256_hex(config::read_file(path))).first;
  return found->second;
}

std::string point_digest(const Scenario& scenario, FileDigests& files) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::weakly_canonical(fs::absolute(scenario.file)).parent_path();
  std::string text = fmt::format("tokenline {}\nseed {}\n{}", report::version(), scenario.seed,
                                 config::emit_yaml(scenario.resolved));
  for (const std::string& file : report::input_files(scenario))
    text += fmt::format("{} {}\n", fs::path(file).lexically_relative(folder).generic_string(),
                        files.of(file));
  return report::sha256_hex(text);
}

}  // namespace tokenline::sweep
