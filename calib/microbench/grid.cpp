#include "calib/microbench/grid.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tokenline::calib::microbench {
namespace {

using Sizes = std::vector<std::int64_t>;
using models::Precision;

constexpr std::int64_t most_tokens = 32'768;    // Of all prompts of a call.
constexpr std::int64_t most_context = 1 << 21;  // Of all decodes of a call.
constexpr double memory_share = 0.5;
constexpr std::int64_t bytes_per_value = 2;

Sizes powers_of_two(std::int64_t first, std::int64_t last, std::int64_t factor = 2) {
  Sizes sizes;
  for (std::int64_t size = first; size <= last; size *= factor) sizes.push_back(size);
  return sizes;
}

/// n and k of weights: QKV, output, gate and up, down.
std::vector<std::pair<std::int64_t, std::int64_t>> weights(Extent extent) {
  std::vector<std::pair<std::int64_t, std::int64_t>> shapes{
      {6144, 4096}, {4096, 4096}, {28672, 4096}, {4096, 14336},  // Llama-3.1-8B
      {1280, 8192}, {8192, 1024}, {7168, 8192},  {8192, 3584}};  // Llama-3.1-70B on 8 GPUs
  if (extent == Extent::full)
    shapes.insert(shapes.end(), {{12288, 4096},
                                 {22016, 4096},
                                 {4096, 11008},  // Llama-2-7B
                                 {3072, 4096},
                                 {4096, 2048},
                                 {14336, 4096},  // 8B on 2 GPUs
                                 {4096, 7168},
                                 {2560, 8192},
                                 {8192, 2048},
                                 {14336, 8192},  // 70B on 4 GPUs
                                 {8192, 7168}});
  return shapes;
}

Sizes rows(Extent extent) {
  Sizes sizes = powers_of_two(1, 8192);
  if (extent == Extent::quick) return sizes;
  for (std::int64_t size = 16; size <= 256; size += 16) sizes.push_back(size);
  // Just beyond tiles of 64 to 1024 rows, where one more row costs a wave.
  for (const std::int64_t tile : powers_of_two(64, 1024)) sizes.push_back(tile + 1);
  std::ranges::sort(sizes);
  sizes.erase(std::ranges::unique(sizes).begin(), sizes.end());
  return sizes;
}

std::vector<hw::Heads> attention_heads(Extent extent) {
  std::vector<hw::Heads> heads{{.q = 32, .kv = 8, .dim = 128},    // Llama-3.1-8B
                               {.q = 16, .kv = 4, .dim = 128},    // on 2 GPUs
                               {.q = 8, .kv = 1, .dim = 128},     // Llama-3.1-70B on 8 GPUs
                               {.q = 16, .kv = 2, .dim = 128},    // on 4 GPUs
                               {.q = 32, .kv = 32, .dim = 128}};  // Llama-2-7B
  if (extent == Extent::full)
    heads.insert(heads.end(), {{.q = 32, .kv = 8, .dim = 64},  // Llama-3.2-1B
                               {.q = 64, .kv = 8, .dim = 64},  // gpt-oss-120b
                               {.q = 8, .kv = 8, .dim = 128},
                               {.q = 64, .kv = 8, .dim = 128}});  // Llama-3.1-70B on one GPU
  return heads;
}

bool fits(const hw::Datasheet& gpu, const hw::GemmShape& shape) {
  return hw::gemm_bytes(shape) <= memory_share * gpu.memory;
}

/// Queries, sums, keys and values.
bool fits(const hw::Datasheet& gpu, const AttentionCall& call, std::int64_t queries) {
  const auto values = static_cast<double>(2 * call.heads.dim * call.batch *
                                          (call.heads.q * queries + call.heads.kv * call.length));
  return Bytes(values * bytes_per_value) <= memory_share * gpu.memory;
}

void add_gemm(const hw::Datasheet& gpu, Extent extent, Grid& grid) {
  std::vector<Precision> precisions{Precision::bfloat16};
  if (gpu.peak_8bit.value() > 0) precisions.push_back(Precision::fp8);
  for (const Precision precision : precisions)
    for (const auto& [n, k] : weights(extent))
      for (const std::int64_t m : rows(extent)) {
        const hw::GemmShape shape{m, n, k, precision};
        if (fits(gpu, shape)) grid.gemm.push_back(shape);
      }
}

void add_attention(const hw::Datasheet& gpu, Extent extent, Grid& grid) {
  const bool full = extent == Extent::full;
  for (const hw::Heads& heads : attention_heads(extent)) {
    for (const std::int64_t batch : powers_of_two(1, 64, full ? 2 : 4))
      for (const std::int64_t length : powers_of_two(16, 16'384)) {
        const AttentionCall call{heads, batch, length};
        if (batch * length <= most_tokens && fits(gpu, call, length)) grid.prefill.push_back(call);
      }
    for (const std::int64_t batch : powers_of_two(1, 256, full ? 2 : 4))
      for (const std::int64_t length : powers_of_two(16, 131'072, full ? 2 : 4)) {
        const AttentionCall call{heads, batch, length};
        if (batch * length <= most_context && fits(gpu, call, 1)) grid.decode.push_back(call);
      }
  }
}

/// A call runs as often again before it is timed: caches and clocks settle.
Seconds measured_for(Seconds call) { return static_cast<double>(2 * repetitions(call)) * call; }

}  // namespace

Grid grid(const hw::Datasheet& gpu, Extent extent) {
  Grid calls;
  add_gemm(gpu, extent, calls);
  add_attention(gpu, extent, calls);
  return calls;
}

std::int64_t repetitions(Seconds expected) {
  constexpr double least = 11;
  constexpr double most = 201;
  return static_cast<std::int64_t>(std::clamp(std::floor(Seconds(0.05) / expected), least, most));
}

Seconds measuring_time(const hw::Gpu& gpu, const Grid& grid) {
  Seconds total{};
  for (const hw::GemmShape& shape : grid.gemm) total += measured_for(hw::gemm(gpu, shape).time);
  for (const AttentionCall& call : grid.prefill)
    total += measured_for(hw::prefill_attention(gpu, hw::usual_prefill(gpu.generation), call.heads,
                                                {.new_tokens = call.length, .batch = call.batch})
                              .time);
  for (const AttentionCall& call : grid.decode)
    total += measured_for(hw::decode_attention(gpu, hw::DecodeKernel::flash_decoding, call.heads,
                                               {call.batch, call.batch * call.length})
                              .time);
  return total;
}

}  // namespace tokenline::calib::microbench
