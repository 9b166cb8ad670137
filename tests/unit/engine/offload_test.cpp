// Requests that load KV from tiers behind the pool instead of computing it.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>

#include "sim/engine/run.hpp"
#include "tests/support/scratch.hpp"

using namespace tokenline;

namespace {

constexpr std::int64_t block = 16;
constexpr std::int64_t pool = 200;  // blocks

struct Row {
  std::int64_t tokens;
  std::string hashes;
};

/// Requests with one token of output, ten seconds apart, whose prompts begin with texts of 512
/// tokens each; the pool holds 3,200 tokens.
RunResult requests(const std::vector<Row>& rows, const std::string& engine,
                   Scenario* kept = nullptr) {
  const Scratch folder;
  std::string trace;
  for (std::size_t i = 0; i < rows.size(); ++i)
    trace += fmt::format(
        "{{\"timestamp\": {}, \"input_length\": {}, \"output_length\": 1, \"hash_ids\": [{}]}}\n",
        10'000 * i, rows[i].tokens, rows[i].hashes);
  (void)folder.write("t.jsonl", trace);
  Scenario scenario = parse_scenario(
      folder / "s.yaml",
      fmt::format("scenario: s\nmodel: llama-3.1-8b\n"
                  "cluster: {{gpu: h100_sxm, network: {{node: hgx_h100}}}}\n"
                  "engine: {{preset: vllm-v1, max_model_len: 3200, max_num_batched_tokens: 4096, "
                  "num_gpu_blocks_override: {}, {}}}\n"
                  "traffic:\n  t: {{trace: {{file: t.jsonl, format: mooncake}}}}\n",
                  pool, engine));
  RunResult result = run(scenario);
  REQUIRE(result.audit.passed);
  if (kept != nullptr) *kept = std::move(scenario);
  return result;
}

/// A block of 2 MiB is one piece of 0.457 µs; PCIe 5.0 x16 as hgx_h100 has it.
Duration load_time(std::int64_t blocks) {
  const double bytes = static_cast<double>(blocks) * block * 131'072.0;
  return to_duration(
      Seconds(1.1e-6 + static_cast<double>(blocks) * 0.457e-6 + bytes / (0.78 * 64e9)));
}

/// The same from the drives: 54.4 GB/s and 80 µs, but the GPU's PCIe is slower.
Duration drive_time(std::int64_t blocks) {
  return load_time(blocks) + to_duration(Seconds(80e-6 - 0.1e-6));
}

bool close(Duration a, Duration b) { return std::abs((a - b).count()) <= 5; }

Duration price(const Scenario& scenario, std::int64_t tokens, std::int64_t past) {
  const hw::Chunk chunk{.new_tokens = tokens, .past_tokens = past};
  return to_duration(scenario.cost->price({.chunks = {&chunk, 1}, .sampled = 1}).time);
}

/// The first prompt comes again after three others have taken its blocks in the pool.
const std::vector<Row> comes_again{{1500, "1, 2, 3"},
                                   {1500, "4, 5, 6"},
                                   {1500, "7, 8, 9"},
                                   {1500, "10, 11, 12"},
                                   {1500, "1, 2, 3"}};
constexpr std::int64_t found = 1499 / block;

std::string mistakes(const std::string& cluster, const std::string& engine,
                     const std::string& keys) {
  try {
    (void)parse_scenario("s.yaml",
                         fmt::format("scenario: s\nmodel: llama-3.1-8b\n"
                                     "cluster: {{gpu: h100_sxm{}}}\n"
                                     "engine: {{max_model_len: 4096, {}}}\ntraffic:\n"
                                     "  t: {{arrival: {{process: constant, rate: 1/s}}, "
                                     "num_prompts: 1, prompt_tokens: 9, output_tokens: 9{}}}\n",
                                     cluster, engine, keys));
  } catch (const config::ConfigError& e) {
    return e.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a prompt that is in host memory is loaded in bytes over bandwidth", "[offload]") {
  Scenario scenario;
  const RunResult result = requests(comes_again, "kv_offload: {host: 10 GB}", &scenario);
  const InstanceStats& stats = result.instances[0].whole;
  const RequestRecord& last = result.log.records[4];
  CHECK(stats.hit_tokens == 0);
  CHECK(stats.external_queried_tokens == stats.queried_tokens);
  CHECK(stats.external_hit_tokens == found * block);
  CHECK(result.log.cached_tokens[4] == found * block);
  CHECK(stats.tiers[0].read_blocks == found);
  CHECK(close(last.parts[Part::transfer_wire], load_time(found)));
  CHECK(last.parts[Part::transfer_queue] == Duration{});
  // What is computed is the rest, behind it.
  const std::int64_t past = found * block;
  CHECK(last.parts[Part::own_prefill] == price(scenario, 1500 - past, past));
  CHECK(last.ttft() == last.parts[Part::transfer_wire] + last.parts[Part::own_prefill] +
                           last.parts[Part::host_gap]);
  // Without tiers all of it is computed again.
  const RunResult without = requests(comes_again, "enable_prefix_caching: true");
  CHECK(without.log.records[4].ttft() - last.ttft() == price(scenario, 1500, 0) -
                                                           price(scenario, 1500 - past, past) -
                                                           last.parts[Part::transfer_wire]);
  CHECK(last.ttft() < without.log.records[4].ttft());
}

TEST_CASE("what host memory overwrites is loaded from the drives", "[offload]") {
  // Four prompts of 93 whole blocks; host memory holds two of them.
  const RunResult result =
      requests(comes_again,
               fmt::format("kv_offload: {{host: {} B, nvme: 10 GB}}", 2 * (found)*block * 131'072));
  const InstanceStats& stats = result.instances[0].whole;
  CHECK(stats.tiers[0].read_blocks == 0);
  CHECK(stats.tiers[1].written_blocks >= found);
  CHECK(stats.tiers[1].read_blocks == found);
  CHECK(close(result.log.records[4].parts[Part::transfer_wire], drive_time(found)));
  // Without drives it is gone.
  const RunResult host =
      requests(comes_again, fmt::format("kv_offload: {{host: {} B}}", 2 * found * block * 131'072));
  CHECK(host.instances[0].whole.external_hit_tokens == 0);
  CHECK(host.instances[0].whole.tiers[0].evicted_blocks >= found);
}

TEST_CASE("two loads queue for one link, and what was loaded is in the pool again", "[offload]") {
  std::vector<Row> rows = comes_again;
  rows.insert(rows.end(), {{1040, "4, 5, 6"}, {1500, "1, 2, 3"}});
  Scenario scenario;
  const RunResult apart = requests(rows, "kv_offload: {host: 10 GB}");
  CHECK(apart.log.cached_tokens[6] == found * block);
  CHECK(apart.instances[0].whole.hit_tokens == found * block);
  // Llama-3.1-8B computes for 20 ms or more, and both have arrived when that ends.
  const Scratch folder;
  std::string trace;
  const auto row = [&](std::int64_t ms, const char* hashes) {
    trace += fmt::format(
        "{{\"timestamp\": {}, \"input_length\": 1040, \"output_length\": 1, \"hash_ids\": [{}]}}\n",
        ms, hashes);
  };
  row(0, "1, 2, 3");
  row(1000, "4, 5, 6");
  row(2000, "7, 8, 9");
  row(3000, "10, 11, 12");
  row(4000, "13, 14, 15");
  row(4001, "1, 2, 3");
  row(4002, "4, 5, 6");
  (void)folder.write("t.jsonl", trace);
  scenario = parse_scenario(
      folder / "s.yaml",
      fmt::format("scenario: s\nmodel: llama-3.1-8b\n"
                  "cluster: {{gpu: h100_sxm, network: {{node: hgx_h100}}}}\n"
                  "engine: {{preset: vllm-v1, max_model_len: 3200, max_num_batched_tokens: 4096, "
                  "num_gpu_blocks_override: {}, kv_offload: {{host: 10 GB}}}}\n"
                  "traffic:\n  t: {{trace: {{file: t.jsonl, format: mooncake}}}}\n",
                  pool));
  const RunResult result = run(scenario);
  REQUIRE(result.audit.passed);
  const auto& records = result.log.records;
  const std::int64_t blocks = 1039 / block;
  CHECK(close(records[5].parts[Part::transfer_wire], load_time(blocks)));
  CHECK(records[5].parts[Part::transfer_queue] == Duration{});
  CHECK(close(records[6].parts[Part::transfer_wire], load_time(blocks)));
  CHECK(close(records[6].parts[Part::transfer_queue], load_time(blocks)));
}

TEST_CASE(
    "with host memory without end the Mooncake trace finds all there is to find, whatever the "
    "pool",
    "[offload]") {
  const std::string root = TOKENLINE_SOURCE_DIR;
  for (const std::int64_t blocks : {300, 2000}) {
    CAPTURE(blocks);
    Scenario scenario = parse_scenario(
        root + "/scenarios/s.yaml",
        "scenario: s\nmodel: llama-3.1-8b\n"
        "cluster: {gpu: h100_sxm, tensor_parallel_size: 8, network: {node: hgx_h100}}\n"
        "engine: {preset: vllm-v1, max_model_len: 131072, block_size: 512, kv_offload: {host: 900 "
        "TB}}\n"
        "traffic:\n  t:\n    trace: {file: traces/mooncake_conversation.jsonl, format: "
        "mooncake}\n");
    for (MemoryPlan& memory : scenario.stage_memory) memory.blocks = blocks;
    const RunResult result = run(scenario);
    CHECK(result.audit.passed);
    const InstanceStats& stats = result.instances[0].whole;
    CHECK(stats.queried_tokens == 144'793'823);
    // tests/unit/engine/shared_prefix_test.cpp has the figure from the hashes alone.
    CHECK(stats.hit_tokens + stats.external_hit_tokens == 54'063'104);
    CHECK(stats.external_hit_tokens > 0);
  }
}

TEST_CASE("tiers are refused where they are not modelled, at their key", "[offload][scenario]") {
  const std::string network = ", network: {node: hgx_h100}";
  const std::string tiers = "kv_offload: {host: 1 GB, nvme: 1 TB}";
  const std::string alike = ", shared_prefix: {tokens: 100}";
  CHECK(mistakes(network, tiers, alike).empty());
  CHECK_THAT(mistakes("", tiers, alike), Catch::Contains("s.yaml:4:") &&
                                             Catch::Contains("engine.kv_offload") &&
                                             Catch::Contains("no network is named"));
  CHECK_THAT(mistakes(network, tiers, ""),
             Catch::Contains("no requests of this traffic begin alike"));
  CHECK_THAT(mistakes(network, tiers + ", enable_prefix_caching: false", alike),
             Catch::Contains("keeps what enable_prefix_caching finds"));
  CHECK_THAT(mistakes(network, tiers + ", scheduler: static", alike),
             Catch::Contains("'static' forms whole batches"));
  CHECK_THAT(mistakes(network, "kv_offload: {host: 1 MB}", alike),
             Catch::Contains("holds no KV block, of 2.0 MiB"));
  CHECK_THAT(mistakes(network, "kv_offload: {}", alike), Catch::Contains("names no tier"));
  CHECK_THAT(mistakes(network, "kv_offload: {host: 0 B}", alike), Catch::Contains("names no tier"));
  CHECK_THAT(mistakes(network, "kv_offload: {disk: 1 GB}", alike), Catch::Contains("disk"));
}
