// Requests that one replica prefills and another one decodes.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "hwmodels/network/transfer.hpp"
#include "sim/engine/run.hpp"
#include "tests/support/scratch.hpp"

using namespace tokenline;

namespace {

constexpr std::int64_t layers = 80;             // Llama-2-70B
constexpr std::int64_t kv_per_token = 327'680;  // 2 · 80 layers · 8 heads · 128 · 2 B

struct Text {
  std::string how{};  ///< `disaggregate:`
  std::string node = "hgx_h100";
  std::string fabric = "infiniband_ndr";
  std::string pools = "prefill: {role: prefill}, decode: {role: decode}";
  std::string engine = "{}";
  std::string cluster = "  gpu: h100_sxm\n  tensor_parallel_size: 8";
  std::string traffic =
      "{arrival: {process: poisson, rate: 1/s}, num_prompts: 1, prompt_tokens: 4000, "
      "output_tokens: 5}";
  std::string more{};  ///< At the top level.
  std::string model = "llama-2-70b";
};

std::string yaml(const Text& text) {
  const std::string how = text.how.empty() ? "" : fmt::format("  disaggregate: {}\n", text.how);
  return fmt::format(R"(scenario: s
model: {}
cluster:
  network: {{node: {}, fabric: {}}}
  pools: {{{}}}
{}{}
engine: {}
traffic:
  chat: {}
{}
)",
                     text.model, text.node, text.fabric, text.pools, how, text.cluster, text.engine,
                     text.traffic, text.more);
}

Scenario scenario(const Text& text) { return parse_scenario("s.yaml", yaml(text)); }

RunResult run_text(const Text& text) {
  Scenario s = scenario(text);
  RunResult result = run(s);
  INFO(yaml(text));
  for (const AuditCheck& check : result.audit.checks) {
    INFO(check.id << " " << check.name << ": " << check.details);
    REQUIRE(check.passed);
  }
  return result;
}

std::string mistakes_of_pools(const Text& text) {
  try {
    (void)scenario(text);
  } catch (const config::ConfigError& e) {
    return e.what();
  }
  return {};
}

/// From rank to rank of the same place: eight links, an eighth of the bytes on each.
hw::Path lane(const Scenario& s) {
  return s.cluster.network->route(s.cluster.gpus[0][0], s.cluster.gpus[1][0]);
}

double seconds(Duration duration) { return to_seconds(duration).value(); }

}  // namespace

TEST_CASE("a lone transfer takes its pieces and its bytes over the links of its ranks",
          "[disaggregation]") {
  for (const std::string fabric : {"infiniband_ndr", "roce_400g", "ethernet_25g"}) {
    INFO(fabric);
    const Text text{.fabric = fabric};
    const hw::Path path = lane(scenario(text));
    const RunResult result = run_text(text);
    const RequestRecord& record = result.log.records.front();
    const std::int64_t pieces = 4000 / 16 * layers * 2;  // blocks of K and of V in each layer
    const double links = fabric == "ethernet_25g" ? 1.0 : 8.0;  // NICs of a node
    const double wire = hw::startup_time(path, pieces).value() +
                        4000.0 * kv_per_token / links / path.bandwidth.value();
    CHECK(seconds(record.parts[Part::transfer_wire]) == Approx(wire).margin(1e-8));
    CHECK(record.parts[Part::transfer_queue] == Duration{});
    REQUIRE(result.transfers);
    CHECK(result.transfers->received_bytes == 4000 * kv_per_token);
  }
}

TEST_CASE("the first token leaves before the transfer or after it, as the engine says",
          "[disaggregation]") {
  const RunResult early = run_text({.how = "{first_token: prefill}"});
  const RunResult late = run_text({.how = "{first_token: decode}"});
  const RequestRecord& a = early.log.records.front();
  const RequestRecord& b = late.log.records.front();
  CHECK(a.finish == b.finish);
  CHECK(a.parts == b.parts);
  CHECK(a.ttft_parts[Part::transfer_wire] == Duration{});
  CHECK(b.ttft_parts[Part::transfer_wire] == b.parts[Part::transfer_wire]);
  CHECK(b.ttft() == a.ttft() + a.parts[Part::transfer_wire]);
}

