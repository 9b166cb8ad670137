#include "calib/fit_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>

#include "calib/fit.hpp"
#include "hwmodels/kernels/collective.hpp"
#include "hwmodels/kernels/kernel_cost.hpp"
#include "sim/base/check.hpp"

namespace tokenline::calib {
namespace {

using Sizes = std::vector<std::int64_t>;

/// To the four digits that catalogs hold.
double rounded(double value) { return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr); }

/// A fitted 1/efficiency as an efficiency; noise may ask for more than the hardware has, and a term
/// that never binds for none at all.
double efficiency(double inverse) { return inverse <= 1.0 ? 1.0 : rounded(1.0 / inverse); }

/// Below a picosecond a time is what rounding leaves of zero.
Seconds duration(double seconds) {
  return seconds < 1e-12 ? Seconds(0.0) : Seconds(rounded(seconds * 1e6) * 1e-6);
}

std::vector<hw::GridAxis> axes_of(std::span<const Sample> samples) {
  std::vector<hw::GridAxis> axes;
  const auto names = axis_names(samples.front().kernel);
  for (std::size_t a = 0; a < names.size(); ++a) {
    std::set<std::int64_t> values;
    for (const Sample& sample : samples) values.insert(sample.point[a]);
    axes.push_back({names[a], {values.begin(), values.end()}});
  }
  return axes;
}

hw::KernelFit fit_constants(const hw::Datasheet& gpu, std::span<const Sample> samples,
                            const std::vector<char>& out) {
  std::vector<const Sample*> fitted;
  std::vector<double> measured;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (out[i] != 0) continue;
    fitted.push_back(&samples[i]);
    measured.push_back(samples[i].time.value());
  }
  const auto x =
      fit_relative(measured, {1e-5, 1e-6, 1.5, 1.2, 1.2},
                   [&](std::size_t i, std::span<const double> at, std::span<double> features) {
                     const hw::KernelTerms& terms = fitted[i]->terms;
                     const double memory = ((terms.bytes - terms.apart) / gpu.bandwidth).value();
                     const double apart = (terms.apart / gpu.bandwidth).value();
                     const double compute = terms.compute.value();
                     const bool compute_bound = compute * at[2] > memory * at[3];
                     features[0] = 1.0;
                     features[1] = terms.blocks / static_cast<double>(gpu.sms);
                     features[2] = compute_bound ? compute : 0.0;
                     features[3] = compute_bound ? 0.0 : memory;
                     features[4] = apart;
                   });
  hw::KernelFit fit;
  fit.launch = duration(x[0]);
  fit.block_overhead = duration(x[1]);
  fit.compute_efficiency = efficiency(x[2]);
  fit.memory_efficiency = efficiency(x[3]);
  fit.apart_efficiency = efficiency(x[4]);
  return fit;
}

std::shared_ptr<const hw::ResidualGrid> grid_of(const hw::Datasheet& gpu, const hw::KernelFit& fit,
                                                std::span<const Sample> samples,
                                                const std::vector<char>& without) {
  auto grid =
      std::make_shared<hw::ResidualGrid>(shape_names(samples.front().kernel), axes_of(samples));
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Sample& sample = samples[i];
    if (without[i] != 0) continue;
    grid->add(sample.shape, sample.point, sample.time / hw::roofline(gpu, fit, sample.terms).time);
  }
  return grid;
}

void state_errors(const hw::Datasheet& gpu, std::span<const Sample> samples,
                  const std::vector<char>& out, hw::KernelFit& fit) {
  std::vector<double> measured;
  std::vector<double> roofline;
  std::vector<double> predicted;
  std::map<Sizes, hw::GridSlice> slices;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Sample& sample = samples[i];
    if (out[i] == 0) continue;
    const auto [slice, fresh] = slices.try_emplace(sample.shape);
    if (fresh) slice->second = fit.grid->slice(sample.shape);
    measured.push_back(sample.time.value());
    roofline.push_back(hw::roofline(gpu, fit, sample.terms).time.value());
    predicted.push_back(
        hw::corrected(gpu, fit, sample.terms, slice->second.at(sample.point)).time.value());
  }
  if (measured.empty()) return;
  fit.roofline_error = relative_error(roofline, measured);
  fit.error = relative_error(predicted, measured);
}

}  // namespace

