#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hwmodels/gpu.hpp"
#include "hwmodels/kernels/attention.hpp"
#include "hwmodels/kernels/fitted_kernel.hpp"
#include "hwmodels/kernels/gemm.hpp"
#include "hwmodels/kernels/kernel_cost.hpp"

namespace tokenline::calib {

using hw::axis_names;
using hw::Kernel;
using hw::name;
using hw::shape_names;

/// The fits of a kernel in a GPU.
[[nodiscard]] const hw::KernelFits& fits_of(const hw::Gpu& gpu, Kernel kernel);
[[nodiscard]] hw::KernelFits& fits_of(hw::Gpu& gpu, Kernel kernel);

/// One measured call and its account.
struct Sample {
  Kernel kernel = Kernel::gemm;
  std::string variant;  ///< Key of its fits: "bfloat16", "fp8_block balanced", ….
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> point;
  hw::KernelTerms terms;
  Seconds time;
};

/// A sample of attention by these heads at a point of two axes.
[[nodiscard]] Sample attention_sample(Kernel kernel, const hw::Heads& heads,
                                      std::int64_t kv_element, std::vector<std::int64_t> point,
                                      const hw::KernelTerms& terms, Seconds time);

/// Samples of kernels that both isolated and in-engine tables hold.
[[nodiscard]] Sample gemm_sample(const hw::Datasheet& gpu, const hw::GemmShape& shape,
                                 Seconds time);
[[nodiscard]] Sample prefill_sample(const hw::Datasheet& gpu, const hw::Heads& heads,
                                    const hw::Prefill& prefill, Seconds time);
[[nodiscard]] Sample decode_sample(const hw::Datasheet& gpu, const hw::Heads& heads,
                                   const hw::Decode& decode, Seconds time);
[[nodiscard]] Sample elementwise_sample(std::string_view kernel, Bytes per_token,
                                        std::int64_t tokens, Seconds time);

}  // namespace tokenline::calib
