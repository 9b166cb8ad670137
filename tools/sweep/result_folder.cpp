#include "tools/sweep/result_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "sim/report/run_directory.hpp"
#include "tools/sweep/manifest.hpp"

namespace tokenline::sweep {
namespace {

namespace fs = std::filesystem;
using report::OutputError;

constexpr std::string_view temporary = ".tmp-";

[[noreturn]] void fail_output(const std::string& path, int error) {
  throw OutputError(fmt::format("{}: {}", path, std::strerror(error)));
}

/// A file under a name that nobody else has, which is removed unless renamed.
class TemporaryFile {
 public:
  explicit TemporaryFile(const fs::path& folder)
      : path_((folder / fmt::format("{}XXXXXX", temporary)).string()),
        descriptor_(::mkstemp(path_.data())) {
    if (descriptor_ < 0) fail_output(folder.string(), errno);
  }
  ~TemporaryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(std::string_view text) {
    while (!text.empty()) {
      const ssize_t written = ::write(descriptor_, text.data(), text.size());
      if (written < 0 && errno != EINTR) fail_output(path_, errno);
      if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  void rename_to(const std::string& path) {
    // mkstemp lets nobody else read it.
    const bool synced = ::fchmod(descriptor_, 0644) == 0 && ::fsync(descriptor_) == 0;
    const int error = errno;
    const bool closed = ::close(std::exchange(descriptor_, -1)) == 0;
    if (!synced) fail_output(path_, error);
    if (!closed || ::rename(path_.c_str(), path.c_str()) != 0) fail_output(path, errno);
    path_.clear();
  }

 private:
  std::string path_;
  int descriptor_;
};

/// Whether a folder holds anything but files that are just being written.
bool holds_something(const std::string& directory) {
  std::error_code trouble;
  bool found = false;
  for (const auto& entry : fs::directory_iterator(directory, trouble))
    found |= !entry.path().filename().string().starts_with(temporary);
  if (trouble) throw OutputError(fmt::format("{}: {}", directory, trouble.message()));
  return found;
}

}  // namespace

void write_atomically(const std::string& path, std::string_view text) {
  TemporaryFile file(fs::path(path).parent_path());
  file.write(text);
  file.rename_to(path);
}

ResultFolder ResultFolder::claim(const std::string& directory, const Sweep& sweep) {
  if (directory.empty()) throw OutputError("the directory for results has an empty name");
  std::error_code trouble;
  fs::create_directories(directory, trouble);
  if (trouble) throw OutputError(fmt::format("{}: {}", directory, trouble.message()));
  ResultFolder folder(directory);
  // In this order: who shares the folder writes the manifest first.
  if (holds_something(directory)) folder.check_is_ours(sweep);
  folder.remove_abandoned_files();
  const std::string manifest = manifest_json(sweep);
  if (!fs::exists(folder.manifest_path()) || config::read_file(folder.manifest_path()) != manifest)
    write_atomically(folder.manifest_path(), manifest);
  return folder;
}

void ResultFolder::check_is_ours(const Sweep& sweep) const {
  const std::string path = manifest_path();
  if (!fs::is_regular_file(path))
    throw OutputError(fmt::format("{}: not empty and without a {} of ours: results go elsewhere",
                                  directory_, manifest_name));
  const std::string name = manifest_sweep(path, config::read_file(path));
  if (name != sweep.name)
    throw OutputError(
        fmt::format("{}: holds the results of the sweep '{}': those of '{}' go "
                    "elsewhere",
                    directory_, name, sweep.name));
}

/// What a killed process has left. One is written in milliseconds: after an hour nobody does.
void ResultFolder::remove_abandoned_files() const {
  std::error_code ignored;
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (const auto& entry : fs::directory_iterator(directory_, ignored))
    if (entry.path().filename().string().starts_with(temporary) &&
        entry.last_write_time(ignored) < long_ago)
      fs::remove(entry.path(), ignored);
}

std::optional<PointResult> ResultFolder::find(const Point& point) const {
  if (!has_file(point)) return std::nullopt;
  auto result = parse_result(config::read_file(path_of(point.sha256)));
  if (result && result->sha256 != point.sha256) return std::nullopt;
  return result;
}

bool ResultFolder::has_file(const Point& point) const {
  std::error_code ignored;
  return fs::is_regular_file(path_of(point.sha256), ignored);
}

void ResultFolder::put(const PointResult& result) const {
  write_atomically(path_of(result.sha256), result_json(result));
}

std::string ResultFolder::manifest_path() const {
  return (fs::path(directory_) / manifest_name).string();
}

std::string ResultFolder::path_of(const std::string& sha256) const {
  return (fs::path(directory_) / (sha256 + ".json")).string();
}

}  // namespace tokenline::sweep
