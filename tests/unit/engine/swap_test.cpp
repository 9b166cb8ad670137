// Preemption by swap: what it costs, what it keeps, and what it is refused with.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>

#include "sim/engine/run.hpp"
#include "tests/support/scratch.hpp"

using namespace tokenline;

namespace {

constexpr std::int64_t block = 16;

/// Two requests of one prompt fill the pool; when both need one more block, the second gives up its
/// own and comes back when the first has ended, which needs as many as the prompt has and one.
RunResult two_requests(std::int64_t prompt, const std::string& engine, Scenario* kept = nullptr) {
  const Scratch folder;
  const std::int64_t blocks = prompt / block;
  (void)folder.write(
      "two.csv",
      fmt::format("arrival_s,prompt_tokens,output_tokens\n0,{0},10\n0,{0},12\n", prompt));
  Scenario scenario = parse_scenario(
      folder / "s.yaml",
      fmt::format("scenario: two\nmodel: llama-3.1-8b\n"
                  "cluster: {{gpu: h100_sxm, network: {{node: hgx_h100}}}}\n"
                  "engine: {{preset: vllm-v0, watermark: 0, max_model_len: {}, block_size: {}, "
                  "max_num_batched_tokens: 8192, num_gpu_blocks_override: {}, {}}}\n"
                  "traffic: {{two: {{trace: {{file: two.csv, format: csv}}}}}}\n",
                  prompt + block, block, 2 * blocks + 1, engine));
  RunResult result = run(scenario);
  REQUIRE(result.audit.passed);
  REQUIRE(result.log.records.size() == 2);
  REQUIRE(result.log.records[1].preemptions == 1);
  if (kept != nullptr) *kept = std::move(scenario);
  return result;
}

/// PCIe 5.0 x16: 64 GB/s, 78 % of it for copies; each layer's K and V of a block a copy of 0.457
/// µs; two hops of 0.5 µs and 0.1 µs of memory.
Duration copy(std::int64_t blocks) {
  const double bytes = static_cast<double>(blocks) * block * 131'072.0;
  const double pieces = static_cast<double>(blocks) * 32 * 2;
  return to_duration(Seconds(1.1e-6 + pieces * 0.457e-6 + bytes / (0.78 * 64e9)));
}

bool close(Duration a, Duration b) { return std::abs((a - b).count()) <= 5; }

const std::string swap = "preemption_mode: swap";

std::string mistakes(const std::string& cluster, const std::string& engine) {
  try {
    (void)parse_scenario("s.yaml",
                         fmt::format("scenario: s\nmodel: llama-3.1-8b\n"
                                     "cluster: {{gpu: h100_sxm{}}}\nengine: {{{}}}\ntraffic:\n"
                                     "  t: {{arrival: {{process: constant, rate: 1/s}}, "
                                     "num_prompts: 1, prompt_tokens: 9, output_tokens: 9}}\n",
                                     cluster, engine));
  } catch (const config::ConfigError& e) {
    return e.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a swap delays the step before which it copies by latency, pieces and bytes", "[swap]") {
  const std::int64_t blocks = GENERATE(4, 32, 128);
  const RunResult result = two_requests(blocks * block, swap);
  const InstanceStats& stats = result.instances[0].whole;
  CHECK(stats.swapped_out_blocks == blocks);
  CHECK(stats.swapped_in_blocks == blocks);
  CHECK(stats.swap_peak_blocks == blocks);
  CHECK(stats.recomputed_tokens == 0);
  CHECK(stats.prefilled_tokens == 2 * blocks * block);
  CHECK(close(stats.swapping, 2 * copy(blocks)));
  // The first request waits for the copy out, the second for the copy back.
  for (const RequestRecord& record : result.log.records) {
    CHECK(record.recomputed_tokens == 0);
    CHECK(close(record.parts[Part::transfer_wire], copy(blocks)));
    CHECK(record.parts.sum() == record.e2el());
  }
}

TEST_CASE("a swap beats the prefill that it spares from the length on that the link gives",
          "[swap]") {
  // Swapped, a decode follows the copies; computed again, the prefill emits that token. The rest of
  // the two runs is the same. Both read all weights, so that a short prefill costs nothing more.
  bool shortest_loses = false;
  bool longest_gains = false;
  for (const std::int64_t blocks : {8, 16, 64, 256}) {
    CAPTURE(blocks);
    Scenario scenario;
    const RunResult swapped = two_requests(blocks * block, swap, &scenario);
    const RunResult computed = two_requests(blocks * block, "preemption_mode: recompute");
    const hw::Chunk again{.new_tokens = blocks * block + 1, .past_tokens = 0};
    const Duration prefill =
        to_duration(scenario.cost->price({.chunks = {&again, 1}, .sampled = 1}).time);
    const Duration decode = to_duration(scenario.cost
                                            ->price({.decode_sequences = 1,
                                                     .decode_context = blocks * block + 1,
                                                     .chunks = {},
                                                     .sampled = 1})
                                            .time);
    const Duration gain = prefill - decode - 2 * copy(blocks);
    CHECK(close(computed.log.records[1].finish - swapped.log.records[1].finish, gain));
    CHECK(computed.log.records[1].recomputed_tokens == blocks * block);
    if (blocks == 8) shortest_loses = gain < Duration{};
    if (blocks == 256) longest_gains = gain > Duration{};
  }
  CHECK(shortest_loses);
  CHECK(longest_gains);
}

TEST_CASE("what the swap space cannot hold is computed again", "[swap]") {
  // A block of Llama-3.1-8B is 2 MiB.
  const RunResult result =
      two_requests(32 * block, swap + ", swap_space: " + std::to_string(31 * 2) + " MiB");
  const InstanceStats& stats = result.instances[0].whole;
  CHECK(result.instances[0].swap_blocks == 31);
  CHECK(stats.swap_space_lacking == 1);
  CHECK(stats.swapped_out_blocks == 0);
  CHECK(stats.recomputed_tokens == 32 * block);
}

TEST_CASE("a swap is refused where it is not modelled, at its key", "[swap][scenario]") {
  const std::string network = ", network: {node: hgx_h100}";
  const std::string v0 = "preset: vllm-v0, max_model_len: 4096, ";
  CHECK(mistakes(network, v0 + swap).empty());
  CHECK_THAT(mistakes("", v0 + swap), Catch::Contains("s.yaml:4:") &&
                                          Catch::Contains("engine.preemption_mode") &&
                                          Catch::Contains("no network is named"));
  CHECK_THAT(mistakes(network, "max_model_len: 4096, enable_prefix_caching: false, " + swap),
             Catch::Contains("scheduler 'chunked' stands for engines that never swap"));
  CHECK_THAT(mistakes(network, v0 + "enable_prefix_caching: true, " + swap),
             Catch::Contains("not modelled with enable_prefix_caching"));
  CHECK_THAT(mistakes(network + ", pipeline_parallel_size: 2", v0 + swap),
             Catch::Contains("one pipeline stage"));
  CHECK_THAT(mistakes(network, v0 + swap + ", swap_space: 1 MiB"),
             Catch::Contains("engine.swap_space") && Catch::Contains("holds no KV block, of 2.0"));
  CHECK_THAT(mistakes(network, v0 + "swap_space: 1 GiB"),
             Catch::Contains("engine.swap_space: goes with preemption_mode: swap") &&
                 !Catch::Contains("unknown key"));
  CHECK_THAT(mistakes(network, v0 + "kv_layout: contiguous, " + swap),
             Catch::Contains("nothing is preempted that could be swapped"));
}

TEST_CASE("a pool that recomputes does not mind the swap space of the others", "[swap][scenario]") {
  const std::string pools =
      ", network: {node: hgx_h100, fabric: infiniband_ndr}, pools: {a: {role: both}, b: {role: "
      "both, engine: {preemption_mode: recompute";
  const std::string engine = "preset: vllm-v0, max_model_len: 4096, swap_space: 8 GiB, " + swap;
  CHECK(mistakes(pools + "}}}", engine).empty());
  CHECK_THAT(mistakes(pools + ", swap_space: 1 GiB}}}", engine),
             Catch::Contains("cluster.pools.b.engine.swap_space: goes with preemption_mode: swap"));
}
