#include "tools/sweep/merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tools/sweep/manifest.hpp"
#include "tools/sweep/result_folder.hpp"

namespace tokenline::sweep {
namespace {

bool same_point(const Point& a, const Point& b) {
  return a.values == b.values && a.seed == b.seed && a.sha256 == b.sha256;
}

bool same_sweep(const Sweep& a, const Sweep& b) {
  return a.name == b.name && a.description == b.description && a.axes == b.axes &&
         std::ranges::equal(a.points, b.points, same_point);
}

[[noreturn]] void refuse_folder(const std::string& file, std::string message, std::string hint) {
  throw config::ConfigError({{file, 1, 1}, {}, std::move(message), std::move(hint)});
}

/// Adds what a folder holds.
void add_results(Merged& merged, const ResultFolder& folder) {
  for (std::size_t i = 0; i < merged.results.size(); ++i) {
    const Point& point = merged.sweep.points[i];
    auto found = folder.find(point);
    if (!found) continue;
    auto& result = merged.results[i];
    if (result && result_json(*result) != result_json(*found))
      refuse_folder(folder.directory(),
                    fmt::format("holds another result of {} than a folder before",
                                label(merged.sweep, point)),
                    "a result is a function of its point: one of the files was changed");
    if (!result) result = std::move(found);
  }
}

}  // namespace

std::vector<std::size_t> Merged::missing() const {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < results.size(); ++i)
    if (!results[i]) all.push_back(i);
  return all;
}

Merged merge(std::span<const std::string> directories) {
  Merged merged;
  for (const std::string& directory : directories) {
    const ResultFolder folder(directory);
    const std::string path = folder.manifest_path();
    Sweep sweep = parse_manifest(path, config::read_file(path));
    if (&directory == directories.data()) {
      merged.sweep = std::move(sweep);
      merged.results.resize(merged.sweep.points.size());
    } else if (!same_sweep(merged.sweep, sweep)) {
      refuse_folder(path, fmt::format("not of the same sweep as {}", directories.front()),
                    "another name, other axes or other points; run the sweep again into both");
    }
    add_results(merged, folder);
  }
  return merged;
}

std::string missing_text(const Merged& merged) {
  constexpr std::size_t most = 20;
  const std::vector<std::size_t> missing = merged.missing();
  std::string text =
      fmt::format("{} of {} points have no result:\n", missing.size(), merged.results.size());
  for (const std::size_t i : std::span(missing).first(std::min(missing.size(), most)))
    text += fmt::format("  point {}: {}\n", i, label(merged.sweep, merged.sweep.points[i]));
  if (missing.size() > most) text += fmt::format("  and {} more\n", missing.size() - most);
  return text;
}

}  // namespace tokenline::sweep
