#pragma once

#include <string>

#include "tools/validate/row.hpp"

namespace tokenline::validate {

/// Compares attention speeds read off the charts of the FlashAttention papers (columns hardware,
/// pass, dtype, head_dim, causal, kernel, seqlen, tflops_per_s) with hw::prefill_attention. The
/// papers' convention: hidden size 2048, 16384 tokens in all (batch 16384 / seqlen, heads 2048 /
/// head_dim), 4 · seqlen² · head_dim · heads · batch FLOPs, half of them if causal.
///
/// Metric `tflops_per_s`: forward rows; `standard` is naive, FA1 to FA3 are fa1 to fa3, other
/// kernels are refused. Metric `fa2_over_fa1`: forward and backward together are not modelled, but
/// the ratio of the two kernels is taken for that of their forward passes; one row per shape that
/// has both, the FA1 row being the one refused or counted. Throws ConfigError with every mistake of
/// the file.
[[nodiscard]] Comparison compare_attention(const std::string& file);

}  // namespace tokenline::validate
