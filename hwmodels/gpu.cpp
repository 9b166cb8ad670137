#include "hwmodels/gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <stdexcept>

#include "hwmodels/catalog.hpp"
#include "hwmodels/usual_fits.hpp"
#include "sim/base/check.hpp"
#include "sim/config/reader.hpp"

namespace tokenline::hw {
namespace {

using config::Range;
using config::Reader;

constexpr Range<double> positive{1e-30, 1e30};
constexpr Range<double> not_negative{0.0, 1e30};
constexpr Range<double> share{1e-3, 1.0};
constexpr std::array<std::string_view, 4> prefill_kernels{"naive", "fa1", "fa2", "fa3"};

constexpr std::array<std::string_view, 5> collective_ops{
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_recv"};
constexpr std::array<std::string_view, 3> implementations{"vllm_graph", "vllm_eager", "nccl"};

/// The enumerator of a word among `names`, which a mistake leaves at the first.
template <class Enum, std::size_t size>
Enum read_name(Reader& reader, config::Key key, const std::array<std::string_view, size>& names) {
  const std::vector<std::string> words(names.begin(), names.end());
  const auto found = std::ranges::find(words, reader.word(key, words));
  return found == words.end() ? Enum{} : static_cast<Enum>(found - words.begin());
}

Datasheet read_datasheet(Reader& reader) {
  Datasheet sheet;
  sheet.description = reader.text({"description", "Full name of the product"});
  sheet.also_called = reader.texts({"also_called", "Names in published tables"}, true);
  constexpr std::array<std::string_view, 4> generations{"ampere", "ada", "hopper", "blackwell"};
  sheet.generation =
      read_name<Generation>(reader, {"generation", "Decides which kernels exist"}, generations);
  sheet.memory = reader.bytes({"memory", "HBM as CUDA reports it"}, positive);
  sheet.bandwidth = reader.bandwidth({"bandwidth", "HBM bandwidth"}, positive);
  sheet.peak_16bit = reader.flop_rate({"peak_16bit", "Dense fp16/bf16 tensor peak"}, positive);
  sheet.peak_8bit = reader.flop_rate({"peak_8bit", "Dense fp8 tensor peak; 0 without fp8 units"},
                                     not_negative, "0 FLOP/s");
  sheet.peak_vector = reader.flop_rate({"peak_vector", "fp32 peak of the CUDA cores"}, positive);
  sheet.sms = reader.integer({"sms", "Streaming multiprocessors"}, {1, 10'000});
  sheet.clock = reader.rate({"clock", "Boost clock at which peak_16bit is stated"}, positive);
  sheet.shared_memory_per_sm =
      reader.bytes({"shared_memory_per_sm", "Shared memory of one SM"}, positive);
  sheet.exponentials_per_clock =
      reader.real({"exponentials_per_clock", "Exponentials per clock and SM"}, {1e-3, 1e6});
  sheet.synchronous_mma_share =
      reader.real({"synchronous_mma_share", "Share of peak_16bit that mma.sync reaches"}, share);
  sheet.gpus_per_node = reader.integer({"gpus_per_node", "GPUs of a usual node"}, {1, 1'000});
  sheet.interconnect = reader.bandwidth(
      {"interconnect", "NVLink or PCIe of one GPU, each direction"}, not_negative, "0 B/s");
  return sheet;
}

std::shared_ptr<const ResidualGrid> read_grid(Reader& reader) {
  const auto text = reader.optional_text({"grid", "Measured over fitted time, in thousandths"});
  if (!text) return nullptr;
  try {
    return std::make_shared<const ResidualGrid>(ResidualGrid::from_text(*text));
  } catch (const std::invalid_argument& e) {
    reader.error("grid", e.what());
    return nullptr;
  }
}

KernelFit read_fit(Reader& reader) {
  KernelFit fit;
  fit.launch = reader.seconds({"launch", "Time of a call that does nothing"}, not_negative);
  fit.block_overhead = reader.seconds({"block_overhead", "Time of a thread block beyond its tiles"},
                                      not_negative, "0 us");
  fit.compute_efficiency =
      reader.real({"compute_efficiency", "Share of the rate of the tile model"}, share, 1.0);
  fit.memory_efficiency = reader.real({"memory_efficiency", "Share of HBM bandwidth"}, share, 1.0);
  fit.apart_efficiency = reader.real(
      {"apart_efficiency", "The same of a kernel that runs before or after"}, share, 1.0);
  fit.roofline_error = {
      reader.real({"roofline_median_error", "Median relative error of these constants"},
                  not_negative),
      reader.real({"roofline_p90_error", "90th percentile of it"}, not_negative)};
  fit.error = {
      reader.real({"median_error", "The same with the grid, on shapes held out"}, not_negative),
      reader.real({"p90_error", "90th percentile of it"}, not_negative)};
  fit.grid = read_grid(reader);
  reader.finish();
  return fit;
}

/// The fits of one kernel. Where nothing was measured, what such kernels usually reach.
KernelFits read_fits(Reader& gpu, config::Key key, const KernelFit& usual) {
  KernelFits fits;
  for (auto& [name, reader] : gpu.named_sections(key, /*optional=*/true))
    fits.emplace(name, read_fit(reader));
  if (fits.empty()) fits.emplace("usual", usual);
  return fits;
}

CollectiveCurve read_curve(Reader reader) {
  CollectiveCurve curve;
  curve.op = read_name<models::CollectiveOp>(reader, {"op", "The operation"}, collective_ops);
  curve.implementation = read_name<CollectiveImplementation>(
      reader, {"implementation", "What ran it"}, implementations);
  curve.gpus = reader.integer({"gpus", "Ranks"}, {2, 1'000});
  const auto payloads = reader.reals({"payload_bytes", "Bytes per rank, ascending"}, positive);
  const auto times = reader.reals({"time_us", "Microseconds, never falling"}, positive);
  curve.error = {
      reader.real({"median_error", "Median relative error of a point left out"}, not_negative),
      reader.real({"p90_error", "90th percentile of it"}, not_negative)};
  if (payloads.size() < 2 || payloads.size() != times.size()) {
    reader.error("time_us", fmt::format("{} times for {} payloads; at least two of each",
                                        times.size(), payloads.size()));
  } else {
    for (std::size_t i = 0; i < payloads.size(); ++i)
      curve.points.push_back({Bytes(payloads[i]), Seconds(times[i] * 1e-6)});
    const auto rises = [](const CollectiveCurve::Point& a, const CollectiveCurve::Point& b) {
      return a.payload >= b.payload || a.time > b.time;
    };
    if (std::ranges::adjacent_find(curve.points, rises) != curve.points.end())
      reader.error("payload_bytes", "payloads must rise and times must not fall");
  }
  reader.finish();
  return curve;
}

/// Built-in entries, each parsed once: their grids are large.
const Gpu& built_in(const CatalogFile& file) {
  static std::mutex mutex;
  static std::map<std::string_view, Gpu> parsed;
  const std::scoped_lock lock(mutex);
  const auto found = parsed.find(file.name);
  if (found != parsed.end()) return found->second;
  return parsed.emplace(file.name, parse_gpu(fmt::format("{}.yaml", file.name), file.yaml))
      .first->second;
}

const CatalogFile* find_built_in(std::string_view name) {
  const auto found = std::ranges::find(catalog(), name, &CatalogFile::name);
  if (found != catalog().end()) return &*found;
  for (const CatalogFile& file : catalog())
    if (std::ranges::find(built_in(file).also_called, name) != built_in(file).also_called.end())
      return &file;
  return nullptr;
}

}  // namespace

bool Gpu::calibrated() const {
  if (!collectives.empty()) return true;
  const std::array<const KernelFits*, 9> all{
      &gemm,    &prefill_attention, &decode_attention, &chunked_prefill, &mixed_decode,
      &experts, &mla_prefill,       &mla_decode,       &elementwise};
  return std::ranges::any_of(all, [](const KernelFits* fits) {
    return std::ranges::any_of(*fits, [](const auto& fit) { return !fit.second.from_datasheet; });
  });
}

const CollectiveCurve* Gpu::collective(models::CollectiveOp op,
                                       CollectiveImplementation implementation,
                                       std::int64_t gpus) const {
  const auto found = std::ranges::find_if(collectives, [&](const CollectiveCurve& curve) {
    return curve.op == op && curve.implementation == implementation && curve.gpus == gpus;
  });
  return found == collectives.end() ? nullptr : &*found;
}

FlopsPerSecond Datasheet::peak(models::Precision precision) const {
  const bool narrow =
      precision == models::Precision::fp8 || precision == models::Precision::fp8_block;
  return narrow && peak_8bit.value() > 0.0 ? peak_8bit : peak_16bit;
}

const KernelFit& fit_of(const KernelFits& fits, std::string_view key) {
  if (const auto exact = fits.find(key); exact != fits.end()) return exact->second;
  const std::size_t space = key.find(' ');
  const std::string_view precision = key.substr(0, space);
  // The same precision under another load, else the next wider precision under any.
  std::vector<std::string_view> kinds{precision};
  if (precision == "fp8_block") kinds.emplace_back("fp8");
  kinds.emplace_back("bfloat16");
  for (const std::string_view kind : kinds)
    for (const auto& [name, fit] : fits)
      if (std::string_view(name).substr(0, name.find(' ')) == kind) return fit;
  if (const auto other = fits.find("other"); other != fits.end()) return other->second;
  TOKENLINE_CHECK(!fits.empty(), "no fit for '{}'", key);
  return fits.begin()->second;
}

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
  gpu.gemm = read_fits(reader, {"gemm", "Matrix products by precision"}, usual_gemm());
  gpu.prefill_attention = read_fits(reader, {"prefill_attention", "Fused attention over prompts"},
                                    usual_prefill_attention());
  gpu.decode_attention = read_fits(reader, {"decode_attention", "Attention split over contexts"},
                                   usual_decode_attention());
  gpu.experts = read_fits(reader, {"experts", "Routed experts"}, usual_experts());
  gpu.mla_prefill = read_fits(reader, {"mla_prefill", "Latent attention"}, usual_mla_prefill());
  gpu.mla_decode =
      read_fits(reader, {"mla_decode", "Latent attention, absorbed"}, usual_mla_decode());
  gpu.elementwise =
      read_fits(reader, {"elementwise", "Streaming kernels by name"}, usual_elementwise());
  for (auto& [name, fit] :
       reader.named_sections({"chunked_prefill", "Prompts after KV in the cache"}, true))
    gpu.chunked_prefill.emplace(name, read_fit(fit));
  for (auto& [name, fit] : reader.named_sections({"mixed_decode", "Decodes beside chunks"}, true))
    gpu.mixed_decode.emplace(name, read_fit(fit));
  for (const Reader& item : reader.items({"collectives", "Measured curves"}, /*optional=*/true))
    gpu.collectives.push_back(read_curve(item));
  reader.finish();
  document.throw_if_errors();
  return gpu;
}

std::vector<std::string> gpu_names() {
  std::vector<std::string> names;
  for (const CatalogFile& file : catalog()) names.emplace_back(file.name);
  std::ranges::sort(names);
  return names;
}

std::optional<std::string> catalog_name(std::string_view name) {
  const CatalogFile* file = find_built_in(name);
  if (file == nullptr) return std::nullopt;
  return std::string(file->name);
}

Gpu load_gpu(const std::string& name_or_path) {
  if (name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".yaml"))
    return parse_gpu(name_or_path, config::read_file(name_or_path));
  const CatalogFile* file = find_built_in(name_or_path);
  if (file == nullptr) {
    throw config::ConfigError(config::Diagnostic{
        {name_or_path, 1, 1},
        "gpu",
        fmt::format("no built-in GPU is called '{}'", name_or_path),
        config::suggestion(name_or_path, gpu_names()) + "; or the path of a catalog file"});
  }
  return built_in(*file);
}

std::string_view name(models::CollectiveOp op) {
  return collective_ops.at(static_cast<std::size_t>(op));
}

std::string_view name(CollectiveImplementation implementation) {
  return implementations.at(static_cast<std::size_t>(implementation));
}

std::string_view name(PrefillKernel kernel) {
  return prefill_kernels[static_cast<std::size_t>(kernel)];
}

}  // namespace tokenline::hw
