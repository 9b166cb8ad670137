#include "sim/report/summary.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/report/console.hpp"
#include "sim/report/digest.hpp"
#include "tests/support/scratch.hpp"
#include "tests/unit/report/builders.hpp"

using namespace tokenline;
using namespace tokenline::report;
using namespace std::chrono_literals;
using Catch::Contains;
using Json = nlohmann::ordered_json;

namespace {

std::vector<std::string> keys(const Json& object) {
  std::vector<std::string> names;
  for (const auto& [key, value] : object.items()) names.push_back(key);
  return names;
}

Scenario small(const ScenarioOptions& options = {}) {
  return parse_scenario("small.yaml", std::string(small_scenario), options);
}

}  // namespace

TEST_CASE("SHA-256 gives the digests of FIPS 180-4", "[report]") {
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST_CASE("utilisations of an instance are its work over peak times elapsed", "[report]") {
  InstanceResult instance;
  instance.name = "replica-0";
  instance.measured_from = TimePoint{} + 10s;
  instance.kv_blocks = 200;
  InstanceStats& stats = instance.measured;
  stats.as_of = TimePoint{} + 30s;
  stats.busy = 15s;
  stats.gpu = 10s;
  stats.flops = Flops(4e12);
  stats.hbm_bytes = Bytes(5e12);
  stats.off_grid[hw::OperatorKind::gemm] = Seconds(0.25);
  stats.off_grid[hw::OperatorKind::experts] = Seconds(0.75);
  stats.running_seconds = 40.0;
  stats.waiting_seconds = 10.0;
  stats.kv_allocated_seconds = 1000.0;
  stats.kv_stored_seconds = 970.0;
  stats.kv_peak_blocks = 150;
  stats.hbm_peak = Bytes(72e9);
  const auto summary = summarize_instance(instance, {.gpu = "g",
                                                     .gpus = 8,
                                                     .peak_16bit = FlopsPerSecond(1e12),
                                                     .bandwidth = BytesPerSecond(1e12),
                                                     .memory = Bytes(80e9),
                                                     .pool_block_size = 16,
                                                     .kv_bytes_per_token = Bytes(131072)});
  const auto value = [&](std::string_view key) { return summary.figures.find(key)->value; };
  CHECK(value("busy_fraction") == 15.0 / 20);
  CHECK(value("flops_utilization") == Approx(4.0 / 20));
  CHECK(value("bandwidth_utilization") == Approx(5.0 / 20));
  CHECK(value("kv_pool_tokens") == 200.0 * 16);
  CHECK(value("kv_bytes_per_token") == 131072.0);
  CHECK(value("kv_peak_fraction") == 150.0 / 200);
  CHECK(value("kv_waste_fraction") == Approx(0.03));
  CHECK(value("hbm_peak_fraction") == Approx(0.9));
  CHECK(value("mean_running") == 2.0);
  CHECK(value("mean_waiting") == 0.5);
  CHECK(value("off_grid_fraction") == 0.1);
  CHECK(value("gpus") == 8.0);
}

TEST_CASE("time off the measured grid is shared out by operator, the largest first", "[report]") {
  Scenario scenario = small();
  RunResult result = run(scenario);
  REQUIRE(result.instances.size() == 1);
  InstanceStats& stats = result.instances[0].measured;
  stats.gpu = 10s;
  stats.off_grid = {};
  stats.off_grid[hw::OperatorKind::gemm] = Seconds(1.0);
  stats.off_grid[hw::OperatorKind::collective] = Seconds(3.0);
  const Json pricing = Json::parse(summary_json(summarize(scenario, result)))["pricing"];
  CHECK(pricing["off_grid_fraction"].get<double>() == Approx(0.4));
  const Summary summary = summarize(scenario, result);
  REQUIRE(summary.off_grid_by_operator.size() == 2);
  CHECK(summary.off_grid_by_operator[0].first == "collective");
  CHECK(summary.off_grid_by_operator[0].second == Approx(0.3));
  CHECK(pricing["off_grid_by_operator"].size() == 2);
  CHECK(pricing["off_grid_by_operator"]["gemm"].get<double>() == Approx(0.1));
}

TEST_CASE("an instance that never ran has no utilisation", "[report]") {
  const auto summary = summarize_instance({}, {});
  for (const Figure& figure : summary.figures.all())
    if (!figure.whole && figure.key != "down_s" && figure.key != "kv_bytes_per_token")
      CHECK_FALSE(figure.value);
}

TEST_CASE("the pool in tokens is its blocks times the tokens of one, in every layout", "[report]") {
  for (const auto& [layout, block] : {std::pair{"paged", 16}, std::pair{"contiguous", 4096}}) {
    INFO(layout);
    Scenario scenario = small({.overrides = {std::string("engine.kv_layout=") + layout}});
    const RunResult result = run(scenario);
    const Json json = Json::parse(summary_json(summarize(scenario, result)));
    const Json& instance = json["instances"][0];
    CHECK(json["engine"]["block_size"] == block);
    CHECK(instance["kv_pool_tokens"] == instance["kv_blocks"].get<std::int64_t>() * block);
    // 2 (keys, values) x 32 layers x 8 heads x 128 wide x 2 bytes.
    CHECK(instance["kv_bytes_per_token"] == 2 * 32 * 8 * 128 * 2);
  }
}

TEST_CASE("summary.json has the documented members in their order", "[report]") {
  Scenario scenario = small();
  const RunResult result = run(scenario);
  const Json json = Json::parse(summary_json(summarize(scenario, result)));
  CHECK(keys(json) == std::vector<std::string>{"tokenline", "scenario", "seed", "config_sha256",
                                               "simulated_s", "engine", "classes", "instances",
                                               "ledger", "pricing", "traffic", "audit", "asserts"});
  CHECK(keys(json["classes"]) == std::vector<std::string>{"all", "chat", "batch"});
  CHECK(keys(json["ledger"]) == keys(json["classes"]));
  CHECK(json["ledger"]["chat"]["ttft"]["mean_ms"].size() == ttft_part_count);
  CHECK(json["ledger"]["chat"]["e2el"]["p99_ms"].size() == part_count);
  CHECK(json["classes"]["all"]["completed"] == 50);
  CHECK(json["classes"]["all"]["completed"].is_number_integer());
  CHECK(json["classes"]["batch"]["request_goodput"].is_null());
  CHECK(json["classes"]["chat"]["request_goodput"].is_number_float());
  CHECK(json["instances"].size() == 1);
  CHECK(json["instances"][0]["gpu"] == "h100_sxm");
  CHECK(json["audit"]["passed"] == true);
  CHECK(json["engine"]["preset"] == "vllm-v1");
  CHECK(json["simulated_s"] == to_seconds(result.end - TimePoint{}).value());
}

TEST_CASE("conversations that end early and rows that are left out are said", "[report]") {
  const Scratch folder;
  const std::string trace =
      folder.write("t.csv",
                   "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
                   "5,GPT-4,10,20,30,Conversation log\n6,GPT-4,10,0,10,Conversation log\n");
  Scenario scenario = parse_scenario(
      "sessions.yaml",
      "scenario: sessions\nmodel: llama-3.1-8b\ncluster: {gpu: h100_sxm}\nengine: {}\ntraffic:\n"
      "  chat: {arrival: {process: constant, rate: 1/s}, prompt_tokens: 100, output_tokens: 50,\n"
      "         session: {turns: 4, think_time: 1 s, max_context: 400, num_sessions: 3}}\n"
      "  recorded: {trace: {file: " +
          trace + ", format: burstgpt, unanswered: leave_out}}\n");
  const RunResult result = run(scenario);
  const Summary summary = summarize(scenario, result);
  const Json json = Json::parse(summary_json(summary));
  CHECK(json["traffic"]["left_out"]["traffic.recorded.trace.unanswered"] == 1);
  // Two turns hold 300 tokens; the third would hold 450.
  CHECK(json["traffic"]["sessions"]["sessions"] == 3);
  CHECK(json["traffic"]["sessions"]["sessions_cut_by_max_context"] == 3);
  CHECK(json["traffic"]["sessions"]["sessions_completed"] == 0);
  CHECK_THAT(console_text(summary),
             Contains("sessions 3, sessions_completed 0, sessions_cut_by_max_context 3") &&
                 Contains("left out: 1 rows, as traffic.recorded.trace.unanswered says"));
}

TEST_CASE("the size of a fleet is its mean over time, and its GPU hours count all there is",
          "[report]") {
  // Two serve for 100 s; then a third starts for 50 s and serves for 150; one drains for 20 s.
  FleetResult fleet;
  fleet.sizes = {{TimePoint{}, 2, 0, 0},
                 {TimePoint{100s}, 2, 1, 0},
                 {TimePoint{150s}, 3, 0, 0},
                 {TimePoint{280s}, 2, 0, 1},
                 {TimePoint{300s}, 2, 0, 0}};
  fleet.scale_ups = 1;
  fleet.scale_downs = 1;
  const Figures figures = summarize_fleet(fleet, 8, TimePoint{400s});
  const auto value = [&](const char* key) { return figures.find(key)->value.value(); };
  CHECK(value("mean_replicas") == Approx((150 * 2 + 130 * 3 + 120 * 2) / 400.0));
  CHECK(value("gpu_hours") == Approx(8 * (100 * 2 + 200 * 3 + 100 * 2) / 3600.0));
  CHECK(value("least_replicas") == 2);
  CHECK(value("most_replicas") == 3);
}

TEST_CASE("faults and fleets are reported where there are any", "[report]") {
  Scenario plain = small();
  const RunResult nothing = run(plain);
  const Json without = Json::parse(summary_json(summarize(plain, nothing)));
  CHECK_FALSE(without.contains("faults"));
  CHECK_FALSE(without.contains("fleet"));
  Scenario scenario =
      small({.overrides = {"faults=[{kind: instance_crash, replica: 0, at: 1 ms, restart: 10 ms}, "
                           "{kind: instance_crash, replica: 0, at: 100000 s}]",
                           "cluster.autoscale={min: 1, max: 2, metric: kv_usage, target: 0.5, "
                           "cold_start: {}}"}});
  const RunResult result = run(scenario);
  const Summary summary = summarize(scenario, result);
  const Json json = Json::parse(summary_json(summary));
  REQUIRE(json["faults"].size() == 2);
  CHECK(json["faults"][0]["kind"] == "instance_crash");
  CHECK(json["faults"][0]["at_s"] == 0.001);
  CHECK(json["faults"][0]["happened"] == true);
  CHECK(json["faults"][1]["happened"] == false);
  CHECK(json["fleet"]["most_replicas"] == 1);
  CHECK(json["fleet"]["sizes"][0]["serving"] == 1);
  CHECK_THAT(console_text(summary),
             Contains("faults: 1 of 2 happened") && Contains("fleet: 1.000 replicas in the mean"));
}

TEST_CASE("the digest of the configuration is that of its resolved text", "[report]") {
  Scenario scenario = small();
  const RunResult result = run(scenario);
  CHECK(summarize(scenario, result).config_sha256 ==
        sha256_hex(config::emit_yaml(scenario.resolved)));
  Scenario other = small({.overrides = {"seed=43"}});
  const RunResult different = run(other);
  CHECK(summarize(other, different).config_sha256 != summarize(scenario, result).config_sha256);
}

TEST_CASE("empty figures are null in summary.json", "[report]") {
  Summary summary;
  summary.classes = summarize_classes(run_of({"chat"}), {});
  summary.instances.push_back(summarize_instance({}, {}));
  const Json json = Json::parse(summary_json(summary));
  CHECK(json["classes"]["chat"]["mean_ttft_ms"].is_null());
  CHECK(json["classes"]["chat"]["completed"] == 0);
  CHECK(json["ledger"]["chat"]["ttft"]["mean_ms"]["own_prefill"].is_null());
  CHECK(json["instances"][0]["busy_fraction"].is_null());
  CHECK(json["pricing"]["off_grid_fraction"].is_null());
  CHECK(json["asserts"].empty());
}

TEST_CASE("the same scenario and seed give the same bytes", "[report]") {
  const auto text = [] {
    Scenario scenario = small();
    const RunResult result = run(scenario);
    return summary_json(summarize(scenario, result));
  };
  CHECK(text() == text());
}
