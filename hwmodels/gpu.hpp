#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hwmodels/residual_grid.hpp"
#include "sim/base/quantity.hpp"
#include "workloads/models/operators.hpp"

namespace tokenline::hw {

/// GPU generation: what decides which attention kernels exist.
enum class Generation { ampere, ada, hopper, blackwell };

/// Attention over the tokens of a prompt; kernels/attention.hpp says how they differ.
enum class PrefillKernel { naive, fa1, fa2, fa3 };

/// What engines run by default on a generation, and what was measured there: fa3 where it exists,
/// on Hopper, else fa2.
[[nodiscard]] constexpr PrefillKernel usual_prefill(Generation generation) {
  return generation == Generation::hopper ? PrefillKernel::fa3 : PrefillKernel::fa2;
}

/// Attention of one query token per sequence.
enum class DecodeKernel { plain, flash_decoding };

/// How well a fit predicts the measured rows that were held out of it:
/// |predicted − measured| / measured.
struct FitError {
  double median = 0.0;
  double p90 = 0.0;
};

/// Where a price comes from, from the best to the weakest.
enum class Provenance {
  measured,   ///< Between points of a measured grid.
  fitted,     ///< A fitted roofline beyond them.
  datasheet,  ///< Published peaks and usual efficiencies: nothing was measured on this GPU.
};

/// Fitted constants of one kernel model, and what measurements say beyond them:
///   t = (launch + block_overhead · blocks / SMs + max(compute / e_c, bytes / (bandwidth · e_m))
///        + apart / (bandwidth · e_a)) · grid.
struct KernelFit {
  Seconds launch;
  Seconds block_overhead;  ///< Of a thread block, beyond its tiles.
  double compute_efficiency = 1.0;
  double memory_efficiency = 1.0;
  double apart_efficiency = 1.0;  ///< Of bandwidth, of a kernel that runs before or after.
  bool from_datasheet = false;
  FitError roofline_error;  ///< Of the constants alone.
  FitError error;           ///< Of constants and grid, on shapes that neither has seen.
  std::shared_ptr<const ResidualGrid> grid;  ///< Null where there is none.
};

/// Fits of a kernel by what it computes with: "bfloat16", "fp8", …, and "usual": what such kernels
/// usually reach, for all that was not measured.
using KernelFits = std::map<std::string, KernelFit, std::less<>>;

/// What implements a collective: vLLM's custom all-reduce inside a CUDA graph or launched from the
/// host, or NCCL.
enum class CollectiveImplementation { vllm_graph, vllm_eager, nccl };

/// A measured collective over `gpus` ranks of one node: time by payload of a rank, both ascending.
/// Its error is that of each inner point predicted from its two neighbours.
struct CollectiveCurve {
  struct Point {
    Bytes payload;
    Seconds time;
  };
  models::CollectiveOp op = models::CollectiveOp::all_reduce;
  CollectiveImplementation implementation = CollectiveImplementation::nccl;
  std::int64_t gpus = 0;
  std::vector<Point> points;
  FitError error;
};

/// What a manufacturer publishes of a GPU, and two constants of its instruction set.
struct Datasheet {
  std::string description;
  std::vector<std::string> also_called;  ///< Names that published tables use for it.
  Generation generation = Generation::ampere;
  Bytes memory;                ///< As CUDA reports it to engines.
  BytesPerSecond bandwidth;    ///< HBM.
  FlopsPerSecond peak_16bit;   ///< Dense fp16/bf16 tensor cores.
  FlopsPerSecond peak_8bit;    ///< Dense fp8 tensor cores; zero where there are none.
  FlopsPerSecond peak_vector;  ///< fp32 CUDA cores.
  std::int64_t sms = 0;
  PerSecond clock;  ///< At which peak_16bit is stated.
  Bytes shared_memory_per_sm;
  double exponentials_per_clock = 0.0;  ///< Per SM (MUFU).
  /// Share of peak_16bit that synchronous mma instructions reach; 1 where there are no others.
  double synchronous_mma_share = 1.0;
  std::int64_t gpus_per_node = 0;
  BytesPerSecond interconnect;  ///< Between GPUs of a node, each direction; zero where not stated.
  Watts power_limit;   ///< TDP or TGP of the board; zero where not stated: no energy is computed.
  Watts idle_power;    ///< Of a board that serves nothing; zero where not measured (power.hpp).
  Watts memory_power;  ///< Draw at full bandwidth without FLOPs; zero where not measured.

  /// Dense peak of tensor cores for weights of a precision. mxfp4 is multiplied at 16 bit, and so
  /// is fp8 where the tensor cores do not take it.
  [[nodiscard]] FlopsPerSecond peak(models::Precision precision) const;
};

/// One GPU: datasheet values and the constants fitted to measured kernel times.
struct Gpu : Datasheet {
  std::string name;
  KernelFits gemm;               ///< By precision of the weights.
  KernelFits prefill_attention;  ///< By precision of the KV cache.
  KernelFits decode_attention;   ///< By precision of the KV cache.
  /// prefill_attention by new and past tokens (1 for none): how KV computed earlier changes it.
  KernelFits chunked_prefill;
  KernelFits mixed_decode;  ///< One more decode beside prefill chunks in one call.
  KernelFits experts;       ///< "bfloat16 balanced": precision of the weights, expert load.
  KernelFits mla_prefill;   ///< "bfloat16 fp8_block": KV cache, projections.
  KernelFits mla_decode;    ///< The same; "bfloat16 attention" where projections are apart.
  KernelFits elementwise;   ///< By name of the kernel; "other" stands for the rest.
  std::vector<CollectiveCurve> collectives;

  /// Whether any of its kernels was measured; else all prices come from the datasheet.
  [[nodiscard]] bool calibrated() const;
  /// The curve of an operation over `gpus` ranks, or null where none was measured.
  [[nodiscard]] const CollectiveCurve* collective(models::CollectiveOp op,
                                                  CollectiveImplementation implementation,
                                                  std::int64_t gpus) const;
};

/// The fit under `key`, else "other" (streaming kernels), else without any grid "usual fp8" (the
/// GPU's constants at the next wider precision), else "usual". Contract: one of them is there.
[[nodiscard]] const KernelFit& fit_of(const KernelFits& fits, std::string_view key);

/// Loads a GPU: the name of an embedded catalog entry ("h100_sxm"), or a path to a YAML file in the
/// same format (recognised by '/' or ".yaml"). Throws config::ConfigError.
[[nodiscard]] Gpu load_gpu(const std::string& name_or_path);

/// Parses the text of a catalog entry; `file` is for messages. Throws config::ConfigError.
[[nodiscard]] Gpu parse_gpu(const std::string& file, std::string_view yaml);

/// Parses the datasheet part alone, what calibration starts from. Throws config::ConfigError.
[[nodiscard]] Datasheet parse_datasheet(const std::string& file, std::string_view yaml);

/// Names of the embedded catalog entries, sorted.
[[nodiscard]] std::vector<std::string> gpu_names();

/// The embedded catalog entry so called, by its name or another that publications give it
/// ("H100-SXM-80GB" is h100_sxm).
[[nodiscard]] std::optional<std::string> catalog_name(std::string_view name);

/// "all_reduce", …; "vllm_graph", "vllm_eager", "nccl".
[[nodiscard]] std::string_view name(models::CollectiveOp op);
[[nodiscard]] std::string_view name(CollectiveImplementation implementation);

/// "naive", "fa1", "fa2", "fa3".
[[nodiscard]] std::string_view name(PrefillKernel kernel);

}  // namespace tokenline::hw
