#include "calib/operators.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "calib/layer_tables.hpp"
#include "calib/samples.hpp"
#include "hwmodels/kernels/attention_pricer.hpp"
#include "hwmodels/kernels/collective.hpp"

namespace tokenline::calib {
namespace {

using Sizes = std::vector<std::int64_t>;

std::string label(Kernel kernel, const Sizes& shape, const Sizes& point) {
  std::string text;
  const auto add = [&](const std::vector<std::string>& names, const Sizes& sizes) {
    for (std::size_t i = 0; i < sizes.size(); ++i)
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", names[i], sizes[i]);
  };
  add(shape_names(kernel), shape);
  add(axis_names(kernel), point);
  return text;
}

void price_samples(const hw::Gpu& gpu, const Samples& samples, std::vector<OperatorRow>& rows) {
  std::map<std::tuple<Kernel, std::string, Sizes>, hw::GridSlice> slices;
  for (const Sample& sample : samples.samples) {
    // What a decode adds to chunks is derived from whole calls, which are priced as they are.
    if (sample.kernel == Kernel::mixed_decode) continue;
    OperatorRow row{std::string(name(sample.kernel)),
                    sample.variant,
                    label(sample.kernel, sample.shape, sample.point),
                    sample.time,
                    {},
                    {}};
    const hw::KernelFits& fits = fits_of(gpu, sample.kernel);
    const auto fit = fits.find(sample.variant);
    if (fit == fits.end() && fits.empty()) {
      row.refused = fmt::format("{} has no fit of {} for {}", gpu.name, row.table, row.dtype);
      rows.push_back(std::move(row));
      continue;
    }
    const hw::KernelFit& chosen =
        fit == fits.end() ? hw::fit_of(fits, sample.variant) : fit->second;
    const auto [slice, fresh] =
        slices.try_emplace({sample.kernel, sample.variant, sample.shape}, hw::GridSlice());
    if (fresh && chosen.grid) slice->second = chosen.grid->slice(sample.shape);
    row.predicted = hw::corrected(gpu, chosen, sample.terms, slice->second.at(sample.point)).time;
    rows.push_back(std::move(row));
  }
}

void price_collectives(const hw::Gpu& gpu, const Samples& samples, std::vector<OperatorRow>& rows) {
  for (const CollectiveSample& sample : samples.collectives) {
    OperatorRow row{fmt::format("collectives {}", hw::name(sample.op)),
                    std::string(hw::name(sample.implementation)),
                    fmt::format("gpus={} bytes={:.0f}", sample.gpus, sample.payload.value()),
                    sample.time,
                    {},
                    {}};
    const auto* curve = gpu.collective(sample.op, sample.implementation, sample.gpus);
    if (curve != nullptr)
      row.predicted = hw::collective(*curve, sample.payload);
    else if (gpu.collectives.empty() && hw::CollectivePricer::priced(gpu, sample.op, sample.gpus))
      row.predicted = hw::CollectivePricer(gpu, sample.op, sample.gpus)(sample.payload).time;
    else
      row.refused = fmt::format("{} has no curve of {} by {} over {} GPUs", gpu.name,
                                hw::name(sample.op), row.dtype, sample.gpus);
    rows.push_back(std::move(row));
  }
}

/// Calls over a chunk and decodes together, as a simulated step prices them.
void price_mixed(const hw::Gpu& gpu, const Samples& samples, std::vector<OperatorRow>& rows) {
  const hw::AttentionPricer pricer(gpu, hw::usual_prefill(gpu.generation),
                                   hw::DecodeKernel::flash_decoding, layer_heads(), 2);
  for (const MixedSample& call : samples.mixed) {
    if (call.chunk == 0 || call.decodes == 0) continue;
    const Seconds price = pricer.prefill(call.chunk, call.past).time +
                          pricer.mixed_decode(call.decodes, call.decodes * call.context).time;
    rows.push_back({"mixed_attention",
                    "bfloat16",
                    fmt::format("chunk={} past={} decodes={} context={}", call.chunk, call.past,
                                call.decodes, call.context),
                    call.time,
                    price,
                    {}});
  }
}

}  // namespace

std::vector<OperatorRow> price_operators(const hw::Gpu& gpu, const std::string& folder) {
  const Samples samples = read_samples(gpu, folder, Unknown::refused);
  std::vector<OperatorRow> rows;
  price_samples(gpu, samples, rows);
  price_mixed(gpu, samples, rows);
  price_collectives(gpu, samples, rows);
  for (const Refused& refused : samples.refused)
    rows.push_back(
        {refused.file, "", fmt::format("line {}", refused.line), refused.time, {}, refused.reason});
  return rows;
}

}  // namespace tokenline::calib
