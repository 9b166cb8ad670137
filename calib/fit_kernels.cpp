#include "calib/fit_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "calib/fit.hpp"
#include "calib/table.hpp"
#include "hwmodels/kernels/all_reduce.hpp"
#include "hwmodels/kernels/attention.hpp"
#include "hwmodels/kernels/elementwise.hpp"
#include "hwmodels/kernels/gemm.hpp"

namespace tokenline::calib {
namespace {

using hw::Datasheet;
using hw::Gpu;

std::int64_t whole(double value) { return static_cast<std::int64_t>(value); }

/// To the four digits that catalogs hold.
double rounded(double value) { return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr); }

/// A fitted 1/efficiency as an efficiency; noise may ask for more than the hardware has.
double efficiency(double inverse) { return rounded(std::min(1.0, 1.0 / inverse)); }

Seconds duration(double seconds) { return Seconds(rounded(seconds * 1e6) * 1e-6); }

Gpu without_fits(const Datasheet& sheet) {
  Gpu gpu;
  static_cast<Datasheet&>(gpu) = sheet;
  return gpu;
}

struct Split {
  Rows fitted;
  Rows held_out;
};

/// Splits by the shape that `sizes` gives for a row.
template <class IsHeldOut>
Split split(const Rows& rows, IsHeldOut is_held_out) {
  Split out;
  for (const auto& row : rows) (is_held_out(row) ? out.held_out : out.fitted).push_back(row);
  return out;
}

std::vector<double> measured(const Rows& rows) {
  std::vector<double> seconds;
  for (const auto& row : rows) seconds.push_back(row.back() * 1e-6);
  return seconds;
}

/// The error of `predict(row)` on rows that end with microseconds.
template <class Predict>
hw::FitError error_on(const Rows& rows, Predict predict) {
  std::vector<double> predicted;
  for (const auto& row : rows) predicted.push_back(predict(row).value());
  return relative_error(predicted, measured(rows));
}

std::int64_t largest(const Rows& rows, std::size_t column) {
  double value = 0.0;
  for (const auto& row : rows) value = std::max(value, row[column]);
  return whole(value);
}

bool attention_held_out(const std::vector<double>& row) {
  return held_out({whole(row[0]), whole(row[1]), whole(row[2]), whole(row[3])});
}

hw::Heads heads_of(const std::vector<double>& row) {
  return {whole(row[1]), whole(row[2]), whole(row[0])};
}

hw::Prefill prefill_of(const std::vector<double>& row) {
  return {.new_tokens = whole(row[4]), .batch = whole(row[3])};
}

hw::Decode decode_of(const std::vector<double>& row) {
  return {whole(row[3]), whole(row[3]) * whole(row[4])};
}

}  // namespace

hw::GemmFit fit_gemm(const Datasheet& gpu, const std::string& path) {
  const Rows rows = read_table(path, {"m", "n", "k", "latency_us"}, {{"dtype", "bfloat16"}});
  const Split parts =
      split(rows, [](const auto& row) { return held_out({whole(row[1]), whole(row[2])}); });
  const auto shape = [](const auto& row) {
    return hw::GemmShape{whole(row[0]), whole(row[1]), whole(row[2])};
  };
  std::vector<double> compute;
  std::vector<double> memory;
  for (const auto& row : parts.fitted) {
    compute.push_back(hw::gemm_tile_time(gpu, shape(row)).value());
    memory.push_back((hw::gemm_bytes(shape(row)) / gpu.bandwidth).value());
  }
  const auto x =
      fit_relative(measured(parts.fitted), {3e-6, 1.2, 1.2},
                   [&](std::size_t i, std::span<const double> at, std::span<double> out) {
                     const bool compute_bound = compute[i] * at[1] > memory[i] * at[2];
                     out[0] = 1.0;
                     out[1] = compute_bound ? compute[i] : 0.0;
                     out[2] = compute_bound ? 0.0 : memory[i];
                   });
  Gpu fitted = without_fits(gpu);
  fitted.gemm = {.launch = duration(x[0]),
                 .compute_efficiency = efficiency(x[1]),
                 .memory_efficiency = efficiency(x[2]),
                 .error = {},
                 .max_tokens = largest(rows, 0),
                 .max_width = std::max(largest(rows, 1), largest(rows, 2))};
  fitted.gemm.error =
      error_on(parts.held_out, [&](const auto& row) { return hw::gemm(fitted, shape(row)).time; });
  return fitted.gemm;
}

hw::PrefillFit fit_prefill(const Datasheet& gpu, const std::string& path) {
  const Rows rows =
      read_table(path, {"head_dim", "q_heads", "kv_heads", "batch", "q_len", "latency_us"},
                 {{"dtype", "bfloat16"}, {"kv_dtype", "bfloat16"}});
  const Split parts = split(rows, attention_held_out);
  const bool hopper = gpu.generation == hw::Generation::hopper;
  const auto kernel = hopper ? hw::PrefillKernel::fa3 : hw::PrefillKernel::fa2;
  std::vector<hw::PrefillTerms> terms;
  for (const auto& row : parts.fitted)
    terms.push_back(hw::prefill_terms(gpu, kernel, heads_of(row), prefill_of(row)));
  const auto x = fit_relative(measured(parts.fitted), {1e-5, 1e-6, 1.5, 1.2},
                              [&](std::size_t i, std::span<const double>, std::span<double> out) {
                                out[0] = 1.0;
                                out[1] = terms[i].blocks / static_cast<double>(gpu.sms);
                                out[2] = terms[i].compute.value();
                                out[3] = (terms[i].bytes / gpu.bandwidth).value();
                              });
  Gpu fitted = without_fits(gpu);
  fitted.prefill_attention = {.measured = kernel,
                              .launch = duration(x[0]),
                              .block_overhead = duration(x[1]),
                              .compute_efficiency = efficiency(x[2]),
                              .memory_efficiency = efficiency(x[3]),
                              .error = {},
                              .max_length = largest(rows, 4)};
  fitted.prefill_attention.error = error_on(parts.held_out, [&](const auto& row) {
    return hw::prefill_attention(fitted, kernel, heads_of(row), prefill_of(row)).time;
  });
  return fitted.prefill_attention;
}

