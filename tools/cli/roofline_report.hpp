#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hwmodels/step_roofline.hpp"

namespace tokenline::cli {

/// The step that `roofline` prices: decodes of `batch` sequences, each reading `context` tokens of
/// KV, or, where there are `prompt_tokens`, so many prompts of them after `past_tokens`.
struct RooflineStep {
  std::int64_t batch = 1;
  std::int64_t context = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t past_tokens = 0;
  [[nodiscard]] bool decodes() const { return prompt_tokens == 0; }
};

/// Decoding `batch` sequences: the step, and its matrix products (experts included).
struct BatchPoint {
  std::int64_t batch = 1;
  hw::Price step;
  hw::Price products;
  hw::Bound bound = hw::Bound::memory;  ///< Of the products.
  Bytes kv;                             ///< Of the step's bytes: keys and values.
};

/// What `roofline` prints, per GPU of the replica.
struct RooflineReport {
  const hw::StepCost& cost;
  RooflineStep step;
  std::vector<hw::OperatorPrice> rows;  ///< By operator.
  hw::Price total;                      ///< StepCost::price() of the step.
  hw::Knee products;
  std::optional<double> experts;               ///< expert_knee().
  std::optional<hw::DecodeArithmetic> decode;  ///< And `batches`: of decodes.
  std::vector<BatchPoint> batches;
};

/// Prices the step. `cost` has tables for it and for decodes of 4096 sequences, and outlives the
/// report.
[[nodiscard]] RooflineReport roofline_report(const hw::StepCost& cost, const RooflineStep& step);

/// "llama-2-70b on h100_sxm, tensor_parallel_size 8: decode of …"
[[nodiscard]] std::string roofline_title(const RooflineReport& report);
[[nodiscard]] std::string roofline_text(const RooflineReport& report);
[[nodiscard]] std::string roofline_json(const RooflineReport& report);
/// FLOP/s over FLOPs per byte, both logarithmic: the roofs of the datasheet and every operator that
/// has FLOPs, with the step as a whole.
[[nodiscard]] std::string roofline_svg(const RooflineReport& report);

}  // namespace tokenline::cli
