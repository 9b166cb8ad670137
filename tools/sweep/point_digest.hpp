#pragma once

#include <map>
#include <mutex>
#include <string>

#include "sim/engine/scenario.hpp"

namespace tokenline::sweep {

/// SHA-256 of files, each read once; may be asked by several threads.
class FileDigests {
 public:
  /// Throws ConfigError where the file cannot be read.
  [[nodiscard]] std::string of(const std::string& path);

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> known_;
};

/// Point::sha256 of a scenario. Data files count by their names as seen from the scenario's folder
/// and by their bytes, so that a copy of the whole elsewhere is the same point.
[[nodiscard]] std::string point_digest(const Scenario& scenario, FileDigests& files);

}  // namespace tokenline::sweep