std::vector<char> held_out(std::span<const Sample> samples) {
  std::set<Sizes> shapes;
  std::set<std::pair<Sizes, Sizes>> points;
  for (const Sample& sample : samples) {
    shapes.insert(sample.shape);
    points.insert({sample.shape, sample.point});
  }
  constexpr std::size_t every = 5;
  constexpr std::size_t first = 2;
  std::set<std::pair<Sizes, Sizes>> out;
  std::size_t index = 0;
  const bool by_shape = shapes.size() >= every;
  const Sizes* last = nullptr;
  for (const auto& point : points) {
    if (by_shape) {
      if (last != nullptr && *last != point.first) ++index;
      last = &point.first;
    }
    if (index % every == first) out.insert(point);
    if (!by_shape) ++index;
  }
  std::vector<char> flags;
  for (const Sample& sample : samples)
    flags.push_back(out.contains({sample.shape, sample.point}) ? 1 : 0);
  return flags;
}

hw::KernelFit fit_kernel(const hw::Datasheet& gpu, std::span<const Sample> samples) {
  TOKENLINE_CHECK(!samples.empty(), "a fit of no samples");
  const std::vector<char> out = held_out(samples);
  hw::KernelFit fit = fit_constants(gpu, samples, out);
  fit.grid = grid_of(gpu, fit, samples, out);
  state_errors(gpu, samples, out, fit);
  fit.grid = grid_of(gpu, fit, samples, std::vector<char>(samples.size(), 0));
  return fit;
}

void fit_all(hw::Gpu& gpu, const std::vector<Sample>& samples) {
  std::map<std::pair<Kernel, std::string>, std::vector<Sample>> groups;
  for (const Sample& sample : samples) {
    groups[{sample.kernel, sample.variant}].push_back(sample);
    if (sample.kernel == Kernel::elementwise) groups[{sample.kernel, "other"}].push_back(sample);
  }
  for (const auto& [key, group] : groups) {
    hw::KernelFit fit = fit_kernel(gpu, group);
    if (key.second == "other") {
      fit.grid = nullptr;
      fit.error = fit.roofline_error;
    }
    fits_of(gpu, key.first).insert_or_assign(key.second, std::move(fit));
  }
}

std::vector<hw::CollectiveCurve> collective_curves(const std::vector<CollectiveSample>& samples) {
  std::map<std::tuple<models::CollectiveOp, hw::CollectiveImplementation, std::int64_t>,
           std::map<double, double>>
      groups;
  for (const CollectiveSample& sample : samples)
    groups[{sample.op, sample.implementation, sample.gpus}][sample.payload.value()] =
        sample.time.value();
  std::vector<hw::CollectiveCurve> curves;
  for (const auto& [key, points] : groups) {
    hw::CollectiveCurve curve{.op = std::get<0>(key),
                              .implementation = std::get<1>(key),
                              .gpus = std::get<2>(key),
                              .points = {},
                              .error = {}};
    for (const auto& [payload, time] : points)
      curve.points.push_back({Bytes(payload), duration(time)});
    for (std::size_t i = curve.points.size() - 1; i > 0; --i)
      curve.points[i - 1].time = std::min(curve.points[i - 1].time, curve.points[i].time);
    std::vector<double> predicted;
    std::vector<double> actual;
    for (std::size_t i = 1; i + 1 < curve.points.size(); ++i) {
      hw::CollectiveCurve rest = curve;
      rest.points.erase(rest.points.begin() + static_cast<std::ptrdiff_t>(i));
      predicted.push_back(hw::collective(rest, curve.points[i].payload).value());
      actual.push_back(points.at(curve.points[i].payload.value()));
    }
    if (!predicted.empty()) curve.error = relative_error(predicted, actual);
    curves.push_back(std::move(curve));
  }
  return curves;
}

}  // namespace tokenline::calib
