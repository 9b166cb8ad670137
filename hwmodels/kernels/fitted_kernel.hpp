#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tokenline::hw {

/// Kernels that calibration fits, by the names of their sections in a catalog entry.
enum class Kernel {
  gemm,
  prefill_attention,
  decode_attention,
  chunked_prefill,
  mixed_decode,
  experts,
  mla_prefill,
  mla_decode,
  elementwise
};

/// "gemm", "prefill_attention", ….
[[nodiscard]] std::string_view name(Kernel kernel);

/// Names of the sizes that make a shape of the kernel's grid, and of its axes.
[[nodiscard]] std::vector<std::string> shape_names(Kernel kernel);
[[nodiscard]] std::vector<std::string> axis_names(Kernel kernel);

/// What the kernel is priced by, the keys of its fits: "bfloat16", "fp8 power_law_1.2", "norm", ….
/// No step asks for any other.
[[nodiscard]] std::vector<std::string> variants(Kernel kernel);

}  // namespace tokenline::hw
