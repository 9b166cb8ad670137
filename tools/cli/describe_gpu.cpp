#include "tools/cli/describe_gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "hwmodels/catalog.hpp"
#include "hwmodels/gpu.hpp"
#include "sim/config/node.hpp"
#include "sim/report/text_table.hpp"

namespace tokenline::cli {
namespace {

struct Kernel {
  std::string_view name;
  hw::KernelFits hw::Gpu::* fits;
};
constexpr std::array kernels{Kernel{"gemm", &hw::Gpu::gemm},
                             Kernel{"prefill_attention", &hw::Gpu::prefill_attention},
                             Kernel{"chunked_prefill", &hw::Gpu::chunked_prefill},
                             Kernel{"decode_attention", &hw::Gpu::decode_attention},
                             Kernel{"mixed_decode", &hw::Gpu::mixed_decode},
                             Kernel{"experts", &hw::Gpu::experts},
                             Kernel{"mla_prefill", &hw::Gpu::mla_prefill},
                             Kernel{"mla_decode", &hw::Gpu::mla_decode},
                             Kernel{"elementwise", &hw::Gpu::elementwise}};

std::string microseconds(Seconds time) { return fmt::format("{:.3g}", time.value() * 1e6); }

std::string percent(double share) { return fmt::format("{:.0f} %", 100.0 * share); }

std::string error(const hw::FitError& error) {
  return fmt::format("{:.1f} / {:.0f} %", 100.0 * error.median, 100.0 * error.p90);
}

/// The entry as far as the manufacturer's values go: up to the first section or the comment before
/// the fits.
std::string datasheet(std::string_view yaml) {
  const std::size_t end =
      std::min(yaml.find("\n# Fitted to measured"), yaml.find("\n# Nothing was measured"));
  return std::string(yaml.substr(0, end)) + '\n';
}

std::string fit_table(const hw::Gpu& gpu) {
  report::TextTable table(2);
  table.row({"kernel", "of", "launch us", "block us", "compute", "memory", "roofline error",
             "with grid", "shapes"});
  for (const Kernel& kernel : kernels) {
    const bool of_kv = kernel.name.ends_with("attention");
    for (const auto& [variant, fit] : gpu.*kernel.fits) {
      // The usual constants come for every precision of weights, the KV cache has two.
      if (of_kv && (variant == "usual fp8_block" || variant == "usual mxfp4")) continue;
      table.row({std::string(kernel.name), variant, microseconds(fit.launch),
                 microseconds(fit.block_overhead), percent(fit.compute_efficiency),
                 percent(fit.memory_efficiency), error(fit.roofline_error),
                 fit.grid ? error(fit.error) : "-",
                 fit.from_datasheet ? "datasheet"
                 : fit.grid         ? fmt::format("{}", fit.grid->shapes())
                                    : "-"});
    }
  }
  return table.text();
}

std::string collective_table(const hw::Gpu& gpu) {
  if (gpu.collectives.empty())
    return gpu.interconnect.value() > 0.0
               ? "\nCollectives: NCCL's usual constants over the interconnect.\n"
               : "";
  report::TextTable table(2);
  table.row({"collective", "by", "GPUs", "sizes", "point left out"});
  for (const hw::CollectiveCurve& curve : gpu.collectives)
    table.row({std::string(hw::name(curve.op)), std::string(hw::name(curve.implementation)),
               fmt::format("{}", curve.gpus), fmt::format("{}", curve.points.size()),
               error(curve.error)});
  return "\n" + table.text();
}

}  // namespace

std::string describe_gpu(const std::string& name_or_path) {
  const auto built_in = std::ranges::find(hw::catalog(), name_or_path, &hw::CatalogFile::name);
  const hw::Gpu gpu = hw::load_gpu(name_or_path);
  const std::string yaml = built_in == hw::catalog().end() ? config::read_file(name_or_path)
                                                           : std::string(built_in->yaml);
  const std::string_view provenance =
      gpu.calibrated()
          ? "Fitted to measured kernel times (calib/README.md names the sources). Errors are the\n"
            "median / 90th percentile of |predicted - measured| / measured on shapes held out, of\n"
            "the roofline alone and with the grid of measured over fitted time.\n"
          : "Nothing was measured: usual constants, medians of the calibrated GPUs. Errors are "
            "the\n"
            "largest of a calibrated GPU priced with the medians of the others.\n";
  return fmt::format("GPU {}\n{}\n{}\n{}{}", gpu.name, datasheet(yaml), provenance, fit_table(gpu),
                     collective_table(gpu));
}

}  // namespace tokenline::cli