TEST_CASE("without the transfer a disaggregated request is one of a replica of its own",
          "[disaggregation]") {
  const RunResult apart = run_text({});
  const RunResult whole =
      run_text({.pools = "one: {role: both}",
                .cluster = "  gpu: h100_sxm\n  tensor_parallel_size: 8\n  router: round_robin"});
  const RequestRecord& a = apart.log.records.front();
  const RequestRecord& b = whole.log.records.front();
  CHECK(a.ttft() == b.ttft());
  CHECK(a.finish - b.finish == a.parts[Part::transfer_wire]);
  CHECK(a.instance == 1);
}

TEST_CASE("layer by layer only what outlasts the prefill is exposed", "[disaggregation]") {
  // Sarathi-like whole prompt in one step of T: the first layer leaves at T / L, and the sender
  // makes B / T bytes per second. Fluid model: what has not gone at T follows at the link's rate.
  for (const std::string fabric : {"infiniband_ndr", "ethernet_25g"}) {
    INFO(fabric);
    const Text text{.how = "{kv_transfer: layerwise}",
                    .fabric = fabric,
                    .engine = "{max_num_batched_tokens: 4096, max_model_len: 4096}"};
    const hw::Path path = lane(scenario(text));
    const RequestRecord record = run_text(text).log.records.front();
    const double T = seconds(record.parts[Part::own_prefill]);
    const double links = fabric == "ethernet_25g" ? 1.0 : 8.0;
    const double B = 4000.0 * kv_per_token / links;
    const double start = T / layers + hw::startup_time(path, 4000 / 16 * 2).value();
    const double rate = std::min(path.bandwidth.value(), B / T);
    const double exposed = (B - rate * (T - start)) / path.bandwidth.value();
    CHECK(seconds(record.parts[Part::transfer_wire]) == Approx(exposed).margin(2e-8));
  }
}

TEST_CASE("prompts computed in pieces leave piece by piece, the last layer of the last one last",
          "[disaggregation]") {
  const Text text{.how = "{kv_transfer: layerwise}",
                  .engine = "{max_num_batched_tokens: 1024, max_model_len: 4096}"};
  const RunResult pieces = run_text(text);
  const hw::Path path = lane(scenario(text));
  const double last = 4000 - 3 * 1024;
  const double layer = last * kv_per_token / 8 / layers / path.bandwidth.value();
  const Duration wire = pieces.log.records.front().parts[Part::transfer_wire];
  CHECK(seconds(wire) > layer);
  CHECK(seconds(wire) < 2 * layer);
  CHECK(pieces.transfers->flows.delivered == 4000 * kv_per_token);
}

TEST_CASE("two requests that leave at once share the links and take twice as long",
          "[disaggregation]") {
  // Two prefill replicas on nodes of their own send to one that decodes: its NICs are shared.
  const Scratch scratch;
  const std::string file = scratch.write(
      "two.csv", "arrival_s,prompt_tokens,output_tokens,class\n0,4000,5,c\n0,4000,5,c\n");
  const std::string traffic = fmt::format("{{trace: {{file: {}, format: csv, class: c}}}}", file);
  const Text text{.pools = "prefill: {role: prefill, replicas: 2}, decode: {role: decode}",
                  .cluster = "  gpu: h100_sxm\n  tensor_parallel_size: 8\n  router: round_robin",
                  .traffic = traffic};
  const hw::Path path = lane(scenario(text));
  const RunResult result = run_text(text);
  const double start = hw::startup_time(path, 4000 / 16 * layers * 2).value();
  const double alone = 4000.0 * kv_per_token / 8 / path.bandwidth.value();
  REQUIRE(result.log.records.size() == 2);
  for (const RequestRecord& record : result.log.records)
    CHECK(seconds(record.parts[Part::transfer_wire]) == Approx(start + 2 * alone).margin(2e-8));
}

