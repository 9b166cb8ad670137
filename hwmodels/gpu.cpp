#include "hwmodels/gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "hwmodels/catalog.hpp"
#include "sim/config/reader.hpp"

namespace tokenline::hw {
namespace {

using config::Range;
using config::Reader;

constexpr Range<double> positive{1e-30, 1e30};
constexpr Range<double> not_negative{0.0, 1e30};
constexpr Range<double> share{1e-3, 1.0};
constexpr Range<std::int64_t> count{1, 1'000'000'000};
constexpr std::array<std::string_view, 4> prefill_kernels{"naive", "fa1", "fa2", "fa3"};

Generation read_generation(Reader& reader) {
  const std::array<std::string, 4> words{"ampere", "ada", "hopper", "blackwell"};
  const std::string word = reader.word({"generation", "Decides which kernels exist"}, words);
  const auto* const found = std::ranges::find(words, word);
  return found == words.end() ? Generation::ampere : static_cast<Generation>(found - words.begin());
}

Datasheet read_datasheet(Reader& reader) {
  Datasheet sheet;
  sheet.description = reader.text({"description", "Full name of the product"});
  sheet.generation = read_generation(reader);
  sheet.memory = reader.bytes({"memory", "HBM as the driver reports it"}, positive);
  sheet.bandwidth = reader.bandwidth({"bandwidth", "HBM bandwidth"}, positive);
  sheet.peak_16bit = reader.flop_rate({"peak_16bit", "Dense fp16/bf16 tensor peak"}, positive);
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
  return sheet;
}

FitError read_error(Reader& reader) {
  return {reader.real({"median_error", "Median relative error, held-out rows"}, not_negative),
          reader.real({"p90_error", "90th percentile of the relative error"}, not_negative)};
}

Seconds read_launch(Reader& reader) {
  return reader.seconds({"launch", "Time of a call that does nothing"}, not_negative);
}

Seconds read_block_overhead(Reader& reader) {
  return reader.seconds({"block_overhead", "Time of a thread block beyond its tiles"},
                        not_negative);
}

double read_compute_efficiency(Reader& reader) {
  return reader.real({"compute_efficiency", "Share of the tile model's rate"}, share);
}

double read_memory_efficiency(Reader& reader) {
  return reader.real({"memory_efficiency", "Share of HBM bandwidth"}, share);
}

GemmFit read_gemm(Reader reader) {
  GemmFit fit;
  fit.launch = read_launch(reader);
  fit.compute_efficiency = read_compute_efficiency(reader);
  fit.memory_efficiency = read_memory_efficiency(reader);
  fit.error = read_error(reader);
  fit.max_tokens = reader.integer({"max_tokens", "Largest m measured"}, count);
  fit.max_width = reader.integer({"max_width", "Largest n and k measured"}, count);
  reader.finish();
  return fit;
}

PrefillFit read_prefill(Reader reader) {
  PrefillFit fit;
  const std::vector<std::string> words(prefill_kernels.begin(), prefill_kernels.end());
  const std::string word = reader.word({"kernel", "The kernel that was measured"}, words);
  const auto found = std::ranges::find(words, word);
  if (found != words.end()) fit.measured = static_cast<PrefillKernel>(found - words.begin());
  fit.launch = read_launch(reader);
  fit.block_overhead = read_block_overhead(reader);
  fit.compute_efficiency = read_compute_efficiency(reader);
  fit.memory_efficiency = read_memory_efficiency(reader);
  fit.error = read_error(reader);
  fit.max_length = reader.integer({"max_length", "Longest prompt measured"}, count);
  reader.finish();
  return fit;
}

DecodeFit read_decode(Reader reader) {
  DecodeFit fit;
  fit.launch = read_launch(reader);
  fit.block_overhead = read_block_overhead(reader);
  fit.memory_efficiency = read_memory_efficiency(reader);
  fit.error = read_error(reader);
  fit.max_context = reader.integer({"max_context", "Longest context measured"}, count);
  fit.max_batch = reader.integer({"max_batch", "Most sequences measured"}, count);
  reader.finish();
  return fit;
}

ElementwiseFit read_elementwise(Reader reader) {
  ElementwiseFit fit;
  fit.launch = read_launch(reader);
  fit.memory_efficiency = read_memory_efficiency(reader);
  fit.error = read_error(reader);
  fit.max_tokens = reader.integer({"max_tokens", "Most tokens measured"}, count);
  reader.finish();
  return fit;
}

AllReduceCurve read_curve(Reader reader) {
  AllReduceCurve curve;
  curve.gpus = reader.integer({"gpus", "Ranks"}, {2, 1'000});
  const auto payloads = reader.reals({"payload_bytes", "Bytes per rank, ascending"}, positive);
  const auto times = reader.reals({"time_us", "Microseconds, never falling"}, positive);
  curve.error = read_error(reader);
  if (payloads.size() < 2 || payloads.size() != times.size()) {
    reader.error("time_us", fmt::format("{} times for {} payloads; at least two of each",
                                        times.size(), payloads.size()));
  } else {
    for (std::size_t i = 0; i < payloads.size(); ++i)
      curve.points.push_back({Bytes(payloads[i]), Seconds(times[i] * 1e-6)});
    const auto rises = [](const AllReduceCurve::Point& a, const AllReduceCurve::Point& b) {
      return a.payload >= b.payload || a.time > b.time;
    };
    if (std::ranges::adjacent_find(curve.points, rises) != curve.points.end())
      reader.error("payload_bytes", "payloads must rise and times must not fall");
  }
  reader.finish();
  return curve;
}

}  // namespace

const AllReduceCurve* Gpu::all_reduce_of(std::int64_t gpus) const {
  const auto found = std::ranges::find(all_reduce, gpus, &AllReduceCurve::gpus);
  return found == all_reduce.end() ? nullptr : &*found;
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
  gpu.gemm = read_gemm(reader.section({"gemm", "Matrix products"}));
  gpu.prefill_attention = read_prefill(reader.section({"prefill_attention", "Fused attention"}));
  gpu.decode_attention = read_decode(reader.section({"decode_attention", "Split over context"}));
  gpu.elementwise = read_elementwise(reader.section({"elementwise", "Streaming kernels"}));
  for (const Reader& item : reader.items({"all_reduce", "Curves by ranks"}, /*optional=*/true))
    gpu.all_reduce.push_back(read_curve(item));
  std::ranges::sort(gpu.all_reduce, {}, &AllReduceCurve::gpus);
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

Gpu load_gpu(const std::string& name_or_path) {
  if (name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".yaml"))
    return parse_gpu(name_or_path, config::read_file(name_or_path));
  const auto found = std::ranges::find(catalog(), name_or_path, &CatalogFile::name);
  if (found == catalog().end()) {
    throw config::ConfigError(config::Diagnostic{
        {name_or_path, 1, 1},
        "gpu",
        fmt::format("no built-in GPU is called '{}'", name_or_path),
        config::suggestion(name_or_path, gpu_names()) + "; or the path of a catalog file"});
  }
  return parse_gpu(fmt::format("{}.yaml", found->name), found->yaml);
}

std::string_view name(PrefillKernel kernel) {
  return prefill_kernels[static_cast<std::size_t>(kernel)];
}

}  // namespace tokenline::hw
