#include "hwmodels/kernels/fitted_kernel.hpp"

#include <array>

namespace tokenline::hw {
namespace {

using Names = std::vector<std::string>;

constexpr std::array<std::string_view, 9> kernel_names{
    "gemm",    "prefill_attention", "decode_attention", "chunked_prefill", "mixed_decode",
    "experts", "mla_prefill",       "mla_decode",       "elementwise"};

const Names precisions{"bfloat16", "fp8", "fp8_block", "mxfp4"};
const Names kv_precisions{"bfloat16", "fp8"};

/// Every word of `first` before every word of `second`.
Names pairs(const Names& first, const Names& second) {
  Names all;
  for (const std::string& a : first)
    for (const std::string& b : second) all.push_back(a + ' ' + b);
  return all;
}

}  // namespace

std::string_view name(Kernel kernel) { return kernel_names.at(static_cast<std::size_t>(kernel)); }

Names shape_names(Kernel kernel) {
  switch (kernel) {
    case Kernel::gemm:
      return {"n", "k"};
    case Kernel::prefill_attention:
    case Kernel::decode_attention:
    case Kernel::chunked_prefill:
    case Kernel::mixed_decode:
      return {"head_dim", "q_heads", "kv_heads", "shared"};
    case Kernel::experts:
      return {"hidden_size", "intermediate_size", "experts_per_token", "experts", "tensor",
              "expert"};
    case Kernel::mla_prefill:
    case Kernel::mla_decode:
      return {"q_heads"};
    case Kernel::elementwise:
      return {"bytes_per_token"};
  }
  return {};
}

Names axis_names(Kernel kernel) {
  switch (kernel) {
    case Kernel::gemm:
      return {"m"};
    case Kernel::prefill_attention:
    case Kernel::mla_prefill:
      return {"batch", "length"};
    case Kernel::decode_attention:
    case Kernel::mixed_decode:
    case Kernel::mla_decode:
      return {"batch", "context"};
    case Kernel::chunked_prefill:
      return {"new", "past"};
    case Kernel::experts:
    case Kernel::elementwise:
      return {"tokens"};
  }
  return {};
}

Names variants(Kernel kernel) {
  switch (kernel) {
    case Kernel::gemm:
      return precisions;
    case Kernel::prefill_attention:
    case Kernel::decode_attention:
    case Kernel::chunked_prefill:
    case Kernel::mixed_decode:
      return kv_precisions;
    case Kernel::experts:
      return pairs(precisions, {"balanced", "power_law_1.01", "power_law_1.2"});
    case Kernel::mla_prefill:
    case Kernel::mla_decode: {
      Names projections = precisions;
      projections.emplace_back("attention");
      return pairs(kv_precisions, projections);
    }
    case Kernel::elementwise:
      return {"activation", "add", "embedding", "final_norm", "norm", "rotary", "sampler", "other"};
  }
  return {};
}

}  // namespace tokenline::hw
