#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hwmodels/step_cost.hpp"
#include "sim/base/time.hpp"
#include "sim/config/reader.hpp"
#include "sim/policies/policies.hpp"

namespace tokenline {

/// How the KV pool gets its memory.
enum class KvSizing {
  /// Reserved at start-up after a profile run at max_num_batched_tokens, as vLLM does: what
  /// gpu_memory_utilization of the memory leaves. Activations always have room.
  profiled,
  /// The same, but gpu_memory_utilization of what weights and activations leave of the whole
  /// memory (TensorRT-LLM).
  free_fraction,
  /// Reserved at start-up: all that weights and a fixed `static_reserve` leave (SGLang).
  static_reserve,
  /// Block by block, out of the same memory as activations: a step may exceed HBM.
  on_demand,
};

/// How a request's KV lies in memory.
enum class KvLayout {
  paged,       ///< Blocks of block_size tokens, taken as the sequence grows.
  contiguous,  ///< max_model_len tokens, taken at admission.
};

/// How the host's work lies beside the GPU's.
enum class HostOverlap {
  none,   ///< Between two steps: the GPU waits for all of it.
  async,  ///< During the step: the GPU waits for what outlasts it, and for the gap.
};

/// What of max_num_seqs a micro-batch of a pipeline may hold.
enum class PipelineSlots {
  shared,  ///< All; all micro-batches together hold no more.
  split,   ///< Its equal share.
  each,    ///< All, whatever the others hold.
};

/// What the host does for a step.
struct HostWork {
  std::int64_t sequences = 0;         ///< Decodes and pieces of prompts.
  std::int64_t first_admissions = 0;  ///< Requests that run for the first time.
  std::int64_t tokens = 0;            ///< All of the step's.
  bool prompts = false;
};

/// An engine as configured, under the engines' own names. With attention data parallelism its
/// limits are those of each group, as vLLM's.
struct EngineConfig {
  std::string preset;
  std::string modelled;  ///< Engine and version that the preset stands for.
  std::string scheduler;
  std::string queue_policy;              ///< The order of the waiting requests.
  double length_prediction_sigma = 0.0;  ///< QueueSetup::length_prediction_sigma.
  bool prompts_whole = true;             ///< The scheduler computes a prompt in one step.
  std::int64_t max_num_seqs = 0;
  PipelineSlots pipeline_slots = PipelineSlots::shared;
  std::int64_t max_num_batched_tokens = 0;
  std::int64_t max_model_len = 0;
  double gpu_memory_utilization = 0.0;
  KvSizing kv_sizing = KvSizing::profiled;
  KvLayout kv_layout = KvLayout::paged;
  std::int64_t block_size = 0;
  double watermark = 0.0;  ///< Share of the blocks that an admission must leave free.
  std::optional<std::int64_t> num_gpu_blocks_override;
  bool enable_prefix_caching = false;  ///< A preempted request finds its untaken blocks again.
  bool preempt_by_swap = false;        ///< Its blocks go to host memory, and come back.
  Bytes swap_space;                    ///< Host memory of each GPU for that.
  Bytes offload_host;                  ///< Of kv_offload: host memory of a replica,
  Bytes offload_nvme;                  ///< and its drives. Both 0 without.
  Bytes non_torch_memory;
  Bytes static_reserve;
  std::optional<models::Precision> quantization;  ///< Of the weights; the model's where absent.
  std::int64_t kv_element = 2;                    ///< Bytes of a value in the KV cache.
  hw::PrefillKernel prefill_attention = hw::PrefillKernel::fa2;
  hw::DecodeKernel decode_attention = hw::DecodeKernel::flash_decoding;
  bool fused_mixed_attention = true;  ///< StepSetup::fused_mixed_attention.
  hw::InputQuantization input_quantization = hw::InputQuantization::dynamic;
  Seconds host_overhead_per_step;
  Seconds host_overhead_per_sequence;
  Seconds host_overhead_per_request;
  Seconds prompt_launch;  ///< Host time to launch a step with prompts: of all layers.
  /// Steps with prompts of at most so many tokens run as CUDA graphs and need no launches.
  std::int64_t cuda_graph_max_tokens = 0;
  HostOverlap host_overlap = HostOverlap::none;
  Seconds host_gap;
  Seconds host_gap_per_sequence;
  std::string expert_load;  ///< How unevenly tokens choose experts: StepSetup::expert_load.
  /// A step is decided on when the one before it starts: what arrives later waits for the next. Not
  /// with a pipeline, whose steps under way are what an engine decides ahead.
  bool schedule_ahead = false;

  /// The part of a step in which the GPU waits for the host, beside `gpu` of GPU time.
  [[nodiscard]] Duration host_time(const HostWork& work, Duration gpu) const;
  /// How long the host works for a step before it can work for another one; launches apart.
  [[nodiscard]] Duration host_work(const HostWork& work) const;
  /// Time to launch the kernels of `share` of the layers for a step; none where a CUDA graph does.
  [[nodiscard]] Duration launch_time(const HostWork& work, double share) const;
  /// Whether KV is kept behind the pool.
  [[nodiscard]] bool offloads() const { return offload_host + offload_nvme > Bytes(); }
  /// Tokens per block of the pool: block_size, or max_model_len for a contiguous layout.
  [[nodiscard]] std::int64_t pool_block_size() const {
    return kv_layout == KvLayout::contiguous ? max_model_len : block_size;
  }
  /// Blocks of a pool of `blocks` that an admission must leave free.
  [[nodiscard]] std::int64_t watermark_blocks(std::int64_t blocks) const {
    return static_cast<std::int64_t>(std::ceil(watermark * static_cast<double>(blocks)));
  }
};

/// Reads the `engine:` section over the preset it names. Mistakes go to the reader's document.
/// Without a model (it was not readable) what depends on it is not checked.
/// `generation` decides what `prefill_attention: auto` means (fa3 on Hopper, fa2 elsewhere).
[[nodiscard]] EngineConfig read_engine(config::Reader& engine,
                                       const std::optional<models::Architecture>& model,
                                       hw::Generation generation, const Policies& policies);

/// Gives a scenario's `engine:` mapping the keys of the preset it names, or of vllm-v1 where it
/// names none, or none there is (which read_engine() reports).
void apply_engine_preset(config::Node& scenario);

/// Names of the embedded engine presets, sorted, and the text of one.
[[nodiscard]] std::vector<std::string> engine_preset_names();
[[nodiscard]] config::Node load_engine_preset(const std::string& name);

/// What the presets say of one key of `engine:`, as "orca: 256, vllm-v1: 1024"; empty when none
/// says anything.
[[nodiscard]] std::string preset_values(std::string_view key);

[[nodiscard]] std::string_view name(hw::DecodeKernel kernel);

}  // namespace tokenline
