#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tools/sweep/sweep.hpp"

namespace tokenline::sweep {

/// The file that says which sweep a folder's results are of.
inline constexpr std::string_view manifest_name = "sweep.json";

/// A folder with one file per result, `<Point::sha256>.json`, and the manifest. Files appear whole
/// or not at all, so that several processes may share it and any of them may be killed.
class ResultFolder {
 public:
  /// A folder of results that is there, to be read.
  explicit ResultFolder(std::string directory) : directory_(std::move(directory)) {}

  /// Creates the folder, or finds it empty or with results of a sweep of this name, and writes the
  /// manifest. Results of an earlier text of the sweep stay, and count where a point is still the
  /// same. Throws OutputError.
  [[nodiscard]] static ResultFolder claim(const std::string& directory, const Sweep& sweep);

  /// The result of a point, if there is a whole one.
  [[nodiscard]] std::optional<PointResult> find(const Point& point) const;

  /// Whether there is a file of that name, whatever it holds: cheap.
  [[nodiscard]] bool has_file(const Point& point) const;

  /// Keeps a result. Throws OutputError.
  void put(const PointResult& result) const;

  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] std::string manifest_path() const;

 private:
  [[nodiscard]] std::string path_of(const std::string& sha256) const;
  void check_is_ours(const Sweep& sweep) const;
  void remove_abandoned_files() const;

  std::string directory_;
};

/// Writes a file so that it is there whole or not at all, whenever the process or the machine
/// stops: under another name in the same folder, flushed to the disk, renamed. Throws OutputError.
void write_atomically(const std::string& path, std::string_view text);

}  // namespace tokenline::sweep
