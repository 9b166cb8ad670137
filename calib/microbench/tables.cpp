#include "calib/microbench/tables.hpp"

#include <fmt/format.h>

#include <string_view>

#include "sim/base/check.hpp"

namespace tokenline::calib::microbench {
namespace {

std::string microseconds(Seconds time) { return fmt::format("{:.3f}", time.value() * 1e6); }

std::string attention_csv(std::string_view length, std::span<const AttentionCall> calls,
                          std::span<const Seconds> times) {
  TOKENLINE_CHECK(calls.size() == times.size(), "a time for every call");
  std::string text =
      fmt::format("dtype,kv_dtype,head_dim,q_heads,kv_heads,batch,{},latency_us\n", length);
  for (std::size_t i = 0; i < calls.size(); ++i)
    text +=
        fmt::format("bfloat16,bfloat16,{},{},{},{},{},{}\n", calls[i].heads.dim, calls[i].heads.q,
                    calls[i].heads.kv, calls[i].batch, calls[i].length, microseconds(times[i]));
  return text;
}

}  // namespace

std::string gemm_csv(std::span<const hw::GemmShape> calls, std::span<const Seconds> times) {
  TOKENLINE_CHECK(calls.size() == times.size(), "a time for every call");
  std::string text = "dtype,m,n,k,latency_us\n";
  for (std::size_t i = 0; i < calls.size(); ++i)
    text += fmt::format("{},{},{},{},{}\n", models::name(calls[i].precision), calls[i].m,
                        calls[i].n, calls[i].k, microseconds(times[i]));
  return text;
}

std::string prefill_attention_csv(std::span<const AttentionCall> calls,
                                  std::span<const Seconds> times) {
  return attention_csv("q_len", calls, times);
}

std::string decode_attention_csv(std::span<const AttentionCall> calls,
                                 std::span<const Seconds> times) {
  return attention_csv("context_len", calls, times);
}

}  // namespace tokenline::calib::microbench