TEST_CASE("without blocks to decode from, prompts wait in the prefill replica and stall it",
          "[disaggregation]") {
  // Room for one sequence on either side: the third prompt waits until the second has left, which
  // waits for the first to end.
  const Text text{
      .pools =
          "prefill: {role: prefill, engine: {num_gpu_blocks_override: 260}}, "
          "decode: {role: decode, engine: {num_gpu_blocks_override: 260}}",
      .engine = "{max_model_len: 4096, max_num_batched_tokens: 4096}",
      .traffic =
          "{arrival: {process: poisson, rate: 1000/s}, num_prompts: 3, prompt_tokens: 4000, "
          "output_tokens: 50}"};
  const auto records = run_text(text).log.records;
  const Duration decoding = records[0].finish - records[0].first_token -
                            records[0].parts[Part::transfer_wire] -
                            records[0].parts[Part::transfer_queue];
  CHECK(records[0].parts[Part::transfer_queue] == Duration{});
  // It was computed while the first was on its way or decoding, and left when that had ended.
  CHECK(records[1].parts[Part::transfer_queue] > decoding / 2);
  CHECK(records[1].first_token + records[1].parts[Part::transfer_queue] == records[0].finish);
  // The blocks of the second were free only when it had arrived.
  const TimePoint landed = records[1].first_token + records[1].parts[Part::transfer_queue] +
                           records[1].parts[Part::transfer_wire];
  CHECK(records[2].first_token > landed);
  CHECK(records[2].parts[Part::wait_kv_blocks] > Duration{});
}

TEST_CASE("short prompts stay where they decode, or in the pool of both", "[disaggregation]") {
  const std::string mixed =
      "{arrival: {process: poisson, rate: 20/s}, num_prompts: 60, output_tokens: 5, "
      "prompt_tokens: {distribution: uniform, min: 500, max: 1500}}";
  const auto homes = [&](const std::string& pools) {
    std::vector<std::uint32_t> instances;
    const RunResult result =
        run_text({.how = "{min_prompt_tokens: 1000}", .pools = pools, .traffic = mixed});
    for (const RequestRecord& record : result.log.records) {
      CHECK((record.parts[Part::transfer_wire] > Duration{}) == (record.prompt_tokens >= 1000));
      if (record.prompt_tokens < 1000) instances.push_back(record.instance);
    }
    std::ranges::sort(instances);
    instances.erase(std::ranges::unique(instances).begin(), instances.end());
    return instances;
  };
  CHECK(homes("a: {role: prefill}, b: {role: decode}") == std::vector<std::uint32_t>{1});
  CHECK(homes("a: {role: prefill}, b: {role: decode}, c: {role: both}") ==
        std::vector<std::uint32_t>{2});
}

TEST_CASE("an answer of one token ends where it was prefilled", "[disaggregation]") {
  for (const std::string way : {"whole", "layerwise"}) {
    const RunResult result = run_text(
        {.how = fmt::format("{{kv_transfer: {}, first_token: decode}}", way),
         .traffic = "{arrival: {process: poisson, rate: 9/s}, num_prompts: 9, prompt_tokens: 100, "
                    "output_tokens: 1}"});
    CHECK(result.transfers->begun == 0);
    for (const RequestRecord& record : result.log.records) CHECK(record.instance == 0);
  }
}

TEST_CASE("degrees may differ: every rank gets the heads that it keeps", "[disaggregation]") {
  for (const auto& [from, to] : {std::pair{4, 8}, std::pair{8, 4}}) {
    const RunResult result =
        run_text({.pools = fmt::format("a: {{role: prefill, tensor_parallel_size: {}}}, "
                                       "b: {{role: decode, tensor_parallel_size: {}}}",
                                       from, to)});
    CHECK(result.transfers->flows.delivered == 4000 * kv_per_token);
  }
}

