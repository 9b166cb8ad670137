#include "calib/calibrate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "calib/fit_kernels.hpp"
#include "hwmodels/gpu.hpp"
#include "sim/config/node.hpp"

namespace tokenline::calib {
namespace {

std::string microseconds(Seconds time) { return fmt::format("{:.4g} us", time.value() * 1e6); }

std::string errors(const hw::FitError& error, int indent) {
  return fmt::format("{0:{1}}median_error: {2:.3f}\n{0:{1}}p90_error: {3:.3f}\n", "", indent,
                     error.median, error.p90);
}

std::string to_yaml(const hw::GemmFit& fit) {
  return fmt::format(
      "gemm:\n  launch: {}\n  compute_efficiency: {:.4g}\n  memory_efficiency: {:.4g}\n{}"
      "  max_tokens: {}\n  max_width: {}\n",
      microseconds(fit.launch), fit.compute_efficiency, fit.memory_efficiency, errors(fit.error, 2),
      fit.max_tokens, fit.max_width);
}

std::string to_yaml(const hw::PrefillFit& fit) {
  return fmt::format(
      "prefill_attention:\n  kernel: {}\n  launch: {}\n  block_overhead: {}\n"
      "  compute_efficiency: {:.4g}\n  memory_efficiency: {:.4g}\n{}  max_length: {}\n",
      hw::name(fit.measured), microseconds(fit.launch), microseconds(fit.block_overhead),
      fit.compute_efficiency, fit.memory_efficiency, errors(fit.error, 2), fit.max_length);
}

std::string to_yaml(const hw::DecodeFit& fit) {
  return fmt::format(
      "decode_attention:\n  launch: {}\n  block_overhead: {}\n  memory_efficiency: {:.4g}\n{}"
      "  max_context: {}\n  max_batch: {}\n",
      microseconds(fit.launch), microseconds(fit.block_overhead), fit.memory_efficiency,
      errors(fit.error, 2), fit.max_context, fit.max_batch);
}

std::string to_yaml(const hw::ElementwiseFit& fit) {
  return fmt::format(
      "elementwise:\n  launch: {}\n  memory_efficiency: {:.4g}\n{}  max_tokens: {}\n",
      microseconds(fit.launch), fit.memory_efficiency, errors(fit.error, 2), fit.max_tokens);
}

std::string to_yaml(const std::vector<hw::AllReduceCurve>& curves) {
  std::string text = "all_reduce:\n";
  for (const hw::AllReduceCurve& curve : curves) {
    std::vector<std::string> payloads;
    std::vector<std::string> times;
    for (const auto& point : curve.points) {
      payloads.push_back(fmt::format("{:.0f}", point.payload.value()));
      times.push_back(fmt::format("{:.4g}", point.time.value() * 1e6));
    }
    text += fmt::format("  - gpus: {}\n    payload_bytes: [{}]\n    time_us: [{}]\n{}", curve.gpus,
                        fmt::join(payloads, ", "), fmt::join(times, ", "), errors(curve.error, 4));
  }
  return text;
}

}  // namespace

std::string calibrate_to_yaml(const std::string& gpu_name, const std::string& operators,
                              const std::string& datasheet_path) {
  const std::string datasheet = config::read_file(datasheet_path);
  const hw::Datasheet gpu = hw::parse_datasheet(datasheet_path, datasheet);
  const auto file = [&](std::string_view name) { return fmt::format("{}/{}", operators, name); };
  const hw::PrefillFit prefill = fit_prefill(gpu, file("prefill_attention.csv"));
  std::string text =
      "# Written by `tokenline calibrate`: change the datasheet or the measurements, not this "
      "file.\n";
  text += fmt::format("name: {}\n", gpu_name);
  text += datasheet;
  text +=
      "# Fitted to measured kernel times; errors are |predicted - measured| / measured on rows\n"
      "# held out of the fit.\n";
  text += to_yaml(fit_gemm(gpu, file("gemm.csv")));
  text += to_yaml(prefill);
  text += to_yaml(fit_decode(gpu, prefill, file("decode_attention.csv")));
  text += to_yaml(fit_elementwise(gpu, file("elementwise.csv")));
  text += to_yaml(read_all_reduce(file("collectives.csv")));
  return text;
}

}  // namespace tokenline::calib
