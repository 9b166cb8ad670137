#include "calib/samples.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <tuple>
#include <utility>

#include "calib/isolated_tables.hpp"
#include "calib/layer_tables.hpp"
#include "sim/config/diagnostic.hpp"

namespace tokenline::calib {
namespace {

/// Drops the isolated calls that layers replace, and appends the layers.
void prefer_layers(std::vector<Sample>& isolated, const std::vector<Sample>& layers) {
  using Line = std::tuple<Kernel, std::string, std::vector<std::int64_t>, std::int64_t>;
  const auto line = [](const Sample& sample) {
    return Line{sample.kernel, sample.variant, sample.shape,
                sample.point.size() == 2 ? sample.point[0] : 0};
  };
  std::set<Line> replaced;
  for (const Sample& sample : layers) replaced.insert(line(sample));
  std::erase_if(isolated, [&](const Sample& sample) { return replaced.contains(line(sample)); });
  isolated.insert(isolated.end(), layers.begin(), layers.end());
}

}  // namespace

std::optional<std::string> Samples::find(const std::string& folder, const std::string& file) {
  std::string path = folder + "/" + file;
  if (!std::filesystem::exists(path)) return {};
  ++tables;
  return path;
}

void Samples::refuse(std::string_view file, std::string_view reason) {
  const auto found = std::ranges::find_if(
      refused, [&](const Refused& r) { return r.file == file && r.reason == reason; });
  if (found != refused.end())
    ++found->rows;
  else
    refused.push_back({std::string(file), std::string(reason), 1});
}

Samples read_samples(const hw::Datasheet& gpu, const std::string& folder) {
  Samples all = read_isolated_tables(gpu, folder);
  Samples layers = read_layer_tables(gpu, folder);
  if (all.tables + layers.tables == 0)
    throw config::ConfigError(
        config::Diagnostic{{folder, 1, 1},
                           "(folder)",
                           "holds none of the tables of measurements",
                           "gemm.csv, prefill_attention.csv, …: calib/README.md lists them"});
  prefer_layers(all.samples, layers.samples);
  all.mixed = std::move(layers.mixed);
  all.refused.insert(all.refused.end(), layers.refused.begin(), layers.refused.end());
  all.tables += layers.tables;
  return all;
}

}  // namespace tokenline::calib