TEST_CASE("pools may have different GPUs, and a preset of their own", "[disaggregation]") {
  const Scenario s = scenario({.pools = "a: {role: prefill, gpu: h200, engine: {preset: sglang}}, "
                                        "b: {role: decode, engine: {block_size: 32}}",
                               .engine = "{max_num_seqs: 77, max_model_len: 4096}"});
  REQUIRE(s.pools.size() == 2);
  CHECK(s.pools[0].cost->setup().gpu.name != s.pools[1].cost->setup().gpu.name);
  CHECK(s.pools[0].engine.preset == "sglang");
  CHECK(s.pools[0].engine.max_num_seqs != 77);
  CHECK(s.pools[1].engine.preset == "vllm-v1");
  CHECK(s.pools[1].engine.max_num_seqs == 77);
  CHECK(s.pools[1].engine.block_size == 32);
}

TEST_CASE("pools take over what the cluster says, so that overrides can add them",
          "[disaggregation][scenario]") {
  const Scenario s = scenario(
      {.pools = "a: {role: prefill}, b: {role: decode, replicas: 1, tensor_parallel_size: 4}",
       .cluster = "  gpu: h100_sxm\n  tensor_parallel_size: 8\n  replicas: 3"});
  CHECK(s.pools[0].replicas == 3);
  CHECK(s.pools[0].parallelism.tensor == 8);
  CHECK(s.pools[1].replicas == 1);
  CHECK(s.pools[1].parallelism.tensor == 4);
}

TEST_CASE("what crashes on either side is computed again, and nothing is lost uncounted",
          "[disaggregation]") {
  // The pool of one side takes all of HBM, without room for activations. The prefill replica fills
  // because the other has few blocks.
  const std::string tight = "{kv_sizing: on_demand, gpu_memory_utilization: 1.0}";
  for (const std::string way : {"whole", "layerwise"})
    for (const bool prefill : {true, false}) {
      INFO(way << ", " << (prefill ? "prefill" : "decode"));
      const std::string pools =
          prefill ? "a: {role: prefill, engine: " + tight +
                        "}, b: {role: decode, engine: {num_gpu_blocks_override: 400}}"
                  : "a: {role: prefill}, b: {role: decode, engine: " + tight + "}";
      const RunResult result =
          run_text({.how = fmt::format("{{kv_transfer: {}, min_prompt_tokens: 200}}", way),
                    .node = "pcie_gen4",
                    .pools = pools,
                    .engine = "{max_model_len: 4096, max_num_batched_tokens: 4096}",
                    .cluster = "  gpu: rtx_4090\n  restart_delay: 1 s",
                    .traffic = "{arrival: {process: poisson, rate: 60/s}, num_prompts: 300, "
                               "prompt_tokens: {distribution: uniform, min: 100, max: 3000}, "
                               "output_tokens: {distribution: uniform, min: 100, max: 1000}}",
                    .model = "llama-3.1-8b"});
      std::int64_t restarts = 0;
      for (const InstanceResult& instance : result.instances) restarts += instance.whole.restarts;
      CHECK(restarts > 0);
      CHECK(result.transfers->cancelled > 0);
    }
}

