#include "calib/calibrate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "calib/fit_kernels.hpp"
#include "calib/sample_checks.hpp"
#include "calib/samples.hpp"
#include "hwmodels/gpu.hpp"
#include "sim/config/node.hpp"

namespace tokenline::calib {
namespace {

std::string microseconds(Seconds time) { return fmt::format("{:.4g} us", time.value() * 1e6); }

/// Lines of a text, each after `indent` spaces.
std::string indented(const std::string& text, std::size_t indent) {
  const std::string margin(indent, ' ');
  std::string out;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    out += margin + text.substr(begin, end - begin + 1);
    begin = end + 1;
  }
  return out;
}

std::string to_yaml(const hw::KernelFit& fit) {
  std::string text = fmt::format("launch: {}\n", microseconds(fit.launch));
  if (fit.block_overhead.value() > 0.0)
    text += fmt::format("block_overhead: {}\n", microseconds(fit.block_overhead));
  if (fit.apart_efficiency < 1.0)
    text += fmt::format("apart_efficiency: {:.4g}\n", fit.apart_efficiency);
  text += fmt::format(
      "compute_efficiency: {:.4g}\nmemory_efficiency: {:.4g}\nroofline_median_error: {:.3f}\n"
      "roofline_p90_error: {:.3f}\nmedian_error: {:.3f}\np90_error: {:.3f}\n",
      fit.compute_efficiency, fit.memory_efficiency, fit.roofline_error.median,
      fit.roofline_error.p90, fit.error.median, fit.error.p90);
  if (fit.grid) text += "grid: |\n" + indented(fit.grid->to_text(), 2);
  return text;
}

std::string to_yaml(Kernel kernel, const hw::KernelFits& fits) {
  std::string text;
  for (const auto& [variant, fit] : fits)
    text += fmt::format("  {}:\n{}", variant, indented(to_yaml(fit), 4));
  return text.empty() ? text : fmt::format("{}:\n{}", name(kernel), text);
}

std::string to_yaml(const std::vector<hw::CollectiveCurve>& curves) {
  std::string text = curves.empty() ? "" : "collectives:\n";
  for (const hw::CollectiveCurve& curve : curves) {
    std::vector<std::string> payloads;
    std::vector<std::string> times;
    for (const auto& point : curve.points) {
      payloads.push_back(fmt::format("{:.0f}", point.payload.value()));
      times.push_back(fmt::format("{:.4g}", point.time.value() * 1e6));
    }
    text += fmt::format(
        "  - op: {}\n    implementation: {}\n    gpus: {}\n    payload_bytes: [{}]\n"
        "    time_us: [{}]\n    median_error: {:.3f}\n    p90_error: {:.3f}\n",
        hw::name(curve.op), hw::name(curve.implementation), curve.gpus, fmt::join(payloads, ", "),
        fmt::join(times, ", "), curve.error.median, curve.error.p90);
  }
  return text;
}

}  // namespace

std::string calibrate_to_yaml(const std::string& gpu_name,
                              const std::optional<std::string>& operators,
                              const std::string& datasheet_path) {
  const std::string datasheet = config::read_file(datasheet_path);
  hw::Gpu gpu;
  static_cast<hw::Datasheet&>(gpu) = hw::parse_datasheet(datasheet_path, datasheet);
  std::string text =
      "# Written by `tokenline calibrate`: change the datasheet or the measurements, not this "
      "file.\n";
  text += fmt::format("name: {}\n", gpu_name);
  text += datasheet;
  if (!operators)
    return text + "# Nothing was measured: prices come from these values and usual efficiencies.\n";
  const Samples samples = read_samples(gpu, *operators);
  check_samples(gpu, samples, *operators);
  fit_all(gpu, samples.samples);
  gpu.collectives = collective_curves(samples.collectives);
  text +=
      "# Fitted to measured kernel times; errors are |predicted - measured| / measured on shapes\n"
      "# held out of the fit. A grid holds measured over fitted time, in thousandths.\n";
  for (const Kernel kernel : {Kernel::gemm, Kernel::prefill_attention, Kernel::chunked_prefill,
                              Kernel::decode_attention, Kernel::mixed_decode, Kernel::experts,
                              Kernel::mla_prefill, Kernel::mla_decode, Kernel::elementwise})
    text += to_yaml(kernel, fits_of(gpu, kernel));
  return text + to_yaml(gpu.collectives);
}

}  // namespace tokenline::calib
