// The strict reader of datasheets and catalog entries.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <utility>

#include "hwmodels/gpu.hpp"
#include "hwmodels/kernels/fitted_kernel.hpp"
#include "hwmodels/usual_fits.hpp"
#include "sim/config/reader.hpp"

namespace tokenline::hw {
namespace {

using config::Range;
using config::Reader;

constexpr Range<double> share{1e-3, 1.0};
constexpr Range<double> peak{1e12, 1e17};
constexpr Range<double> call{0.0, 1.0};  ///< Seconds.
constexpr Range<double> relative_error{0.0, 100.0};
constexpr Range<double> payload{1.0, 1e13};
constexpr Range<double> microseconds{1e-3, 1e9};

constexpr std::array generations{"ampere", "ada", "hopper", "blackwell"};
using enum models::CollectiveOp;
constexpr std::array operations{all_reduce, all_gather, reduce_scatter, all_to_all, send_recv};
using enum CollectiveImplementation;
constexpr std::array reduce_implementations{vllm_graph, vllm_eager, nccl};

/// The enumerator of a word among `words`, which a mistake leaves at the first.
template <class Enum>
Enum read_name(Reader& reader, config::Key key, const std::vector<std::string>& words) {
  const auto found = std::ranges::find(words, reader.word(key, words));
  return found == words.end() ? Enum{} : static_cast<Enum>(found - words.begin());
}

template <class Enum, std::size_t size>
std::vector<std::string> names_of(const std::array<Enum, size>& values) {
  std::vector<std::string> words;
  for (const Enum value : values) words.emplace_back(name(value));
  return words;
}

void read_power(Reader& reader, Datasheet& sheet) {
  constexpr Range<double> watts{0.0, 1e5};
  const std::size_t before = reader.document().mistakes();
  sheet.power_limit = reader.power(
      {"power_limit", "TDP of the board; without it no energy is computed"}, watts, "0 W");
  sheet.idle_power = reader.power(
      {"idle_power", "Draw of a board that serves nothing", "a usual share of the limit"}, watts,
      "0 W");
  sheet.memory_power =
      reader.power({"memory_power", "Draw at full memory bandwidth", "a usual share of the limit"},
                   watts, "0 W");
  if (reader.document().mistakes() != before) return;
  for (const auto& [key, draw] :
       {std::pair{"idle_power", sheet.idle_power}, std::pair{"memory_power", sheet.memory_power}})
    if (draw > sheet.power_limit) reader.error(key, "exceeds power_limit");
  if (sheet.memory_power.value() > 0.0 && sheet.memory_power <= sheet.idle_power)
    reader.error("memory_power", "does not exceed idle_power");
}

Datasheet read_datasheet(Reader& reader) {
  Datasheet sheet;
  sheet.description = reader.text({"description", "Full name of the product"});
  sheet.also_called = reader.texts({"also_called", "Names in published tables"}, true);
  sheet.generation = read_name<Generation>(reader, {"generation", "Decides which kernels exist"},
                                           {generations.begin(), generations.end()});
  sheet.memory = reader.bytes({"memory", "HBM as CUDA reports it"}, {1e9, 1e13});
  sheet.bandwidth = reader.bandwidth({"bandwidth", "HBM bandwidth"}, {1e10, 1e14});
  sheet.peak_16bit = reader.flop_rate({"peak_16bit", "Dense fp16/bf16 tensor peak"}, peak);
  sheet.peak_8bit = reader.flop_rate({"peak_8bit", "Dense fp8 tensor peak; 0 without fp8 units"},
                                     {0.0, peak.max}, "0 FLOP/s");
  if (sheet.peak_8bit.value() > 0.0 && sheet.peak_8bit < sheet.peak_16bit)
    reader.error("peak_8bit", "is less than peak_16bit; leave it out where there are no fp8 units");
  sheet.peak_vector =
      reader.flop_rate({"peak_vector", "fp32 peak of the CUDA cores"}, {1e11, 1e16});
  sheet.sms = reader.integer({"sms", "Streaming multiprocessors"}, {4, 1'000});
  sheet.clock = reader.rate({"clock", "Boost clock at which peak_16bit is stated"}, {1e8, 1e10});
  sheet.shared_memory_per_sm =
      reader.bytes({"shared_memory_per_sm", "Shared memory of one SM"}, {16e3, 16e6});
  sheet.exponentials_per_clock =
      reader.real({"exponentials_per_clock", "Exponentials per clock and SM"}, {1.0, 1e3});
  sheet.synchronous_mma_share = reader.real(
      {"synchronous_mma_share", "Share of peak_16bit that mma.sync reaches"}, {0.05, 1.0});
  sheet.gpus_per_node = reader.integer({"gpus_per_node", "GPUs of a usual node"}, {1, 1'000});
  sheet.interconnect = reader.bandwidth(
      {"interconnect", "NVLink or PCIe of one GPU, each direction"}, {0.0, 1e14}, "0 B/s");
  if (sheet.interconnect.value() > 0.0 && sheet.interconnect.value() < 1e8)
    reader.error("interconnect", "is below 100 MB/s; leave it out where there is none");
  read_power(reader, sheet);
  return sheet;
}

FitError read_error(Reader& reader, config::Key median, config::Key p90) {
  const FitError error{reader.real(median, relative_error), reader.real(p90, relative_error)};
  if (error.p90 < error.median)
    reader.error(p90.name,
                 fmt::format("is below {}: {} < {}", median.name, error.p90, error.median));
  return error;
}

/// The line of a grid's text in its file: a block `grid: |` begins on the next.
config::Location line_of(const Reader& fit, std::size_t line) {
  config::Location where = fit.where("grid");
  where.line += static_cast<int>(line);
  where.column = 1;
  return where;
}

std::vector<std::string> names_of(const std::vector<GridAxis>& axes) {
  std::vector<std::string> names;
  for (const GridAxis& axis : axes) names.push_back(axis.name);
  return names;
}

std::shared_ptr<const ResidualGrid> read_grid(Reader& fit, Kernel kernel) {
  const auto text = fit.optional_text({"grid", "Measured over fitted time, in thousandths"});
  if (!text) return nullptr;
  const auto refuse = [&](std::size_t line, const std::string& message) {
    fit.document().error(line_of(fit, line), fit.path() + ".grid", message);
  };
  try {
    auto grid = std::make_shared<const ResidualGrid>(ResidualGrid::from_text(*text));
    if (grid->shape_names() != shape_names(kernel))
      refuse(1, fmt::format("the sizes of a shape of {} are: {}", name(kernel),
                            fmt::join(shape_names(kernel), " ")));
    if (names_of(grid->axes()) != axis_names(kernel))
      refuse(2, fmt::format("the axes of {} are: {}", name(kernel),
                            fmt::join(axis_names(kernel), ", ")));
    return grid;
  } catch (const GridTextError& e) {
    refuse(e.line(), e.what());
    return nullptr;
  }
}

KernelFit read_fit(Reader& reader, Kernel kernel) {
  KernelFit fit;
  fit.launch = reader.seconds({"launch", "Time of a call that does nothing"}, call);
  fit.block_overhead =
      reader.seconds({"block_overhead", "Time of a thread block beyond its tiles"}, call, "0 us");
  fit.compute_efficiency =
      reader.real({"compute_efficiency", "Share of the rate of the tile model"}, share, 1.0);
  fit.memory_efficiency = reader.real({"memory_efficiency", "Share of HBM bandwidth"}, share, 1.0);
  fit.apart_efficiency = reader.real(
      {"apart_efficiency", "The same of a kernel that runs before or after"}, share, 1.0);
  fit.roofline_error =
      read_error(reader, {"roofline_median_error", "Median relative error of these constants"},
                 {"roofline_p90_error", "90th percentile of it"});
  fit.error = read_error(reader, {"median_error", "The same with the grid, on shapes held out"},
                         {"p90_error", "90th percentile of it"});
  fit.grid = read_grid(reader, kernel);
  reader.finish();
  return fit;
}

/// The measured fits of one kernel.
KernelFits read_fits(Reader& gpu, Kernel kernel, std::string_view doc) {
  const std::string_view section = name(kernel);
  const std::vector<std::string> known = variants(kernel);
  const config::Node* node = gpu.document().root().find(section);
  KernelFits fits;
  std::size_t entry = 0;
  for (auto& [variant, reader] : gpu.named_sections({section, doc}, /*optional=*/true)) {
    if (std::ranges::find(known, variant) == known.end())
      gpu.document().error(node->entries.at(entry).where, fmt::format("{}.{}", section, variant),
                           fmt::format("{} is not priced by '{}'", section, variant),
                           config::suggestion(variant, known));
    fits.emplace(variant, read_fit(reader, kernel));
    ++entry;
  }
  return fits;
}

/// The precision that a fit is of, the first word of its name.
std::string_view precision_of(std::string_view variant) {
  return variant.substr(0, variant.find(' '));
}

/// A kernel of a precision that was not measured: the constants of the next wider one on this GPU,
/// with the provenance and the errors of the usual constants. Of its grid nothing, but between fp8
/// and fp8_block: they move the same bytes at the same peak, and differ in their scales.
void add_unmeasured(KernelFits& fits, const KernelFit& usual, std::string_view precision,
                    const std::vector<std::string_view>& wider) {
  const auto measured = [&](std::string_view wanted) {
    return std::ranges::find_if(
        fits, [&](const auto& entry) { return precision_of(entry.first) == wanted; });
  };
  if (measured(precision) != fits.end()) return;
  for (const std::string_view other : wider) {
    const auto near = measured(other);
    if (near == fits.end()) continue;
    KernelFit fit = near->second;
    fit.from_datasheet = true;
    if (other != "fp8") fit.grid = nullptr;
    fit.roofline_error = fit.error = usual.error;
    fits.emplace(fmt::format("usual {}", precision), std::move(fit));
    return;
  }
}

/// The same with what such kernels usually reach, for what was not measured.
KernelFits read_fits(Reader& gpu, Kernel kernel, std::string_view doc, const KernelFit& usual) {
  KernelFits fits = read_fits(gpu, kernel, doc);
  // Latent attention and streaming kernels are not named by the precision that they compute with.
  if (kernel != Kernel::mla_prefill && kernel != Kernel::mla_decode &&
      kernel != Kernel::elementwise) {
    add_unmeasured(fits, usual, "fp8_block", {"fp8", "bfloat16"});
    add_unmeasured(fits, usual, "fp8", {"bfloat16"});
    add_unmeasured(fits, usual, "mxfp4", {"bfloat16"});
  }
  fits.emplace("usual", usual);
  return fits;
}

void read_points(Reader& reader, CollectiveCurve& curve) {
  const auto payloads = reader.reals({"payload_bytes", "Bytes per rank, ascending"}, payload);
  const auto times = reader.reals({"time_us", "Microseconds, never falling"}, microseconds);
  if (payloads.size() < 2 || payloads.size() != times.size()) {
    reader.error("time_us", fmt::format("{} times for {} payloads; at least two of each",
                                        times.size(), payloads.size()));
    return;
  }
  for (std::size_t i = 0; i < payloads.size(); ++i)
    curve.points.push_back({Bytes(payloads[i]), Seconds(times[i] * 1e-6)});
  const auto falls = [](const CollectiveCurve::Point& a, const CollectiveCurve::Point& b) {
    return a.payload >= b.payload || a.time > b.time;
  };
  if (std::ranges::adjacent_find(curve.points, falls) != curve.points.end())
    reader.error("payload_bytes", "payloads must rise and times must not fall");
}

CollectiveCurve read_curve(Reader& reader) {
  CollectiveCurve curve;
  curve.op = read_name<models::CollectiveOp>(reader, {"op", "The operation"}, names_of(operations));
  curve.implementation = read_name<CollectiveImplementation>(
      reader, {"implementation", "What ran it"}, names_of(reduce_implementations));
  curve.gpus = reader.integer({"gpus", "Ranks"}, {2, 1'000});
  read_points(reader, curve);
  curve.error = read_error(reader, {"median_error", "Median relative error of a point left out"},
                           {"p90_error", "90th percentile of it"});
  reader.finish();
  return curve;
}

std::vector<CollectiveCurve> read_curves(Reader& gpu) {
  std::vector<CollectiveCurve> curves;
  std::set<std::tuple<models::CollectiveOp, CollectiveImplementation, std::int64_t>> seen;
  for (Reader& item : gpu.items({"collectives", "Measured curves"}, /*optional=*/true)) {
    const std::size_t before = item.document().mistakes();
    curves.push_back(read_curve(item));
    const CollectiveCurve& curve = curves.back();
    if (item.document().mistakes() == before &&
        !seen.insert({curve.op, curve.implementation, curve.gpus}).second)
      item.error("op", fmt::format("a second curve of {} by {} over {} GPUs", name(curve.op),
                                   name(curve.implementation), curve.gpus));
  }
  return curves;
}

}  // namespace

Datasheet parse_datasheet(const std::string& file, std::string_view yaml) {
  config::Document document(config::parse_yaml(file, yaml));
  Reader reader(document);
  Datasheet sheet = read_datasheet(reader);
  reader.finish();
  document.throw_if_errors();
  return sheet;
}

Gpu parse_gpu(const std::string& file, std::string_view yaml) {
  config::Document document(config::parse_yaml(file, yaml));
  Reader reader(document);
  Gpu gpu;
  gpu.name = reader.text({"name", "Name in scenarios"});
  static_cast<Datasheet&>(gpu) = read_datasheet(reader);
  gpu.gemm = read_fits(reader, Kernel::gemm, "Matrix products by precision", usual_gemm());
  gpu.prefill_attention = read_fits(reader, Kernel::prefill_attention,
                                    "Fused attention over prompts", usual_prefill_attention());
  gpu.decode_attention = read_fits(reader, Kernel::decode_attention,
                                   "Attention split over contexts", usual_decode_attention());
  gpu.experts = read_fits(reader, Kernel::experts, "Routed experts", usual_experts());
  gpu.mla_prefill = read_fits(reader, Kernel::mla_prefill, "Latent attention", usual_mla_prefill());
  gpu.mla_decode =
      read_fits(reader, Kernel::mla_decode, "Latent attention, absorbed", usual_mla_decode());
  gpu.elementwise =
      read_fits(reader, Kernel::elementwise, "Streaming kernels by name", usual_elementwise());
  gpu.chunked_prefill = read_fits(reader, Kernel::chunked_prefill, "Prompts after KV in the cache");
  gpu.mixed_decode = read_fits(reader, Kernel::mixed_decode, "Decodes beside chunks");
  gpu.collectives = read_curves(reader);
  reader.finish();
  document.throw_if_errors();
  return gpu;
}

}  // namespace tokenline::hw
