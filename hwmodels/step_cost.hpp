#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hwmodels/gpu.hpp"
#include "hwmodels/kernels/attention_pricer.hpp"
#include "hwmodels/kernels/gemm.hpp"
#include "hwmodels/kernels/mla.hpp"
#include "hwmodels/network/network.hpp"
#include "hwmodels/ring_attention.hpp"
#include "workloads/models/architecture.hpp"
#include "workloads/models/operators.hpp"

namespace tokenline::hw {

/// What a forward pass runs on and with. The precision of weights is the model's.
struct StepSetup {
  models::Architecture model;
  Gpu gpu;
  models::Parallelism parallelism;
  PrefillKernel prefill_kernel = PrefillKernel::fa2;
  DecodeKernel decode_kernel = DecodeKernel::flash_decoding;
  /// One call computes prefill chunks and decodes together, as FlashAttention in vLLM does;
  /// otherwise each has a kernel of its own.
  bool fused_mixed_attention = true;
  InputQuantization input_quantization = InputQuantization::dynamic;
  std::int64_t kv_element = 2;  ///< Bytes of a value in the KV cache: 2, or 1 for fp8.
  /// How unevenly tokens choose experts, as the measurements name it: "balanced", "power_law_1.01",
  /// "power_law_1.2".
  std::string expert_load = "balanced";
  /// Prices what passes between nodes. Null: all GPUs are in one node.
  std::shared_ptr<const Network> network;
  std::vector<Vertex> gpus;  ///< In the network, by rank; empty without one.
  /// Every price is moved by so many times its operator's median error, not below zero: -1, 0 or
  /// 1.
  double error_band = 0.0;
  /// Size of the tables: no step has more tokens, or samples more of them.
  std::int64_t max_tokens = 0;
  std::int64_t max_sequences = 0;
};

/// Kinds of operators by which a run tells what was priced off the measured grid.
enum class OperatorKind {
  gemm,
  prefill_attention,
  decode_attention,
  experts,
  mla,
  elementwise,
  collective
};
inline constexpr std::size_t operator_kinds = 7;

/// "gemm", "prefill_attention", ….
[[nodiscard]] std::string_view name(OperatorKind kind);

/// A time per kind of operator.
struct OperatorTimes {
  std::array<Seconds, operator_kinds> by_kind{};

