#include "tools/validate/attention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "hwmodels/gpu.hpp"
#include "hwmodels/kernels/attention.hpp"
#include "tools/validate/columns.hpp"

namespace tokenline::validate {
namespace {

// FlashAttention-2, arXiv 2307.08691, section 4.1; FlashAttention-3, arXiv 2407.08608, section 4.1.
constexpr std::int64_t total_tokens = 16'384;
constexpr std::int64_t hidden_size = 2048;

/// One point of a chart.
struct Point {
  int line = 0;
  std::string hardware;
  std::string pass;
  std::string kernel;
  std::int64_t head_dim = 1;
  bool causal = false;
  std::int64_t seqlen = 1;
  double tflops = 0.0;

  [[nodiscard]] bool same_shape(const Point& other) const {
    return hardware == other.hardware && pass == other.pass && head_dim == other.head_dim &&
           causal == other.causal && seqlen == other.seqlen;
  }
};

constexpr config::Range<std::int64_t> head_widths{1, 256};  // Of every FlashAttention.

Point read(const config::TableRow& row) {
  static const std::vector<std::string> passes{"fwd", "bwd", "fwd+bwd"};
  Point p;
  p.line = row.line();
  p.hardware = row.word("hardware");
  p.pass = row.word("pass", passes);
  p.kernel = row.word("kernel");
  p.head_dim = row.integer("head_dim", head_widths);
  p.causal = row.integer("causal", {0, 1}) == 1;
  p.seqlen = row.integer("seqlen", {1, total_tokens});
  p.tflops = row.real("tflops_per_s", rates);
  return p;
}

/// Why a GPU is not known, or does not run a kernel; empty where it does.
std::string refusal(const Point& p, hw::PrefillKernel kernel) {
  const auto name = hw::catalog_name(p.hardware);
  if (!name) return fmt::format("GPU '{}' is not in the catalog", p.hardware);
  if (kernel == hw::PrefillKernel::fa3 && hw::load_gpu(*name).generation != hw::Generation::hopper)
    return fmt::format("FA3 needs the asynchronous instructions of Hopper; {} has none", *name);
  return "";
}

std::optional<hw::PrefillKernel> kernel_of(const std::string& name) {
  if (name == "standard") return hw::PrefillKernel::naive;
  if (name == "FA1") return hw::PrefillKernel::fa1;
  if (name == "FA2") return hw::PrefillKernel::fa2;
  if (name == "FA3") return hw::PrefillKernel::fa3;
  return std::nullopt;
}

double predicted_tflops(const hw::Gpu& gpu, hw::PrefillKernel kernel, const Point& p) {
  const std::int64_t heads = hidden_size / p.head_dim;
  const std::int64_t batch = total_tokens / p.seqlen;
  const hw::KernelCost cost =
      hw::prefill_attention(gpu, kernel, {.q = heads, .kv = heads, .dim = p.head_dim},
                            {.new_tokens = p.seqlen,
                             .past_tokens = 0,
                             .batch = batch,
                             .causal = p.causal,
                             .cache_update = false});
  const double length = static_cast<double>(p.seqlen);
  const double flops = 4.0 * length * length * static_cast<double>(p.head_dim * heads * batch) /
                       (p.causal ? 2.0 : 1.0);
  constexpr double tera = 1e12;
  return flops / cost.time.value() / tera;
}

std::string group_of(const Point& p) {
  return fmt::format("{} {} d={} {} {}", p.hardware, p.pass, p.head_dim,
                     p.causal ? "causal" : "full", p.kernel);
}

Row blank(const Point& p, std::string metric, std::string unit, double measured) {
  return {.group = group_of(p),
          .metric = std::move(metric),
          .unit = std::move(unit),
          .label = fmt::format("line {}: seqlen {}", p.line, p.seqlen),
          .measured = measured,
          .predicted = {},
          .refused = {}};
}

/// A forward pass: the speed itself.
Row speed(const Point& p) {
  Row row = blank(p, "tflops_per_s", "TFLOP/s", p.tflops);
  const auto kernel = kernel_of(p.kernel);
  row.refused = kernel ? refusal(p, *kernel) : fmt::format("kernel '{}' is not modelled", p.kernel);
  if (row.refused.empty()) row.predicted = predicted_tflops(hw::load_gpu(p.hardware), *kernel, p);
  return row;
}

/// A backward pass that stands in no ratio.
Row backward(const Point& p) {
  Row row = blank(p, "fa2_over_fa1", "", p.tflops);
  row.refused = p.kernel == "FA1"   ? "no FA2 row of the same shape"
                : p.kernel == "FA2" ? "no FA1 row of the same shape"
                                    : fmt::format("pass '{}' is not modelled", p.pass);
  return row;
}

/// The row of another kernel at the same shape, or null.
const Point* beside(const Point& p, std::string_view kernel, const std::vector<Point>& all) {
  const auto found = std::ranges::find_if(
      all, [&](const Point& other) { return other.kernel == kernel && other.same_shape(p); });
  return found == all.end() ? nullptr : &*found;
}

/// Forward and backward: how much faster FA2 is than FA1 at the same shape.
Row ratio(const Point& fa2, const std::vector<Point>& all) {
  const Point* fa1 = beside(fa2, "FA1", all);
  Row row = blank(fa2, "fa2_over_fa1", "", fa2.tflops / fa1->tflops);
  row.refused = refusal(fa2, hw::PrefillKernel::fa2);
  if (row.refused.empty()) {
    const hw::Gpu device = hw::load_gpu(fa2.hardware);
    row.predicted = predicted_tflops(device, hw::PrefillKernel::fa2, fa2) /
                    predicted_tflops(device, hw::PrefillKernel::fa1, fa2);
  }
  return row;
}

}  // namespace

Comparison compare_attention(const std::string& file) {
  config::Table table(
      file, {"hardware", "pass", "head_dim", "causal", "kernel", "seqlen", "tflops_per_s"});
  std::vector<Point> all;
  for (const config::TableRow& row : table.rows()) all.push_back(read(row));
  table.finish();
  Comparison comparison{.title = "Attention kernels: " + file, .rows = {}, .figures = {}};
  for (const Point& p : all) {
    if (p.pass == "fwd")
      comparison.rows.push_back(speed(p));
    else if (p.kernel == "FA2" && beside(p, "FA1", all) != nullptr)
      comparison.rows.push_back(ratio(p, all));
    else if (p.kernel != "FA1" || beside(p, "FA2", all) == nullptr)
      comparison.rows.push_back(backward(p));
  }
  return comparison;
}

}  // namespace tokenline::validate
