#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "hwmodels/step_cost.hpp"

namespace tokenline::hw {

/// What the datasheet says is exhausted first by an operator.
enum class Bound {
  compute,  ///< The tensor cores: it does at least the ridge point's FLOPs per byte.
  memory,   ///< HBM.
  network,  ///< The links between GPUs: a collective has neither FLOPs nor bytes of HBM.
};

/// "compute", "memory", "network".
[[nodiscard]] std::string_view name(Bound bound);

/// FLOPs per byte of HBM at which `peak` and the bandwidth take equally long (Williams, Waterman,
/// Patterson, CACM 52(4), 2009).
[[nodiscard]] FlopsPerByte ridge(const Datasheet& gpu, FlopsPerSecond peak);

/// The roofline of the datasheet alone: max(FLOPs / peak, bytes / bandwidth), without launches,
/// tiles or efficiencies. Zero for collectives.
[[nodiscard]] Seconds datasheet_time(const Datasheet& gpu, const OperatorPrice& row);
[[nodiscard]] Bound bound(const Datasheet& gpu, const OperatorPrice& row);

/// Rows of the same operator as one: the chunks of several prompts.
[[nodiscard]] std::vector<OperatorPrice> merged(const std::vector<OperatorPrice>& rows);

/// The number of tokens from which matrix products are bound by compute.
struct Knee {
  /// Σ weights / bandwidth over Σ FLOPs per token / peak less Σ bytes per token / bandwidth; absent
  /// where the activations of a token alone take HBM longer than its FLOPs the tensor cores.
  std::optional<double> closed_form;
  /// Where the flat and the steep end of the priced time meet, one token's and that per token of
  /// 8192: time of 1 · 8192 / time of 8192. Absent with the closed form.
  std::optional<double> priced;
};

/// Of all dense products of a stage, the LM head included.
[[nodiscard]] Knee product_knee(const StepSetup& setup, const models::OperatorList& operators);
/// The closed form for routed experts, every one of them met: that of an expert's rows, times
/// experts over experts per token. Why no priced one: a single token meets few of them, so that its
/// time is not the flat end. Contract: there are experts.
[[nodiscard]] std::optional<double> expert_knee(const StepSetup& setup,
                                                const models::OperatorList& operators);

/// The arithmetic of a decode step, per GPU.
struct DecodeArithmetic {
  Flops flops_per_token;  ///< Of the weights' products for one token, attention not included.
  Bytes weights;          ///< Read for one token: of experts, those that it meets.
  Bytes all_weights;      ///< Read for many tokens, which meet every expert.
  Bytes kv;               ///< Read for a sequence, windows considered.
  Flops attention;        ///< Of a sequence over that KV.
  /// Sequences whose KV takes HBM as long as all weights.
  double kv_equals_weights = 0.0;
  /// FLOPs per byte that no batch exceeds: (flops_per_token + attention) / kv.
  FlopsPerByte limit;
  /// Sequences whose KV fits in HBM beside the weights, nothing reserved; 0 where the weights
  /// alone do not.
  std::int64_t fitting = 0;
};

/// Of sequences of `context` tokens. Contract: `context` is at least 1.
[[nodiscard]] DecodeArithmetic decode_arithmetic(const StepCost& cost, std::int64_t context);

}  // namespace tokenline::hw
