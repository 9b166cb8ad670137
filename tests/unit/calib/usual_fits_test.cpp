// What kernels usually reach where nobody measured: medians over the calibrated GPUs of the catalog
// (hwmodels/README.md, Usual constants). Computed here anew from the catalog and from the rows.
#include "hwmodels/usual_fits.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <optional>

#include "calib/fit.hpp"
#include "calib/samples.hpp"
#include "hwmodels/kernels/collective.hpp"
#include "sim/base/check.hpp"

using namespace tokenline;
using calib::Kernel;

namespace {

const std::string source_root = TOKENLINE_SOURCE_DIR;
const std::vector<std::string> calibrated{"a100_sxm_80gb", "h100_sxm", "h200_sxm", "rtx_4090",
                                          "rtx_pro_6000"};

double median(std::vector<double> values) {
  TOKENLINE_CHECK(!values.empty(), "a median of nothing");
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : 0.5 * (values[middle - 1] + values[middle]);
}

/// The variant of a kernel that stands for a GPU: 16 bit, experts under the first load, latent
/// attention with its projections, streaming kernels all together.
std::optional<std::string> variant(const hw::KernelFits& fits, Kernel kernel) {
  const auto wanted = [&](const std::string& name) {
    if (kernel == Kernel::mla_prefill || kernel == Kernel::mla_decode)
      return name == "bfloat16 bfloat16";
    if (kernel == Kernel::elementwise) return name == "other";
    return name.starts_with("bfloat16");
  };
  const auto found =
      std::ranges::find_if(fits, [&](const auto& entry) { return wanted(entry.first); });
  if (found == fits.end() || found->second.from_datasheet) return {};
  return found->first;
}

struct Entry {
  std::string gpu;
  hw::KernelFit fit;
};

/// The GPUs on which a kernel was measured.
std::vector<Entry> entries(Kernel kernel) {
  std::vector<Entry> all;
  for (const std::string& name : calibrated) {
    const hw::Gpu gpu = hw::load_gpu(name);
    const hw::KernelFits& fits = calib::fits_of(gpu, kernel);
    if (const auto chosen = variant(fits, kernel)) all.push_back({name, fits.at(*chosen)});
  }
  return all;
}

/// Medians of constants; a block overhead is that of the GPUs whose kernels have blocks.
hw::KernelFit medians(const std::vector<Entry>& all) {
  const auto of = [&](auto constant) {
    std::vector<double> values;
    for (const Entry& entry : all) values.push_back(constant(entry.fit));
    return median(values);
  };
  std::vector<double> blocks;
  for (const Entry& entry : all)
    if (entry.fit.block_overhead.value() > 0.0) blocks.push_back(entry.fit.block_overhead.value());
  hw::KernelFit fit;
  fit.launch = Seconds(of([](const hw::KernelFit& f) { return f.launch.value(); }));
  fit.block_overhead = Seconds(blocks.empty() ? 0.0 : median(blocks));
  fit.compute_efficiency = of([](const hw::KernelFit& f) { return f.compute_efficiency; });
  fit.memory_efficiency = of([](const hw::KernelFit& f) { return f.memory_efficiency; });
  fit.apart_efficiency = of([](const hw::KernelFit& f) { return f.apart_efficiency; });
  return fit;
}

const calib::Samples& samples(const std::string& gpu) {
  static std::map<std::string, calib::Samples> read;
  const auto [found, fresh] = read.try_emplace(gpu);
  if (fresh)
    found->second = calib::read_samples(hw::load_gpu(gpu), source_root + "/calib/data/" + gpu);
  return found->second;
}

/// How far the medians of the other GPUs are from what was measured on one.
hw::FitError error_without(Kernel kernel, const std::vector<Entry>& all, const std::string& left) {
  std::vector<Entry> others;
  std::ranges::copy_if(all, std::back_inserter(others),
                       [&](const Entry& entry) { return entry.gpu != left; });
  const hw::Gpu gpu = hw::load_gpu(left);
  const std::string chosen = *variant(calib::fits_of(gpu, kernel), kernel);
  const hw::KernelFit fit = medians(others);
  std::vector<double> predicted;
  std::vector<double> measured;
  for (const calib::Sample& sample : samples(left).samples) {
    if (sample.kernel != kernel || (chosen != "other" && sample.variant != chosen)) continue;
    predicted.push_back(hw::roofline(gpu, fit, sample.terms).time.value());
    measured.push_back(sample.time.value());
  }
  return calib::relative_error(predicted, measured);
}

struct Usual {
  Kernel kernel;
  hw::KernelFit (*fit)();
};
const std::vector<Usual> usual{{Kernel::gemm, hw::usual_gemm},
                               {Kernel::prefill_attention, hw::usual_prefill_attention},
                               {Kernel::decode_attention, hw::usual_decode_attention},
                               {Kernel::experts, hw::usual_experts},
                               {Kernel::mla_prefill, hw::usual_mla_prefill},
                               {Kernel::mla_decode, hw::usual_mla_decode},
                               {Kernel::elementwise, hw::usual_elementwise}};

/// Equal to two digits.
Approx two_digits(double value) { return Approx(value).epsilon(0.05); }

struct CollectiveConstants {
  double launch = 0.0;
  double efficiency = 0.0;
};

/// NCCL's smallest payloads and its bandwidth at the largest, medians over a GPU's curves.
std::optional<CollectiveConstants> collective_constants(const hw::Gpu& gpu) {
  std::vector<double> launches;
  std::vector<double> efficiencies;
  for (const hw::CollectiveCurve& curve : gpu.collectives) {
    if (curve.implementation != hw::CollectiveImplementation::nccl) continue;
    const auto& last = curve.points.back();
    const Bytes moved = hw::ring_factor(curve.op, curve.gpus) * last.payload;
    launches.push_back(curve.points.front().time.value());
    efficiencies.push_back(moved / (gpu.interconnect * last.time));
  }
  if (launches.empty()) return {};
  return CollectiveConstants{median(launches), median(efficiencies)};
}

}  // namespace

