#include "tools/validate/recipe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tools/validate/engine_version.hpp"

namespace tokenline::validate {
namespace {

bool is(const Deployment& server, std::string_view part) {
  return server.model.find(part) != std::string::npos;
}

template <class... Values>
void set(Deployment& server, fmt::format_string<Values...> key, Values&&... values) {
  server.engine_keys.push_back(fmt::format(key, std::forward<Values>(values)...));
}

/// 70b_h{1,2}00_slurm.sh and gptoss_fp4_h{1,2}00.sh: --async-scheduling, no prefix caching,
/// --max-num-batched-tokens 8192, --max-num-seqs $CONC. Later versions of the former add an fp8 KV
/// cache; the queueing that was measured on two H100 at 8192 prompt tokens needs one of 16 bit.
void inferencex_vllm(Deployment& server, const ClosedLoop& load) {
  if (!is(server, "Llama-3.1-70B") && !is(server, "gpt-oss-")) return;
  server.preset = "vllm-v1-async";
  set(server, "max_num_seqs: {}", load.concurrency);
  set(server, "max_num_batched_tokens: 8192");
  set(server, "enable_prefix_caching: false");
}

/// 70b_fp8_h200_trt_slurm.sh (--max_num_tokens $MAX_MODEL_LEN), dsr1_fp8_h200_trt.sh
/// (MAX_NUM_TOKENS, 0.75 of the free memory) and gptoss_fp4_h200_trt.sh (--max_batch_size
/// $CONC, --max_num_tokens 20000, 0.85). Not modelled: batch_wait_timeout_iters of the first.
void inferencex_trtllm(Deployment& server, const ClosedLoop& load) {
  if (is(server, "gpt-oss-")) {
    set(server, "max_num_seqs: {}", load.concurrency);
    set(server, "max_num_batched_tokens: 20000");
    set(server, "gpu_memory_utilization: 0.85");
  } else if (is(server, "Llama-3.1-70B")) {
    set(server, "max_num_batched_tokens: {}", load.max_model_len());
    set(server, "max_num_seqs: {}", std::min<std::int64_t>(2048, load.max_model_len()));
  } else if (is(server, "DeepSeek-")) {
    const std::int64_t tokens = (load.concurrency + load.prompt_tokens + 64 + 63) / 64 * 64;
    set(server, "max_num_batched_tokens: {}", tokens);
    set(server, "max_num_seqs: {}", std::min<std::int64_t>(2048, tokens));
    set(server, "gpu_memory_utilization: 0.75");
  }
}

/// dsr1_fp8_h200.sh: --chunked-prefill-size 32768, --max-running-requests 256, and
/// --mem-fraction-static 0.82, which leaves 0.18 of 139.72 GiB.
void inferencex_sglang(Deployment& server) {
  if (!is(server, "DeepSeek-")) return;
  set(server, "max_num_batched_tokens: 32768");
  set(server, "max_num_seqs: 256");
  set(server, "static_reserve: 25.15 GiB");
}

}  // namespace

void apply_inferencex_recipe(Deployment& server, std::string_view engine, const ClosedLoop& load) {
  if (engine == "vllm") inferencex_vllm(server, load);
  if (engine == "trtllm") inferencex_trtllm(server, load);
  if (engine == "sglang") inferencex_sglang(server);
}

void apply_aiconfigurator_recipe(Deployment& server, std::string_view engine,
                                 std::string_view version, const ClosedLoop& load) {
  if (engine != "trtllm" && engine != "vllm") return;
  const bool first = engine == "vllm" || parse_version(version) == EngineVersion{1, 0};
  const std::int64_t sequences =
      first ? load.concurrency : std::max<std::int64_t>(512, load.concurrency);
  set(server, "max_num_seqs: {}", sequences);
  set(server, "max_num_batched_tokens: {}", sequences + load.prompt_tokens + (first ? 1000 : 1500));
  if (engine == "trtllm") set(server, "gpu_memory_utilization: 0.8");
}

}  // namespace tokenline::validate