hw::DecodeFit fit_decode(const Datasheet& gpu, const hw::PrefillFit& prefill,
                         const std::string& path) {
  Rows rows =
      read_table(path, {"head_dim", "q_heads", "kv_heads", "batch", "context_len", "latency_us"},
                 {{"dtype", "bfloat16"}, {"kv_dtype", "bfloat16"}});
  if (gpu.generation != hw::Generation::hopper)
    std::erase_if(rows, [](const auto& row) { return row[1] <= row[2]; });
  const Split parts = split(rows, attention_held_out);
  constexpr auto kernel = hw::DecodeKernel::flash_decoding;
  std::vector<hw::DecodeTerms> terms;
  for (const auto& row : parts.fitted)
    terms.push_back(hw::decode_terms(gpu, kernel, heads_of(row), decode_of(row)));
  const auto x =
      fit_relative(measured(parts.fitted), {1e-5, 3e-6, 1.2},
                   [&](std::size_t i, std::span<const double> at, std::span<double> out) {
                     const double blocks = terms[i].blocks / static_cast<double>(gpu.sms);
                     const double memory = (terms[i].bytes / gpu.bandwidth).value();
                     const bool block_bound = blocks * at[1] > memory * at[2];
                     out[0] = 1.0;
                     out[1] = block_bound ? blocks : 0.0;
                     out[2] = block_bound ? 0.0 : memory;
                   });
  Gpu fitted = without_fits(gpu);
  fitted.prefill_attention = prefill;
  fitted.decode_attention = {.launch = duration(x[0]),
                             .block_overhead = duration(x[1]),
                             .memory_efficiency = efficiency(x[2]),
                             .error = {},
                             .max_context = largest(rows, 4),
                             .max_batch = largest(rows, 3)};
  fitted.decode_attention.error = error_on(parts.held_out, [&](const auto& row) {
    return hw::decode_attention(fitted, kernel, heads_of(row), decode_of(row)).time;
  });
  return fitted.decode_attention;
}

hw::ElementwiseFit fit_elementwise(const Datasheet& gpu, const std::string& path) {
  const Rows rows = read_table(path, {"bytes_per_token", "tokens", "latency_us"});
  const Split parts =
      split(rows, [](const auto& row) { return held_out({whole(row[0]), whole(row[1])}); });
  const auto bytes = [](const auto& row) { return Bytes(row[0] * row[1]); };
  const auto x = fit_relative(measured(parts.fitted), {5e-6, 1.5},
                              [&](std::size_t i, std::span<const double>, std::span<double> out) {
                                out[0] = 1.0;
                                out[1] = (bytes(parts.fitted[i]) / gpu.bandwidth).value();
                              });
  Gpu fitted = without_fits(gpu);
  fitted.elementwise = {.launch = duration(x[0]),
                        .memory_efficiency = efficiency(x[1]),
                        .error = {},
                        .max_tokens = largest(rows, 1)};
  fitted.elementwise.error = error_on(
      parts.held_out, [&](const auto& row) { return hw::elementwise(fitted, bytes(row)).time; });
  return fitted.elementwise;
}

std::vector<hw::AllReduceCurve> read_all_reduce(const std::string& path) {
  const Rows rows = read_table(path, {"gpus", "bytes", "latency_us"},
                               {{"impl", "vllm_graph"}, {"op", "all_reduce"}});
  std::map<std::int64_t, std::map<double, double>> by_ranks;
  for (const auto& row : rows) by_ranks[whole(row[0])][row[1]] = row[2] * 1e-6;
  std::vector<hw::AllReduceCurve> curves;
  for (const auto& [gpus, points] : by_ranks) {
    hw::AllReduceCurve curve{.gpus = gpus, .points = {}, .error = {}};
    for (const auto& [payload, time] : points)
      curve.points.push_back({Bytes(payload), duration(time)});
    for (std::size_t i = curve.points.size() - 1; i > 0; --i)
      curve.points[i - 1].time = std::min(curve.points[i - 1].time, curve.points[i].time);
    std::vector<double> predicted;
    std::vector<double> actual;
    for (std::size_t i = 1; i + 1 < curve.points.size(); ++i) {
      hw::AllReduceCurve rest = curve;
      rest.points.erase(rest.points.begin() + static_cast<std::ptrdiff_t>(i));
      predicted.push_back(hw::all_reduce(rest, curve.points[i].payload).value());
      actual.push_back(points.at(curve.points[i].payload.value()));
    }
    curve.error = relative_error(predicted, actual);
    curves.push_back(std::move(curve));
  }
  return curves;
}

}  // namespace tokenline::calib
