#include "tests/support/random_pools.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "sim/base/integer.hpp"
#include "tests/support/dice.hpp"

namespace tokenline::test {
namespace {

/// A pool whose blocks hold one to two of the longest requests beside the watermark.
std::string draw_pool(Dice& dice, std::string_view name, std::string_view role,
                      std::int64_t request_blocks) {
  const std::int64_t blocks = 2 + request_blocks * 10 / 9 + dice.between(0, request_blocks);
  const std::int64_t replicas = dice.between(1, 3);
  const std::string_view degree = dice.word({"1", "2", "4", "8"});
  return fmt::format(
      "    {}: {{role: {}, replicas: {}, tensor_parallel_size: {}, engine: "
      "{{num_gpu_blocks_override: {}}}}}\n",
      name, role, replicas, degree, blocks);
}

/// `dice`: of the rest; `alike`: of what prompts begin with.
std::string draw_traffic(Dice& dice, Dice& alike, std::int64_t max_model_len) {
  const std::int64_t longest_answer = dice.between(1, max_model_len / 3 + 1);
  const std::string_view rate = dice.word({"10", "100", "1000"});
  const std::int64_t requests = dice.between(20, 80);
  std::int64_t longest_prompt = max_model_len - longest_answer;
  std::string prefix;
  if (alike.one_in(2)) {
    const std::int64_t tokens = alike.between(1, longest_prompt / 2);
    longest_prompt -= tokens;
    prefix =
        fmt::format("    shared_prefix: {{tokens: {}, groups: {}}}\n", tokens, alike.between(1, 3));
  }
  return fmt::format(
      "traffic:\n  chat:\n    arrival: {{process: poisson, rate: {}/s}}\n    num_prompts: {}\n"
      "    prompt_tokens: {{distribution: uniform, min: 1, max: {}}}\n"
      "    output_tokens: {{distribution: uniform, min: 1, max: {}}}\n{}",
      rate, requests, longest_prompt, longest_answer, prefix);
}

}  // namespace

std::string random_pools(std::uint64_t seed) {
  Dice dice(seed, "random_pools");
  const std::string_view scheduler =
      dice.word({"chunked", "chunked", "prefill_first", "prefill_first_chunked", "orca"});
  const std::int64_t max_model_len = dice.between(64, 512);
  const std::int64_t seqs = dice.between(1, 12);
  const bool in_pieces = scheduler == "chunked" || scheduler == "prefill_first_chunked";
  const std::int64_t tokens =
      std::max(seqs, in_pieces ? dice.between(16, max_model_len) : max_model_len);
  const std::int64_t block = std::int64_t{1} << dice.between(0, 5);
  const std::int64_t request_blocks = ceil_div(max_model_len, block);
  std::string yaml =
      fmt::format("scenario: pools\nseed: {}\nmodel: llama-3.1-8b\ncluster:\n", seed);
  yaml += fmt::format("  gpu: h100_sxm\n  network: {{node: hgx_h100, fabric: {}}}\n",
                      dice.word({"infiniband_ndr", "roce_100g", "ethernet_25g"}));
  yaml +=
      fmt::format("  router: {}\n", dice.word({"least_outstanding", "round_robin", "least_kv"}));
  yaml += "  pools:\n" + draw_pool(dice, "p", "prefill", request_blocks);
  yaml += draw_pool(dice, "d", "decode", request_blocks);
  if (dice.one_in(3)) yaml += draw_pool(dice, "b", "both", request_blocks);
  yaml += fmt::format("  disaggregate: {{min_prompt_tokens: {}, ", dice.word({"1", "1", "50"}));
  yaml += fmt::format("kv_transfer: {}, ", dice.word({"whole", "layerwise"}));
  yaml += fmt::format("first_token: {}}}\n", dice.word({"prefill", "decode"}));
  yaml += fmt::format("engine:\n  preset: {}\n", dice.word({"vllm-v1", "vllm-v0", "sglang"}));
  yaml += fmt::format(
      "  scheduler: {}\n  max_num_batched_tokens: {}\n  max_num_seqs: {}\n  max_model_len: {}\n"
      "  block_size: {}\n",
      scheduler, tokens, seqs, max_model_len, block);
  yaml += fmt::format("  watermark: {}\n", dice.word({"0", "0.01", "0.1"}));
  yaml += fmt::format("  enable_prefix_caching: {}\n", dice.word({"true", "false"}));
  yaml += fmt::format("  schedule_ahead: {}\n", dice.word({"true", "false"}));
  Dice alike(seed, "prefixes");
  return yaml + draw_traffic(dice, alike, max_model_len);
}

}  // namespace tokenline::test
