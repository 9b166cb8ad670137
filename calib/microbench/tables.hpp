#pragma once

#include <span>
#include <string>

#include "calib/microbench/grid.hpp"

namespace tokenline::calib::microbench {

/// Texts of the tables of calib/README.md from calls and their times, row by row in that order.
/// Times are in microseconds to the nanosecond.
/// Contract: as many times as calls.
[[nodiscard]] std::string gemm_csv(std::span<const hw::GemmShape> calls,
                                   std::span<const Seconds> times);
[[nodiscard]] std::string prefill_attention_csv(std::span<const AttentionCall> calls,
                                                std::span<const Seconds> times);
[[nodiscard]] std::string decode_attention_csv(std::span<const AttentionCall> calls,
                                               std::span<const Seconds> times);

}  // namespace tokenline::calib::microbench