TEST_CASE("usual constants are the medians over the calibrated GPUs", "[calib]") {
  const Usual kernel = GENERATE(from_range(usual));
  INFO(name(kernel.kernel));
  const hw::KernelFit expected = medians(entries(kernel.kernel));
  const hw::KernelFit stated = kernel.fit();
  CHECK(stated.from_datasheet);
  CHECK(stated.grid == nullptr);
  CHECK(stated.launch.value() == two_digits(expected.launch.value()));
  CHECK(stated.block_overhead.value() == two_digits(expected.block_overhead.value()));
  CHECK(stated.compute_efficiency == two_digits(expected.compute_efficiency));
  CHECK(stated.memory_efficiency == two_digits(expected.memory_efficiency));
  CHECK(stated.apart_efficiency == two_digits(expected.apart_efficiency));
}

TEST_CASE("usual errors are the largest of a GPU priced with the medians of the others",
          "[calib]") {
  const Usual kernel = GENERATE(from_range(usual));
  const std::vector<Entry> all = entries(kernel.kernel);
  hw::FitError largest;
  for (const Entry& entry : all) {
    const hw::FitError error = error_without(kernel.kernel, all, entry.gpu);
    UNSCOPED_INFO(name(kernel.kernel)
                  << " " << entry.gpu << " " << error.median << " " << error.p90);
    largest.median = std::max(largest.median, error.median);
    largest.p90 = std::max(largest.p90, error.p90);
  }
  CHECK(kernel.fit().error.median == two_digits(largest.median));
  CHECK(kernel.fit().error.p90 == two_digits(largest.p90));
}

TEST_CASE("usual collectives have the medians of NCCL on the calibrated GPUs", "[calib]") {
  std::vector<double> launches;
  std::vector<double> efficiencies;
  for (const std::string& name : calibrated) {
    const auto constants = collective_constants(hw::load_gpu(name));
    if (!constants) continue;
    UNSCOPED_INFO(name << " " << constants->launch << " " << constants->efficiency);
    launches.push_back(constants->launch);
    efficiencies.push_back(constants->efficiency);
  }
  const hw::KernelFit stated = hw::usual_collective();
  CHECK(stated.launch.value() == two_digits(median(launches)));
  CHECK(stated.memory_efficiency == two_digits(median(efficiencies)));
}

TEST_CASE("usual collectives err as far as on the worst calibrated GPU", "[calib]") {
  hw::FitError largest;
  for (const std::string& left : calibrated) {
    const hw::Gpu gpu = hw::load_gpu(left);
    if (!collective_constants(gpu)) continue;
    std::vector<double> launches;
    std::vector<double> efficiencies;
    for (const std::string& other : calibrated) {
      const auto constants = collective_constants(hw::load_gpu(other));
      if (!constants || other == left) continue;
      launches.push_back(constants->launch);
      efficiencies.push_back(constants->efficiency);
    }
    std::vector<double> predicted;
    std::vector<double> measured;
    for (const hw::CollectiveCurve& curve : gpu.collectives) {
      if (curve.implementation != hw::CollectiveImplementation::nccl) continue;
      for (const auto& point : curve.points) {
        const Seconds transfer = hw::ring_factor(curve.op, curve.gpus) * point.payload /
                                 (gpu.interconnect * median(efficiencies));
        predicted.push_back(median(launches) + transfer.value());
        measured.push_back(point.time.value());
      }
    }
    const hw::FitError error = calib::relative_error(predicted, measured);
    UNSCOPED_INFO(left << " " << error.median << " " << error.p90);
    largest.median = std::max(largest.median, error.median);
    largest.p90 = std::max(largest.p90, error.p90);
  }
  CHECK(hw::usual_collective().error.median == two_digits(largest.median));
  CHECK(hw::usual_collective().error.p90 == two_digits(largest.p90));
}
