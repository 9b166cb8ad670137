#include "calib/samples.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "calib/folder.hpp"
#include "calib/isolated_tables.hpp"
#include "calib/layer_tables.hpp"

namespace tokenline::calib {
namespace {

/// Drops those of the first `isolated` samples that the others, measured in layers, replace.
void prefer_layers(std::vector<Sample>& samples, std::size_t isolated) {
  using Line = std::tuple<Kernel, std::string, std::vector<std::int64_t>, std::int64_t>;
  const auto line = [](const Sample& sample) {
    return Line{sample.kernel, sample.variant, sample.shape,
                sample.point.size() == 2 ? sample.point[0] : 0};
  };
  const auto first = samples.begin() + static_cast<std::ptrdiff_t>(isolated);
  std::set<Line> replaced;
  for (auto layer = first; layer != samples.end(); ++layer) replaced.insert(line(*layer));
  const auto kept = std::remove_if(samples.begin(), first, [&](const Sample& sample) {
    return replaced.contains(line(sample));
  });
  samples.erase(kept, first);
}

}  // namespace

Samples read_samples(const hw::Datasheet& gpu, const std::string& folder, Unknown unknown) {
  Folder reading(gpu, folder, unknown);
  read_isolated_tables(reading);
  const std::size_t isolated = reading.size();
  read_layer_tables(reading);
  Samples all = reading.finish();
  prefer_layers(all.samples, isolated);
  return all;
}

}  // namespace tokenline::calib