  [[nodiscard]] Seconds& operator[](OperatorKind kind) {
    return by_kind[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] Seconds operator[](OperatorKind kind) const {
    return by_kind[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] Seconds total() const;
  OperatorTimes& operator+=(const OperatorTimes& other);
  OperatorTimes& operator-=(const OperatorTimes& other);
};

/// A piece of one prompt computed in a step, after `past_tokens` of it that are in KV already.
struct Chunk {
  std::int64_t new_tokens = 0;
  std::int64_t past_tokens = 0;
};

/// The work of one step. Decoding sequences contribute `decode_queries` tokens each, more than one
/// where drafts are verified; `decode_context` is the sum of the KV tokens they read, their own new
/// ones included. `sampled` tokens pass the LM head.
struct StepShape {
  std::int64_t decode_sequences = 0;
  std::int64_t decode_context = 0;
  std::span<const Chunk> chunks;
  std::int64_t sampled = 0;
  std::int64_t decode_queries = 1;
};

/// The price of GPU work, per GPU of the replica.
struct Price {
  Seconds time;
  Flops flops;             ///< On tensor cores, as executed.
  Bytes bytes;             ///< From and to HBM.
  Seconds error;           ///< What the median errors of the operators' calibration come to.
  OperatorTimes off_grid;  ///< The parts of `time` priced outside measured grids.

  Price& operator+=(const Price& other) {
    time += other.time;
    flops += other.flops;
    bytes += other.bytes;
    error += other.error;
    off_grid += other.off_grid;
    return *this;
  }
  Price& operator*=(double factor) {
    flops *= factor;
    bytes *= factor;
    stretch(factor);
    return *this;
  }
  /// The same work in `factor` times the time.
  void stretch(double factor) {
    time *= factor;
    error *= factor;
    for (Seconds& part : off_grid.by_kind) part *= factor;
  }
};

/// One operator of a step: all of its kernels, or the attention of one prompt chunk in the layers
/// of one reach.
struct OperatorPrice {
  std::string name;  ///< "qkv_proj", "norm", "all_reduce", "decode_attention", ….
  OperatorKind kind = OperatorKind::gemm;
  std::int64_t count = 1;  ///< Times per forward pass; `price` is of all of them.
  Price price;
  FlopsPerSecond peak;  ///< Of the datasheet for its FLOPs; infinite where it has none.
};

/// Prices forward passes through one pipeline stage of a replica: all of the model where there is
/// one stage. Everything proportional to tokens comes from tables built once; a call costs O(1 +
/// chunks). Host time is not included, nor are the gathering of logits across ranks and the overlap
/// of kernels. With attention data parallelism the sequences are spread evenly over the groups,
/// which run in step. Context ranks share the tokens of prompts evenly (ring_attention()) and the
/// KV of decodes. More work is not always slower: libraries choose other kernels at other sizes,
/// and the measurements show it. Several queries of a sequence read its KV once: attention takes
/// the time of one query, or that of its FLOPs at the peak of the datasheet where that is longer.
class StepCost {
 public:
  /// Throws std::invalid_argument for a setup that cannot be priced; first_refusal() says why
  /// beforehand.
  explicit StepCost(const StepSetup& setup, std::int64_t stage = 0);
  StepCost(const StepCost&) = delete;
  StepCost& operator=(const StepCost&) = delete;

  /// Why this setup is not priced (fa3 off Hopper, heads too wide, a degree that does not divide or
  /// reaches beyond a node without a network), as a sentence; empty if it is.
  [[nodiscard]] static std::string first_refusal(const StepSetup& setup);

  /// Contract: no more tokens and sampled sequences than the setup allows; `decode_context` is at
  /// least `decode_sequences`; chunks are not empty.
  [[nodiscard]] Price price(const StepShape& shape) const;

  /// The operators whose prices price() adds up: those over all tokens, those over sampled tokens,
  /// merges of context ranks, attention, each part summed by itself and then added. Contract: that
  /// of price(), and one group of attention data parallelism.
  [[nodiscard]] std::vector<OperatorPrice> breakdown(const StepShape& shape) const;

  /// Weights on one GPU of the stage: sharded matrices, embedding and LM head; norms and biases
  /// replicated.
  [[nodiscard]] Bytes weights() const { return weights_; }
  /// KV of one token on one GPU of the stage, over all context ranks.
  [[nodiscard]] Bytes kv_per_token() const { return kv_per_token_; }
  /// Peak of live activations on one GPU in a step of `tokens` tokens of which `sampled` are
  /// sampled: the residual stream, its normed copy and the widest layer intermediates (gate_up and
  /// its activation, qkv and the attention output, or the rows of chosen experts) at 16 bit, in the
  /// last stage logits of the whole vocabulary at 16 and 32 bit. `score_elements` is the largest
  /// new × (past + new) product of one chunk: only naive attention stores scores, S and P of one
  /// layer at 16 bit.
  [[nodiscard]] Bytes activations(std::int64_t tokens, std::int64_t sampled,
                                  std::int64_t score_elements) const;

  /// Prices of the operators over all tokens alone (no attention, LM head or sampler), by tokens of
  /// a group of attention data parallelism, from 0: no step with that many takes less time.
  [[nodiscard]] std::span<const Price> token_prices() const { return by_tokens_; }

  [[nodiscard]] const StepSetup& setup() const { return setup_; }
  [[nodiscard]] const models::OperatorList& operators() const { return operators_; }

 private:
  /// Prices of the sizes `first`, `first` + 1, …
  struct Sizes {
    std::int64_t first = 0;
    std::span<Price> prices;
  };
  /// What breakdown() collects its rows with.
  class Breakdown;

  void build_tables();
  void add(Price& price, OperatorKind kind, const KernelCost& cost, std::int64_t count,
           double error) const;
  void add_gemm(Sizes table, const models::Gemm& product) const;
  void add_elementwise(Sizes table, const models::Elementwise& op) const;
  void add_collective(Sizes table, const models::Collective& op) const;
  void add_experts(Sizes table, const models::ExpertLayers& layers) const;
  void add_decodes(Price& price, const StepShape& shape) const;
  void add_chunk(Price& price, const Chunk& chunk) const;
  /// What a group, and a context rank in it, has of a step's decodes.
  [[nodiscard]] Decode decodes(const StepShape& shape) const;
  /// A kernel over `queries` of each sequence, given its cost of one.
  [[nodiscard]] KernelCost verifying(KernelCost cost, std::int64_t queries) const;
  void add_latent_decodes(Price& price, const StepShape& shape) const;
  void add_decodes(Price& price, const StepShape& shape,
                   const models::AttentionLayers& layers) const;
  void add_latent_chunk(Price& price, const Chunk& chunk) const;
  void add_chunk(Price& price, const Chunk& chunk, const models::AttentionLayers& layers) const;
  [[nodiscard]] KernelCost prefill_attention(const Chunk& chunk) const;

  StepSetup setup_;
  std::int64_t stage_;
  models::OperatorList operators_;
  Heads heads_;
  std::optional<AttentionPricer> attention_;
  std::optional<MlaPricer> mla_;
  Bytes weights_;
  Bytes kv_per_token_;
  std::vector<Price> by_tokens_;   ///< What depends on a group's tokens alone, for i tokens.
  std::vector<Price> by_sampled_;  ///< LM head and sampler over i sequences.
  std::vector<Price> merges_;      ///< Of context ranks' results over i decoding tokens.
  std::optional<RingTransfer> ring_;
};

}  // namespace tokenline::hw
