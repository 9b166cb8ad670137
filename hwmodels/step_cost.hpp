#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hwmodels/gpu.hpp"
#include "hwmodels/kernels/attention.hpp"
#include "workloads/models/architecture.hpp"
#include "workloads/models/operators.hpp"

namespace tokenline::hw {

/// What a forward pass runs on and with.
struct StepSetup {
  models::Architecture model;
  Gpu gpu;
  std::int64_t tensor_parallel_size = 1;
  PrefillKernel prefill_kernel = PrefillKernel::fa2;
  DecodeKernel decode_kernel = DecodeKernel::flash_decoding;
  /// Size of the tables: no step has more tokens, or samples more sequences.
  std::int64_t max_tokens = 0;
  std::int64_t max_sequences = 0;
};

/// A piece of one prompt computed in a step, after `past_tokens` of it that are in KV already.
struct Chunk {
  std::int64_t new_tokens = 0;
  std::int64_t past_tokens = 0;
};

/// The work of one step. Decoding sequences contribute one token each; `decode_context` is the sum
/// of the KV tokens they read, their own new one included. `sampled` sequences pass the LM head.
struct StepShape {
  std::int64_t decode_sequences = 0;
  std::int64_t decode_context = 0;
  std::span<const Chunk> chunks;
  std::int64_t sampled = 0;
};

/// The price of GPU work, per GPU of the tensor-parallel group.
struct Price {
  Seconds time;
  Flops flops;       ///< On tensor cores, as executed.
  Bytes bytes;       ///< From and to HBM.
  Seconds off_grid;  ///< The part of `time` priced outside the measured grid.

  Price& operator+=(const Price& other) {
    time += other.time;
    flops += other.flops;
    bytes += other.bytes;
    off_grid += other.off_grid;
    return *this;
  }
};

/// Prices forward passes of one model on one tensor-parallel group. Everything proportional to
/// tokens comes from tables built once; a call costs O(1 + chunks). Host time is not included, nor
/// are the gathering of logits across ranks and the overlap of kernels.
/// Time never falls when tokens, context, chunks or sequences are added, with one exception:
/// `plain` decoding waits for its longest sequence and is priced at the mean context, which a
/// shorter sequence lowers.
class StepCost {
 public:
  /// Throws std::invalid_argument for a setup that cannot be priced; first_refusal() says why
  /// beforehand.
  explicit StepCost(const StepSetup& setup);

  /// Why this setup is not priced (mixture of experts, latent attention, sliding window, quantised
  /// weights, fa3 off Hopper, heads too wide, a degree that does not divide or has no measured
  /// all-reduce), as a sentence; empty if it is.
  [[nodiscard]] static std::string first_refusal(const StepSetup& setup);

  /// Contract: no more tokens and sampled sequences than the setup allows; `decode_context` is at
  /// least `decode_sequences`; chunks are not empty.
  [[nodiscard]] Price price(const StepShape& shape) const;

  /// Weights on one GPU: sharded matrices, embedding and LM head; norms and biases replicated.
  [[nodiscard]] Bytes weights() const { return weights_; }
  /// KV of one token on one GPU.
  [[nodiscard]] Bytes kv_per_token() const { return kv_per_token_; }
  /// Peak of live activations on one GPU in a step of `tokens` tokens of which `sampled` are
  /// sampled: the residual stream, its normed copy and the widest layer intermediates (gate_up and
  /// its activation, or qkv and the attention output) at 16 bit, logits of the whole vocabulary at
  /// 16 and 32 bit. `score_elements` is the largest new × (past + new) product of one chunk: only
  /// naive attention stores scores, S and P of one layer at 16 bit.
  [[nodiscard]] Bytes activations(std::int64_t tokens, std::int64_t sampled,
                                  std::int64_t score_elements) const;

  [[nodiscard]] const StepSetup& setup() const { return setup_; }
  [[nodiscard]] const models::OperatorList& operators() const { return operators_; }

 private:
  void build_tables();
  [[nodiscard]] Price decode_attention(std::int64_t sequences, std::int64_t context) const;
  [[nodiscard]] Price prefill_attention(const Chunk& chunk) const;

  StepSetup setup_;
  models::OperatorList operators_;
  Heads heads_;
  Bytes weights_;
  Bytes kv_per_token_;
  std::vector<Price> by_tokens_;   ///< GEMMs, elementwise, all-reduces of a step of i tokens.
  std::vector<Price> by_sampled_;  ///< LM head and sampler over i sequences.
};

}  // namespace tokenline::hw
