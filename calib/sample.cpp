#include "calib/sample.hpp"

#include <array>
#include <cmath>
#include <utility>

namespace tokenline::calib {
namespace {

constexpr std::array<hw::KernelFits hw::Gpu::*, 9> kernel_fits{&hw::Gpu::gemm,
                                                               &hw::Gpu::prefill_attention,
                                                               &hw::Gpu::decode_attention,
                                                               &hw::Gpu::chunked_prefill,
                                                               &hw::Gpu::mixed_decode,
                                                               &hw::Gpu::experts,
                                                               &hw::Gpu::mla_prefill,
                                                               &hw::Gpu::mla_decode,
                                                               &hw::Gpu::elementwise};

}  // namespace

hw::KernelFits& fits_of(hw::Gpu& gpu, Kernel kernel) {
  return gpu.*kernel_fits.at(static_cast<std::size_t>(kernel));
}

const hw::KernelFits& fits_of(const hw::Gpu& gpu, Kernel kernel) {
  return gpu.*kernel_fits.at(static_cast<std::size_t>(kernel));
}

Sample gemm_sample(const hw::Datasheet& gpu, const hw::GemmShape& shape, Seconds time) {
  return {Kernel::gemm,
          std::string(models::name(shape.precision)),
          {shape.n, shape.k},
          {shape.m},
          hw::gemm_terms(gpu, shape),
          time};
}

Sample attention_sample(Kernel kernel, const hw::Heads& heads, std::int64_t kv_element,
                        std::vector<std::int64_t> point, const hw::KernelTerms& terms,
                        Seconds time) {
  const auto shape = hw::attention_shape(heads);
  return {kernel,
          std::string(hw::kv_precision(kv_element)),
          {shape.begin(), shape.end()},
          std::move(point),
          terms,
          time};
}

Sample prefill_sample(const hw::Datasheet& gpu, const hw::Heads& heads, const hw::Prefill& prefill,
                      Seconds time) {
  return attention_sample(
      Kernel::prefill_attention, heads, prefill.kv_element, {prefill.batch, prefill.new_tokens},
      hw::prefill_terms(gpu, hw::usual_prefill(gpu.generation), heads, prefill), time);
}

Sample decode_sample(const hw::Datasheet& gpu, const hw::Heads& heads, const hw::Decode& decode,
                     Seconds time) {
  return attention_sample(Kernel::decode_attention, heads, decode.kv_element,
                          {decode.sequences, decode.context / decode.sequences},
                          hw::decode_terms(gpu, hw::DecodeKernel::flash_decoding, heads, decode),
                          time);
}

Sample elementwise_sample(std::string_view kernel, Bytes per_token, std::int64_t tokens,
                          Seconds time) {
  return {Kernel::elementwise,
          std::string(kernel),
          {std::llround(per_token.value())},
          {tokens},
          {.bytes = static_cast<double>(tokens) * per_token},
          time};
}

}  // namespace tokenline::calib
