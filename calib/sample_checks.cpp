#include "calib/sample_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "calib/fit_kernels.hpp"
#include "sim/config/diagnostic.hpp"

namespace tokenline::calib {
namespace {

constexpr std::int64_t largest_size = 1LL << 40;
/// Boost clocks of single boards pass the stated one by some percent.
constexpr double allowed = 1.1;
/// A curve tells its error by points left out between two others.
constexpr std::size_t least_payloads = 3;

struct Mistakes {
  std::string folder;
  std::vector<config::Diagnostic> all;

  void add(std::string what, std::string message, std::string hint) {
    all.push_back({{folder, 1, 1}, std::move(what), std::move(message), std::move(hint)});
  }
};

bool sizes_fit(const Sample& sample) {
  const auto fits = [](std::int64_t size) { return size >= 1 && size <= largest_size; };
  return std::ranges::all_of(sample.shape, fits) && std::ranges::all_of(sample.point, fits);
}

/// What the datasheet says the call takes at least, with what caches may hold left out.
Seconds at_least(const hw::Datasheet& gpu, const Sample& sample) {
  const Seconds memory = (sample.terms.fresh - hw::most_cached) / gpu.bandwidth;
  return std::max(sample.terms.flops / sample.terms.peak, memory);
}

std::string label(const Sample& sample) {
  std::string text;
  const auto add = [&](const std::vector<std::string>& names,
                       const std::vector<std::int64_t>& sizes) {
    for (std::size_t i = 0; i < sizes.size(); ++i)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", names[i], sizes[i]);
  };
  add(shape_names(sample.kernel), sample.shape);
  add(axis_names(sample.kernel), sample.point);
  return text;
}

void check_speed(const hw::Datasheet& gpu, const SampleGroup& group, const std::string& what,
                 Mistakes& mistakes) {
  const Sample* worst = nullptr;
  std::size_t count = 0;
  const auto excess = [&](const Sample& sample) { return at_least(gpu, sample) / sample.time; };
  for (const Sample& sample : group.samples) {
    if (excess(sample) <= allowed) continue;
    ++count;
    if (worst == nullptr || excess(sample) > excess(*worst)) worst = &sample;
  }
  if (worst == nullptr) return;
  mistakes.add(what,
               fmt::format("{} of {} rows are faster than the datasheet allows; {} took {:.4g} us, "
                           "at least {:.4g} us at its peak and bandwidth",
                           count, group.samples.size(), label(*worst), worst->time.value() * 1e6,
                           at_least(gpu, *worst).value() * 1e6),
               "measurements of another GPU, or a mistake in the datasheet");
}

void check_group(const hw::Datasheet& gpu, const SampleGroup& group, Mistakes& mistakes) {
  const std::string what = fmt::format("{} {}", name(group.kernel), group.variant);
  const std::vector<std::string> known = hw::variants(group.kernel);
  if (std::ranges::find(known, group.variant) == known.end())
    mistakes.add(what, "no step asks for it", config::suggestion(group.variant, known));
  if (const auto odd = std::ranges::find_if_not(group.samples, sizes_fit);
      odd != group.samples.end()) {
    mistakes.add(what, fmt::format("sizes must be from 1 to {}: {}", largest_size, label(*odd)),
                 {});
    return;
  }
  const std::vector<char> out = held_out(group.samples);
  const auto held = static_cast<std::size_t>(std::ranges::count(out, 1));
  if (held < 1 || group.samples.size() - held < fitted_constants)
    mistakes.add(
        what,
        fmt::format("{} rows are too few: of {} to fit {} constants to and {} to tell their error",
                    group.samples.size(), group.samples.size() - held, fitted_constants, held),
        "measure more sizes; without any the usual constants are taken");
  // What decodes add to chunks is a difference of two measurements.
  if (group.kernel != Kernel::mixed_decode) check_speed(gpu, group, what, mistakes);
}

void check_collectives(const std::vector<CollectiveSample>& samples, Mistakes& mistakes) {
  std::map<std::tuple<models::CollectiveOp, hw::CollectiveImplementation, std::int64_t>,
           std::set<double>>
      curves;
  for (const CollectiveSample& sample : samples)
    curves[{sample.op, sample.implementation, sample.gpus}].insert(sample.payload.value());
  for (const auto& [key, payloads] : curves)
    if (payloads.size() < least_payloads)
      mistakes.add(fmt::format("collectives {} {} over {} GPUs", hw::name(std::get<0>(key)),
                               hw::name(std::get<1>(key)), std::get<2>(key)),
                   fmt::format("{} payloads are too few: at least {} tell the error of a curve",
                               payloads.size(), least_payloads),
                   {});
}

}  // namespace

std::vector<SampleGroup> grouped(const std::vector<Sample>& samples) {
  std::map<std::pair<Kernel, std::string>, std::vector<Sample>> by_key;
  for (const Sample& sample : samples) by_key[{sample.kernel, sample.variant}].push_back(sample);
  std::vector<SampleGroup> groups;
  for (auto& [key, group] : by_key) groups.push_back({key.first, key.second, std::move(group)});
  return groups;
}

void check_samples(const hw::Datasheet& gpu, const Samples& samples, const std::string& folder) {
  Mistakes mistakes{folder, {}};
  for (const SampleGroup& group : grouped(samples.samples)) check_group(gpu, group, mistakes);
  check_collectives(samples.collectives, mistakes);
  if (!mistakes.all.empty()) throw config::ConfigError(std::move(mistakes.all));
}

}  // namespace tokenline::calib
