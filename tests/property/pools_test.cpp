// Random scenarios of pools that hand over KV. The slow engine has no pools: what is checked are
// laws, the audit of every run among them.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "hwmodels/network/transfer.hpp"
#include "sim/base/integer.hpp"
#include "sim/engine/resharding.hpp"
#include "sim/engine/run.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/random_scenario.hpp"

using namespace tokenline;
using namespace tokenline::test;

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

template <class Check>
void for_scenarios(int count, Check check) {
  for (int i = 0; i < sample(count); ++i) {
    const auto seed = static_cast<std::uint64_t>(i);
    const std::string yaml = random_pools(seed);
    INFO("scenario of seed " << seed << ":\n" << yaml);
    check(yaml);
  }
}

RunResult run_text(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
  Scenario scenario = parse_scenario("random.yaml", yaml, {overrides});
  return run(scenario);
}

/// The least time in which the KV of a prompt can move between any two replicas, all of it after
/// the prefill.
Seconds least_wire(const Scenario& scenario, std::int64_t tokens) {
  std::vector<const Pool*> pools;
  for (const Pool& pool : scenario.pools)
    pools.insert(pools.end(), static_cast<std::size_t>(pool.replicas), &pool);
  const models::Architecture& model = scenario.cost->setup().model;
  Seconds least(1e9);
  for (std::size_t from = 0; from < pools.size(); ++from)
    for (std::size_t to = 0; to < pools.size(); ++to) {
      if (pools[from]->role != PoolRole::prefill || pools[to]->role != PoolRole::decode) continue;
      Seconds longest;
      for (const KvSlice& slice : reshard(model.kv_heads, pools[from]->parallelism.tensor,
                                          pools[to]->parallelism.tensor)) {
        const hw::Path path = scenario.cluster.network->route(
            scenario.cluster.gpus[from][static_cast<std::size_t>(slice.from)],
            scenario.cluster.gpus[to][static_cast<std::size_t>(slice.to)]);
        const std::int64_t bytes = tokens * model.layers * slice.heads * 4 * model.head_dim;
        const std::int64_t pieces = ceil_div(tokens, scenario.engine.block_size) * model.layers * 2;
        longest = std::max(longest, hw::transfer_time(path, Bytes(real(bytes)), pieces));
      }
      least = std::min(least, longest);
    }
  return least;
}

}  // namespace

TEST_CASE("whatever the pools, every request is answered and every audit holds", "[pools]") {
  std::int64_t preemptions = 0;
  std::int64_t waited = 0;  // for blocks to decode from
  std::int64_t spared = 0;  // runs in which a decode replica had some of a prompt
  for_scenarios(120, [&](const std::string& yaml) {
    const RunResult result = run_text(yaml);
    for (const AuditCheck& check : result.audit.checks) {
      INFO(check.id << " " << check.name << ": " << check.details);
      REQUIRE(check.passed);
    }
    spared += std::ranges::any_of(result.instances, [](const InstanceResult& instance) {
      return instance.whole.spared_tokens > 0;
    });
    for (const RequestRecord& record : result.log.records) {
      REQUIRE(record.outcome == Outcome::completed);
      preemptions += record.preemptions;
      waited += record.parts[Part::transfer_queue] > Duration{};
    }
  });
  CHECK(preemptions > 50);
  CHECK(waited > 50);
  CHECK(spared > sample(120) / 10);
}

TEST_CASE("the same pools and seed give the same records and the same order of events", "[pools]") {
  for_scenarios(30, [](const std::string& yaml) {
    const RunResult a = run_text(yaml);
    const RunResult b = run_text(yaml);
    REQUIRE(a.log.records == b.log.records);
    REQUIRE(a.fingerprint == b.fingerprint);
  });
}

TEST_CASE("no KV moves faster than alone on the best path between its pools", "[pools]") {
  for_scenarios(40, [](const std::string& yaml) {
    const std::vector<std::string> whole{"cluster.disaggregate.kv_transfer=whole",
                                         "engine.enable_prefix_caching=false"};
    const Scenario scenario = parse_scenario("random.yaml", yaml, {whole});
    const RunResult result = run_text(yaml, whole);
    for (const RequestRecord& record : result.log.records) {
      const Duration wire = record.parts[Part::transfer_wire];
      if (wire == Duration{}) continue;
      REQUIRE(to_seconds(wire) >= least_wire(scenario, record.prompt_tokens) - Seconds(2e-9));
    }
  });
}

TEST_CASE("one pool of replicas that do both is a cluster without pools", "[pools]") {
  for_scenarios(40, [](const std::string& yaml) {
    const std::size_t begin = yaml.find("  pools:");
    const std::size_t end = yaml.find("engine:\n", begin);
    std::string pooled = yaml;
    pooled.replace(begin, end - begin, "  pools: {own: {role: both, replicas: 2}}\n");
    std::string plain = yaml;
    plain.replace(begin, end - begin, "  replicas: 2\n");
    const RunResult a = run_text(pooled);
    const RunResult b = run_text(plain);
    REQUIRE(a.log.records == b.log.records);
    REQUIRE(a.fingerprint == b.fingerprint);
  });
}

TEST_CASE("where no prompt is long enough to be handed over, the prefill replicas are idle",
          "[pools]") {
  for_scenarios(40, [](const std::string& yaml) {
    const std::int64_t longest = parse_scenario("random.yaml", yaml).engine.max_model_len;
    const RunResult result =
        run_text(yaml, {fmt::format("cluster.disaggregate.min_prompt_tokens={}", longest)});
    REQUIRE(result.transfers);
    REQUIRE(result.transfers->begun == 0);
    for (const InstanceResult& instance : result.instances)
      if (instance.pool == "p") REQUIRE(instance.whole.steps == 0);
  });
}
