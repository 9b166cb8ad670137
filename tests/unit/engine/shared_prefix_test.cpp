// What requests that begin alike find in the KV pool, against counts by hand.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "sim/engine/run.hpp"
#include "sim/policies/policies.hpp"
#include "tests/support/scratch.hpp"
#include "tests/unit/traffic/support.hpp"

using namespace tokenline;

namespace {

constexpr std::string_view head =
    "scenario: shared\nmodel: llama-3.1-8b\ncluster: {gpu: h100_sxm}\n";

RunResult run_sharing(const std::string& folder, const std::string& engine,
                      const std::string& traffic) {
  Scenario scenario = parse_scenario(
      folder + "/s.yaml",
      fmt::format("{}engine: {{preset: vllm-v1, enable_prefix_caching: true, max_model_len: 2048, "
                  "{}}}\ntraffic:\n{}",
                  head, engine, traffic));
  RunResult result = run(scenario);
  for (const AuditCheck& check : result.audit.checks) {
    INFO(check.id << " " << check.details);
    REQUIRE(check.passed);
  }
  return result;
}

/// A request of a Mooncake trace.
struct Row {
  std::int64_t tokens = 0;
  std::vector<int> hashes;
};

/// Runs requests 10 s apart, each of one token of answer.
std::vector<std::int64_t> cached_tokens(const std::string& engine, const std::vector<Row>& rows) {
  const Scratch folder;
  std::string trace;
  for (std::size_t i = 0; i < rows.size(); ++i)
    trace += fmt::format(
        "{{\"timestamp\": {}, \"input_length\": {}, \"output_length\": 1, \"hash_ids\": [{}]}}\n",
        10'000 * i, rows[i].tokens, fmt::join(rows[i].hashes, ", "));
  (void)folder.write("t.jsonl", trace);
  return run_sharing(folder / "", engine, "  t:\n    trace: {file: t.jsonl, format: mooncake}\n")
      .log.cached_tokens;
}

}  // namespace

TEST_CASE("of N equal prompts of L tokens all but the first find floor((L - 1) / B) blocks",
          "[engine]") {
  constexpr std::int64_t requests = 20;
  const std::string scheduler = GENERATE(as<std::string>{}, "chunked", "orca", "prefill_first",
                                         "guaranteed_no_evict", "prefill_first_chunked", "static");
  for (const std::int64_t block : {16, 32}) {
    for (const std::int64_t prompt : {15, 16, 17, 95, 96, 97, 1000}) {
      CAPTURE(scheduler, block, prompt);
      // They come at once: what is scheduled in a step is found by the next request of that step.
      const RunResult result = run_sharing(
          "",
          fmt::format("scheduler: {}, block_size: {}, max_num_batched_tokens: 131072", scheduler,
                      block),
          fmt::format("  t:\n    arrival: {{process: closed_loop, max_concurrency: {0}}}\n"
                      "    num_prompts: {0}\n    shared_prefix: {{tokens: {1}}}\n"
                      "    prompt_tokens: 1\n    output_tokens: 5\n",
                      requests, prompt - 1));
      const std::int64_t each = (prompt - 1) / block * block;
      const InstanceStats& stats = result.instances[0].whole;
      CHECK(stats.queried_tokens == requests * prompt);
      CHECK(stats.hit_tokens == (requests - 1) * each);
      CHECK(stats.prefilled_tokens == requests * prompt - (requests - 1) * each);
      CHECK(result.log.cached_tokens.front() == 0);
      CHECK(result.log.cached_tokens.back() == each);
    }
  }
}

TEST_CASE("a prompt that is all there computes its last block again", "[engine]") {
  CHECK(cached_tokens("block_size: 256", {{1024, {1, 2}}, {1024, {1, 2}}}) ==
        std::vector<std::int64_t>{0, 768});
}

TEST_CASE("shared blocks are in the pool once", "[engine]") {
  // 4,096 + 1 tokens of prompt and 5 of answer: 256 shared blocks and one of its own each.
  const auto peak = [](const std::string& caching) {
    Scenario scenario = parse_scenario(
        "s.yaml", fmt::format("{}engine: {{preset: vllm-v1, max_num_batched_tokens: 131072, "
                              "enable_prefix_caching: {}}}\ntraffic:\n  t:\n"
                              "    arrival: {{process: closed_loop, max_concurrency: 8}}\n"
                              "    num_prompts: 8\n    shared_prefix: {{tokens: 4096}}\n"
                              "    prompt_tokens: 1\n    output_tokens: 5\n",
                              head, caching));
    return run(scenario).instances[0].whole.kv_peak_blocks;
  };
  CHECK(peak("true") == 256 + 8);
  CHECK(peak("false") == 8 * 257);
}

TEST_CASE("the second turn of a conversation finds what the first stored", "[engine]") {
  constexpr std::int64_t prompt = 100;
  constexpr std::int64_t answer = 50;
  for (const std::int64_t prefix : {0, 40}) {
    const std::string shared = prefix == 0 ? "" : "    shared_prefix: {tokens: 40}\n";
    const RunResult result = run_sharing(
        "", "block_size: 16",
        fmt::format("  t:\n    arrival: {{process: constant, rate: 0.01/s}}\n"
                    "    session: {{turns: 2, think_time: 1 s, max_context: 1000, "
                    "num_sessions: 2}}\n{}    prompt_tokens: {}\n    output_tokens: {}\n",
                    shared, prompt, answer));
    CAPTURE(prefix);
    // The token emitted last is not stored; conversations have the prefix in common.
    const std::int64_t first = (prefix + prompt + answer - 1) / 16 * 16;
    CHECK(result.log.cached_tokens == std::vector<std::int64_t>{0, first, prefix / 16 * 16, first});
  }
}

namespace {

/// A conversation of two turns of 100 + 50 tokens, of clients with `client`.
std::string talk(const std::string& client) {
  return "  t:\n    arrival: {process: constant, rate: 0.01/s}\n    session: {turns: 2, "
         "think_time: 1 s, max_context: 1000, num_sessions: 1}\n    prompt_tokens: 100\n"
         "    output_tokens: 50\n" +
         client;
}

/// While it lasts a step takes seconds: no attempt that it meets is answered in time.
std::string stall(int from) {
  return fmt::format(
      "faults: [{{kind: straggler, replica: 0, from: {} s, to: {}.5 s, slowdown: 1000}}]\n", from,
      from + 2);
}

}  // namespace

TEST_CASE("clients whose patience suffices find what patient ones find", "[engine]") {
  const RunResult patient = run_sharing("", "block_size: 16", talk(""));
  const RunResult in_time =
      run_sharing("", "block_size: 16", talk("    timeout: 100 s\n    retry: {attempts: 3}\n"));
  CHECK(in_time.log.records == patient.log.records);
  CHECK(in_time.log.cached_tokens == patient.log.cached_tokens);
  CHECK(in_time.log.cached_tokens.back() == (100 + 50 - 1) / 16 * 16);
}

TEST_CASE("an attempt finds the prompt that one before it left, and not what that answered",
          "[engine]") {
  for (const bool abort : {true, false}) {
    CAPTURE(abort);
    const RunResult result =
        run_sharing("", "block_size: 16",
                    talk(fmt::format("    timeout: 1 s\n    abort_on_timeout: {}\n"
                                     "    retry: {{attempts: 30, backoff: 0 s, jitter: 0}}\n",
                                     abort)) +
                        stall(100));
    const auto& records = result.log.records;
    REQUIRE(records.size() == 2);
    REQUIRE(records[0].retries > 0);
    REQUIRE(records[0].outcome == Outcome::completed);
    CHECK(result.log.cached_tokens[0] == (100 - 1) / 16 * 16);
    // The answer that was delivered is the conversation's; those given up are nobody's.
    REQUIRE(records[1].prompt_tokens > 150);
    CHECK(records[1].retries == 0);
    CHECK(result.log.cached_tokens[1] == (100 + 50 - 1) / 16 * 16);
  }
}

TEST_CASE("what a client that asks once has given up serves others as far as they begin alike",
          "[engine]") {
  const RunResult result = run_sharing(
      "", "block_size: 16",
      "  t: {arrival: {process: constant, rate: 0.1/s}, num_prompts: 2, shared_prefix: {tokens: "
      "64}, prompt_tokens: 100, output_tokens: 50, timeout: 1 s}\n" +
          stall(10));
  CHECK(result.log.records[0].outcome == Outcome::timed_out);
  CHECK(result.log.records[1].outcome == Outcome::completed);
  CHECK(result.log.cached_tokens == std::vector<std::int64_t>{0, 64});
}

TEST_CASE("routers with affinity bring a second turn to where the first was", "[engine]") {
  // 60 conversations on 3 replicas, each of two turns of 100 + 50 tokens.
  const auto hits = [](const std::string& router, const std::string& rate) {
    Scenario scenario = parse_scenario(
        "s.yaml",
        fmt::format(
            "scenario: turns\nmodel: llama-3.1-8b\n"
            "cluster: {{gpu: h100_sxm, replicas: 3, router: {}}}\n"
            "engine: {{preset: vllm-v1, block_size: 16}}\ntraffic:\n  t:\n"
            "    arrival: {{process: constant, rate: {}}}\n"
            "    session: {{turns: 2, think_time: {{distribution: exponential, mean: 1 s}}, "
            "max_context: 1000, num_sessions: 60}}\n"
            "    prompt_tokens: 100\n    output_tokens: 50\n",
            router, rate));
    const RunResult result = run(scenario);
    CHECK(result.audit.passed);
    std::int64_t sum = 0;
    for (const InstanceResult& instance : result.instances) sum += instance.whole.hit_tokens;
    return sum;
  };
  constexpr std::int64_t all = 60 * (149 / 16 * 16);
  CHECK(hits("session_affinity", "20/s") == all);
  // What it has of a prompt is 9 blocks, a running request 13: it goes there where little runs.
  CHECK(hits("prefix_affinity", "0.05/s") == all);
  CHECK(hits("prefix_affinity", "20/s") > hits("least_kv", "20/s"));
  // A turn that goes anywhere finds its own one time in three: 20 of 60, deviation 3.7.
  CHECK(hits("round_robin", "20/s") == Approx(all / 3.0).margin(all / 3.0 * 0.9));
}

TEST_CASE("blocks that were used longest ago are overwritten first, each prompt's from its end",
          "[engine]") {
  // 8 blocks of 256 tokens. A prompt of 513 fills two and begins a third, which is of no use.
  const auto prompt = [](int hash) { return Row{513, {hash, 100 + hash}}; };
  const Row a = prompt(1);
  const Row b = prompt(2);
  const Row c = prompt(3);
  const Row d = prompt(4);
  // Free blocks from the head, - is blank:
  //   a: ----- - A2 A1        b: -- - A2 A1 - B2 B1     c: A2 A1 - B2 B1 - C2 C1
  //   d takes A2 A1 -: B2 B1 - C2 C1 - D2 D1            b finds B, takes -: C2 C1 - D2 D1 - B2 B1
  //   a takes C2 C1 -: D2 D1 - B2 B1 - A2 A1            c takes D2 D1 -: B2 B1 - A2 A1 - C2 C1
  //   b finds B: A2 A1 - C2 C1 - B2 B1                  d takes A2 A1 -
  CHECK(cached_tokens("block_size: 256, num_gpu_blocks_override: 8", {a, b, c, d, b, a, c, b, d}) ==
        std::vector<std::int64_t>{0, 0, 0, 0, 512, 0, 0, 512, 0});
  // The second takes the three blocks that were never used, the first's partial one, and the end
  // of what it filled.
  CHECK(cached_tokens("block_size: 256, num_gpu_blocks_override: 8",
                      {{1025, {1, 2, 3}}, {1025, {7, 8, 9}}, {1025, {1, 2, 3}}}) ==
        std::vector<std::int64_t>{0, 0, 768});
}

TEST_CASE("where caching is off, and where no two requests begin alike, nothing is looked up",
          "[engine]") {
  for (const bool caching : {false, true}) {
    Scenario scenario = parse_scenario(
        "s.yaml", fmt::format("{}engine: {{preset: vllm-v1, enable_prefix_caching: {}}}\n"
                              "traffic:\n  t:\n    arrival: {{process: poisson, rate: 5/s}}\n"
                              "    num_prompts: 9\n    prompt_tokens: 50\n    output_tokens: 5\n{}",
                              head, caching, caching ? "" : "    shared_prefix: {tokens: 99}\n"));
    const RunResult result = run(scenario);
    CHECK(result.log.cached_tokens.empty());
    CHECK(result.audit.checks.size() == 10);
    CHECK_FALSE(result.instances[0].prefix_cache);
    CHECK(result.instances[0].whole.queried_tokens == 0);
  }
}

TEST_CASE("prompts of the Mooncake trace hit as its hashes say: 0.366 of the blocks", "[engine]") {
  const std::string root = TOKENLINE_SOURCE_DIR;
  traffic::TraceSelection selection{.file = root + "/scenarios/traces/mooncake_conversation.jsonl",
                                    .format = traffic::TraceFormat::mooncake};
  config::Document document{config::Node{}};
  const traffic::Trace trace = read_trace(document, selection);
  REQUIRE(document.ok());
  REQUIRE(trace.arrivals.size() == 12'031);
  // By the hashes alone, as if nothing were ever forgotten.
  std::set<std::uint64_t> seen;
  std::int64_t blocks = 0;
  std::int64_t hits = 0;
  std::int64_t full = 0;
  for (std::size_t i = 0; i < trace.contents.size(); ++i) {
    std::int64_t found = 0;
    bool begins = true;
    for (const traffic::ContentRun& run : trace.contents[i]) {
      const bool known = !seen.insert(run.id).second;
      begins = begins && known;
      found += begins ? 1 : 0;
      hits += known ? 1 : 0;
      ++blocks;
    }
    full += std::min(found, (trace.arrivals[i].prompt_tokens - 1) / 512);
  }
  CHECK(static_cast<double>(hits) / static_cast<double>(blocks) == Approx(0.3664).margin(5e-5));
  CHECK(hits == 105'710);
  CHECK(blocks == 288'500);
  // The simulation, with a pool that never has to overwrite a block, finds each of them: whole ones
  // before the last token of a prompt.
  Scenario scenario = parse_scenario(
      root + "/scenarios/s.yaml",
      fmt::format(
          "{}engine: {{preset: vllm-v1, max_model_len: 131072, block_size: 512}}\ntraffic:\n"
          "  t:\n    trace: {{file: traces/mooncake_conversation.jsonl, format: mooncake}}\n",
          head));
  for (MemoryPlan& memory : scenario.stage_memory) {
    memory.blocks = 300'000;
    memory.block = Bytes(1.0);  // Blocks that fit.
  }
  const RunResult result = run(scenario);
  CHECK(result.audit.passed);
  CHECK(result.instances[0].whole.queried_tokens == 144'793'823);
  CHECK(result.instances[0].whole.hit_tokens == full * 512);
  CHECK(full * 512 == 54'063'104);
}

TEST_CASE("of two pools only the one with a cache finds what was stored", "[engine]") {
  Scenario scenario = parse_scenario(
      "s.yaml",
      "scenario: pools\nmodel: llama-3.1-8b\ncluster: {gpu: h100_sxm, router: round_robin, pools: "
      "{without: {engine: {enable_prefix_caching: false}}, with: {}}}\n"
      "engine: {preset: vllm-v1, max_model_len: 2048, enable_prefix_caching: true}\ntraffic:\n"
      "  chat:\n    arrival: {process: constant, rate: 1/s}\n    num_prompts: 6\n"
      "    shared_prefix: {tokens: 64, groups: 1}\n    prompt_tokens: 20\n    output_tokens: 3\n");
  const RunResult result = run(scenario);
  CHECK(result.audit.passed);
  CHECK(result.log.cached_tokens == std::vector<std::int64_t>{0, 0, 0, 64, 0, 64});
  CHECK_FALSE(result.instances[0].prefix_cache);
  CHECK(result.instances[1].prefix_cache);
}

namespace {

/// Prompts of 1000 tokens, all alike, one every second, on a pair of pools.
RunResult hand_over(const std::string& pools, const std::string& more = "",
                    const std::string& traffic = "{process: constant, rate: 1/s}",
                    const std::string& fabric = "infiniband_ndr") {
  Scenario scenario = parse_scenario(
      "s.yaml", fmt::format("scenario: pools\nmodel: llama-3.1-8b\n"
                            "cluster: {{gpu: h100_sxm, pools: {{{}}}, "
                            "network: {{node: hgx_h100, gpus_per_node: 1, fabric: {}}}{}}}\n"
                            "engine: {{max_model_len: 2048, block_size: 16}}\n"
                            "traffic:\n  chat:\n    arrival: {}\n    num_prompts: 3\n"
                            "    shared_prefix: {{tokens: 999}}\n    prompt_tokens: 1\n"
                            "    output_tokens: 20\n",
                            pools, fabric, more, traffic));
  RunResult result = run(scenario);
  for (const AuditCheck& check : result.audit.checks) {
    INFO(check.id << " " << check.details);
    REQUIRE(check.passed);
  }
  return result;
}

constexpr std::int64_t kv_per_token = 131'072;  // 32 layers · 8 heads · 128 · 2 · 2 B
constexpr std::int64_t found = 999 / 16 * 16;

}  // namespace

TEST_CASE("a decode replica asks for the blocks that it does not have", "[engine]") {
  for (const std::string way : {"whole", "layerwise"}) {
    CAPTURE(way);
    const RunResult result = hand_over("a: {role: prefill}, b: {role: decode}",
                                       ", disaggregate: {kv_transfer: " + way + "}");
    CHECK(result.log.cached_tokens == std::vector<std::int64_t>{0, found, found});
    CHECK(result.transfers->flows.delivered == (1000 + 2 * (1000 - found)) * kv_per_token);
    for (const InstanceResult& instance : result.instances) {
      CHECK(instance.whole.queried_tokens == 3000);
      CHECK(instance.whole.hit_tokens == 2 * found);
    }
    const auto wire = [&](std::size_t i) {
      return result.log.records[i].parts[Part::transfer_wire];
    };
    CHECK(wire(1) < wire(0) / 2);
    CHECK(wire(1) == wire(2));
  }
}

TEST_CASE("a pool without the cache computes or receives all of a prompt", "[engine]") {
  const std::string off = ", engine: {enable_prefix_caching: false}";
  const RunResult receives = hand_over("a: {role: prefill}, b: {role: decode" + off + "}");
  CHECK(receives.log.cached_tokens.back() == found);
  CHECK(receives.transfers->flows.delivered == 3 * 1000 * kv_per_token);
  const RunResult computes = hand_over("a: {role: prefill" + off + "}, b: {role: decode}");
  CHECK(computes.log.cached_tokens.back() == 0);
  CHECK(computes.transfers->flows.delivered == (1000 + 2 * (1000 - found)) * kv_per_token);
}

TEST_CASE("what is on its way is not there yet for another request", "[engine]") {
  // All come at once: blocks for the second are taken while the KV of the first is on a slow wire.
  const RunResult result = hand_over("a: {role: prefill}, b: {role: decode}", "",
                                     "{process: constant, rate: 1000000/s}", "ethernet_25g");
  CHECK(result.log.cached_tokens[1] == found);
  CHECK(result.transfers->flows.delivered == 3 * 1000 * kv_per_token);
}
