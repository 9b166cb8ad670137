#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/quantity.hpp"

namespace tokenline::hw {

/// GPU generation: what decides which attention kernels exist.
enum class Generation { ampere, ada, hopper, blackwell };

/// Attention over the tokens of a prompt; kernels/attention.hpp says how they differ.
enum class PrefillKernel { naive, fa1, fa2, fa3 };

/// Attention of one query token per sequence.
enum class DecodeKernel { plain, flash_decoding };

/// How well a fit predicts the measured rows that were held out of it:
/// |predicted − measured| / measured.
struct FitError {
  double median = 0.0;
  double p90 = 0.0;
};

/// Fitted constants of kernels/gemm.hpp.
struct GemmFit {
  Seconds launch;
  double compute_efficiency = 0.0;
  double memory_efficiency = 0.0;
  FitError error;
  std::int64_t max_tokens = 0;  ///< The measured grid ends here,
  std::int64_t max_width = 0;   ///< and here for n and k.
};

/// Fitted constants of fused prefill attention, kernels/attention.hpp.
struct PrefillFit {
  PrefillKernel measured = PrefillKernel::fa2;  ///< The kernel behind the rows.
  Seconds launch;
  Seconds block_overhead;  ///< Of a thread block, beyond its tiles.
  double compute_efficiency = 0.0;
  double memory_efficiency = 0.0;
  FitError error;
  std::int64_t max_length = 0;
};

/// Fitted constants of decode attention (split over the context), kernels/attention.hpp.
struct DecodeFit {
  Seconds launch;  ///< The attention kernel and the merge of its parts.
  Seconds block_overhead;
  double memory_efficiency = 0.0;
  FitError error;
  std::int64_t max_context = 0;
  std::int64_t max_batch = 0;
};

/// Fitted constants of streaming kernels, kernels/elementwise.hpp.
struct ElementwiseFit {
  Seconds launch;
  double memory_efficiency = 0.0;
  FitError error;
  std::int64_t max_tokens = 0;
};

/// A measured all-reduce over `gpus` ranks of one node: time by payload of a rank, both ascending.
/// Its error is that of each inner point predicted from its two neighbours.
struct AllReduceCurve {
  struct Point {
    Bytes payload;
    Seconds time;
  };
  std::int64_t gpus = 0;
  std::vector<Point> points;
  FitError error;
};

/// What a manufacturer publishes of a GPU, and two constants of its instruction set.
struct Datasheet {
  std::string description;
  Generation generation = Generation::ampere;
  Bytes memory;                ///< As the driver reports it.
  BytesPerSecond bandwidth;    ///< HBM.
  FlopsPerSecond peak_16bit;   ///< Dense fp16/bf16 tensor cores.
  FlopsPerSecond peak_vector;  ///< fp32 CUDA cores.
  std::int64_t sms = 0;
  PerSecond clock;  ///< At which peak_16bit is stated.
  Bytes shared_memory_per_sm;
  double exponentials_per_clock = 0.0;  ///< Per SM (MUFU).
  /// Share of peak_16bit that synchronous mma instructions reach; 1 where there are no others.
  double synchronous_mma_share = 1.0;
  std::int64_t gpus_per_node = 0;
};

/// One GPU: datasheet values and the constants fitted to measured kernel times.
struct Gpu : Datasheet {
  std::string name;
  GemmFit gemm;
  PrefillFit prefill_attention;
  DecodeFit decode_attention;
  ElementwiseFit elementwise;
  std::vector<AllReduceCurve> all_reduce;  ///< By ranks, ascending.

  /// The curve of `gpus` ranks, or null where none was measured.
  [[nodiscard]] const AllReduceCurve* all_reduce_of(std::int64_t gpus) const;
};

/// Loads a GPU: the name of an embedded catalog entry ("h100_sxm"), or a path to a YAML file in the
/// same format (recognised by '/' or ".yaml"). Throws config::ConfigError.
[[nodiscard]] Gpu load_gpu(const std::string& name_or_path);

/// Parses the text of a catalog entry; `file` is for messages. Throws config::ConfigError.
[[nodiscard]] Gpu parse_gpu(const std::string& file, std::string_view yaml);

/// Parses the datasheet part alone, what calibration starts from. Throws config::ConfigError.
[[nodiscard]] Datasheet parse_datasheet(const std::string& file, std::string_view yaml);

/// Names of the embedded catalog entries, sorted.
[[nodiscard]] std::vector<std::string> gpu_names();

/// "naive", "fa1", "fa2", "fa3".
[[nodiscard]] std::string_view name(PrefillKernel kernel);

}  // namespace tokenline::hw