TEST_CASE("what pools cannot do is refused at its key", "[disaggregation][scenario]") {
  const auto contains = [](const char* text) { return Catch::Contains(text); };
  CHECK_THAT(mistakes_of_pools({.pools = "a: {role: prefill}"}),
             contains("cluster.pools: a pool with role: prefill needs one with role: decode"));
  CHECK_THAT(mistakes_of_pools({.pools = "a: {role: prefil}, b: {role: decode}"}),
             contains("did you mean 'prefill'?"));
  CHECK_THAT(mistakes_of_pools({.pools = "a: {role: prefill, tensor_parallel_size: 4, "
                                         "pipeline_parallel_size: 2}, b: {role: decode}"}),
             contains("cluster.pools.a.pipeline_parallel_size: a pool that hands over KV has one"));
  CHECK_THAT(mistakes_of_pools(
                 {.pools = "a: {role: prefill}, b: {role: decode, engine: {scheduler: static}}"}),
             contains("cluster.pools.b.engine: scheduler 'static' cannot hand over sequences"));
  CHECK_THAT(mistakes_of_pools(
                 {.pools = "a: {role: prefill}, b: {role: decode, engine: {kv_cache_dtype: fp8}}"}),
             contains("cluster.pools.b.engine: kv_cache_dtype differs from that of pool 'a'"));
  CHECK_THAT(mistakes_of_pools({.how = "{min_prompt_tokens: 5}", .pools = "a: {role: both}"}),
             contains("cluster.disaggregate: no pool has role: prefill"));
  CHECK_THAT(
      mistakes_of_pools({.pools = "a: {role: prefill, engine: {blok_size: 3}}, b: {role: decode}"}),
      contains("cluster.pools.a.engine.blok_size: unknown key"));
  CHECK_THAT(mistakes_of_pools({.pools = ""}), contains("cluster.pools: names no pool"));
  CHECK_THAT(mistakes_of_pools({.more = "speculation: {method: ngram, num_speculative_tokens: 3, "
                                        "acceptance: 0.5}"}),
             contains("speculation: is not modelled where pools hand over KV"));
  CHECK_THAT(mistakes_of_pools({.more = "faults: [{kind: instance_crash, replica: 0, at: 1 s}]"}),
             contains("faults: those of replicas are not modelled where pools hand over KV"));
  const std::string pair = "a: {role: prefill}, b: {role: decode}";
  CHECK_THAT(
      mistakes_of_pools({.pools = "a: {role: prefill, attention_data_parallel_size: 2}, b: {role: "
                                  "decode}",
                         .cluster = "  gpu: h200\n  tensor_parallel_size: 4",
                         .model = "deepseek-v2-lite"}),
      contains("cluster.pools.a.attention_data_parallel_size: a pool that hands over KV"));
  CHECK_THAT(
      mistakes_of_pools({.pools = "a: {role: prefill}, b: {role: decode, context_parallel_size: 2}",
                         .cluster = "  gpu: h100_sxm\n  tensor_parallel_size: 4"}),
      contains("cluster.pools.b.context_parallel_size: a pool that hands over KV"));
  CHECK_THAT(mistakes_of_pools(
                 {.pools = "a: {role: prefill, engine: {scheduler: guaranteed_no_evict}}, b: "
                           "{role: decode}"}),
             contains("cluster.pools.a.engine: scheduler 'guaranteed_no_evict' cannot hand over"));
  CHECK_THAT(
      mistakes_of_pools({.pools = pair,
                         .traffic = "{arrival: {process: poisson, rate: 1/s}, num_prompts: 1, "
                                    "prompt_tokens: 40, output_tokens: 5, timeout: 3 s}"}),
      contains("traffic: clients that give up are not modelled where pools hand over KV"));
  CHECK_THAT(mistakes_of_pools(
                 {.pools = pair,
                  .cluster = "  gpu: h100_sxm\n  tensor_parallel_size: 8\n  autoscale: {min: "
                             "1, max: 2, metric: queue_length, target: 2, cold_start: {}}"}),
             contains("cluster.autoscale: is not modelled with pools"));
  CHECK_THAT(mistakes_of_pools({.pools = pair, .cluster = "  tensor_parallel_size: 8"}),
             contains("cluster.pools.a.gpu: neither the pool nor the cluster names one") &&
                 contains("cluster.pools.b.gpu"));
  CHECK_THAT(
      mistakes_of_pools(
          {.how = "{min_prompt_tokens: 9000}", .pools = pair, .engine = "{max_model_len: 4096}"}),
      contains("cluster.disaggregate: no prompt has min_prompt_tokens (9000): "
               "max_model_len is 4096"));
  std::string unconnected = yaml({});
  const std::string_view key = "  network:";
  const std::size_t at = unconnected.find(key);
  unconnected.erase(at, unconnected.find('\n', at) - at + 1);
  CHECK_THROWS_WITH(parse_scenario("s.yaml", unconnected),
                    contains("KV moves between pools, and no network is named"));
}
