// Replicas that come and go.
#include "sim/engine/autoscaler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "sim/engine/run.hpp"

using namespace tokenline;
using namespace std::chrono_literals;

namespace {

AutoscaleConfig config_of(double target, std::int64_t min, std::int64_t max) {
  AutoscaleConfig config;
  config.min = min;
  config.max = max;
  config.target = target;
  config.interval = 15s;
  config.stabilization = 300s;
  return config;
}

/// A fleet of one replica at the start; `autoscale` are further keys of the section.
Scenario fleet(const std::string& autoscale, const std::string& traffic,
               const std::string& cold_start = "node: 40 s, image: 15 s, compile: 5 s",
               const std::string& faults = "") {
  return parse_scenario("fleet.yaml", fmt::format(R"(scenario: fleet
model: llama-3.1-8b
cluster:
  gpu: h100_sxm
  autoscale: {{min: 1, max: 8, {}, cold_start: {{{}}}}}
engine: {{preset: vllm-v1, max_model_len: 2048}}
{}traffic:
  chat:
    {}
    prompt_tokens: 200
    output_tokens: 300
)",
                                                  autoscale, cold_start, faults, traffic));
}

RunResult run_audited(Scenario scenario) {
  RunResult result = run(scenario);
  for (const AuditCheck& check : result.audit.checks) {
    INFO(check.id << " " << check.details);
    REQUIRE(check.passed);
  }
  REQUIRE(result.fleet.has_value());
  return result;
}

}  // namespace

TEST_CASE("replicas follow the formula of Kubernetes") {
  // Horizontal Pod Autoscaling, Algorithm details: desired = ceil(current · metric / target). "If
  // the current metric value is 200m, and the desired value is 100m, the number of replicas will be
  // doubled, since 200.0 / 100.0 == 2.0. If the current value is instead 50m, you'll halve it."
  AutoscaleConfig config = config_of(100.0, 1, 100);
  config.stabilization = 0s;
  HorizontalScale scale(config);
  TimePoint now{};
  const auto desired = [&](std::int64_t current, double mean) {
    return scale.desired(now += 15s, current, mean * static_cast<double>(current));
  };
  CHECK(desired(4, 200.0) == 8);
  CHECK(desired(4, 50.0) == 2);
  CHECK(desired(3, 150.0) == 5);  // 4.5, rounded up
  CHECK(desired(1, 0.0) == 1);    // never below min
  CHECK(desired(60, 300.0) == 100);
}

TEST_CASE("nothing changes while the ratio is within the tolerance of 1") {
  HorizontalScale scale(config_of(10.0, 1, 100));
  for (const double mean : {9.0, 9.5, 10.0, 10.9})
    CHECK(scale.desired(TimePoint{}, 10, 10.0 * mean) == 10);
  CHECK(scale.desired(TimePoint{}, 10, 111.0) == 12);
}

TEST_CASE("scaling down waits until no more have been wanted for the stabilization window") {
  HorizontalScale scale(config_of(10.0, 1, 100));
  const TimePoint start{};
  CHECK(scale.desired(start, 2, 100.0) == 10);
  CHECK(scale.desired(start + 15s, 10, 30.0) == 10);
  CHECK(scale.desired(start + 285s, 10, 30.0) == 10);
  CHECK(scale.desired(start + 300s, 10, 60.0) == 10);
  // Ten are forgotten; six were wanted 15 s ago.
  CHECK(scale.desired(start + 315s, 10, 30.0) == 6);
  CHECK(scale.desired(start + 615s, 6, 30.0) == 3);
  // Up at once.
  CHECK(scale.desired(start + 630s, 3, 100.0) == 10);
}

TEST_CASE("what a fleet begins with is the first recommendation") {
  HorizontalScale scale(config_of(10.0, 1, 100));
  const TimePoint start{};
  CHECK(scale.desired(start, 8, 20.0) == 8);
  CHECK(scale.desired(start + 300s, 8, 20.0) == 8);
  CHECK(scale.desired(start + 315s, 8, 20.0) == 2);
}

TEST_CASE("a network holds as many replicas as a fleet may have") {
  const auto on_nodes = [](int nodes) {
    return parse_scenario(
        "fleet.yaml",
        fmt::format("scenario: fleet\nmodel: llama-2-70b\ncluster:\n  gpu: h100_sxm\n"
                    "  tensor_parallel_size: 8\n"
                    "  network: {{node: hgx_h100, fabric: infiniband_ndr, nodes: {}}}\n"
                    "  autoscale: {{min: 1, max: 3, metric: queue_length, target: 5, cold_start: "
                    "{{}}}}\nengine: {{max_model_len: 1024}}\ntraffic:\n  chat: {{arrival: "
                    "{{process: constant, rate: 1/s}}, num_prompts: 2, prompt_tokens: 20, "
                    "output_tokens: 3}}\n",
                    nodes));
  };
  CHECK_THROWS_WITH(on_nodes(2), Catch::Contains("cluster.network"));
  CHECK_NOTHROW(on_nodes(3));
}

TEST_CASE("a share of the pool has no target beyond 1") {
  CHECK_THROWS_WITH(fleet("metric: kv_usage, target: 80",
                          "arrival: {process: constant, rate: "
                          "1/s}\n    num_prompts: 3"),
                    Catch::Contains("at most 1"));
}

TEST_CASE("under a constant load a fleet becomes as large as load / target, and stays so") {
  // 90 requests are always running: with 20 per replica that is 4.5 replicas.
  const RunResult result = run_audited(
      fleet("metric: running_requests, target: 20",
            "arrival: {process: closed_loop, max_concurrency: 90}\n    num_prompts: 40000"));
  const std::vector<FleetSize>& sizes = result.fleet->sizes;
  REQUIRE(sizes.size() == 3);
  CHECK(sizes[1].when == TimePoint{15s});  // the first look
  CHECK(sizes[1].serving == 1);
  CHECK(sizes[1].starting == 4);
  CHECK(sizes[2].when == TimePoint{75s});  // and the cold start: 40 + 15 + 5 s
  CHECK(sizes[2].serving == 5);
  CHECK(result.end > TimePoint{600s});
  // Nothing was sent to a replica that did not serve yet.
  for (const RequestRecord& r : result.log.records)
    CHECK((r.instance == 0 || r.arrival >= TimePoint{75s}));
}

TEST_CASE("a replica that goes ends what it has, and is given nothing more") {
  // Sixty seconds of crowd, then next to nothing.
  const RunResult result = run_audited(
      fleet("metric: running_requests, target: 10, interval: 5 s, scale_down_stabilization: 20 s",
            "arrival: {process: poisson, rate: [{at: 0 s, rate: 15/s}, {at: 60 s, rate: 1/s}]}\n"
            "    stop: 200 s",
            "node: 10 s"));
  const FleetResult& fleet = *result.fleet;
  CHECK(std::ranges::all_of(
      result.log.records, [](const RequestRecord& r) { return r.outcome == Outcome::completed; }));
  CHECK(fleet.scale_ups > 2);
  CHECK(fleet.scale_downs == fleet.scale_ups);
  CHECK(fleet.sizes.back().serving == 1);
  CHECK(fleet.sizes.back().starting == 0);
  CHECK(fleet.sizes.back().draining == 0);
  CHECK(std::ranges::any_of(fleet.sizes, [](const FleetSize& s) { return s.draining > 0; }));
  // From the last change on all requests go to the one that is left.
  for (const RequestRecord& r : result.log.records)
    CHECK((r.arrival <= fleet.sizes.back().when || r.instance == 0));
}

TEST_CASE("the cold start of a replica is the sum of its terms, the weights by their bandwidth") {
  const std::string quiet = "arrival: {process: constant, rate: 1/s}\n    num_prompts: 1";
  const Scenario scenario = fleet(
      "metric: queue_length, target: 1", quiet,
      "node: 60 s, image: 20 s, weights_bandwidth: 1 GB/s, compile: 70 s, graph_capture: 60 s, "
      "warm_up: 30 s");
  // Llama-3.1-8B in bfloat16: 8.03 billion parameters, 16.06 GB.
  const double weights = to_seconds(scenario.provisioning()).value() - 240.0;
  CHECK(weights == Approx(16.06).epsilon(0.01));
}

TEST_CASE("a fleet begins between its bounds") {
  const std::string quiet = "arrival: {process: constant, rate: 1/s}\n    num_prompts: 1";
  CHECK_THROWS_WITH(fleet("metric: queue_length, target: 1, min: 2", quiet),
                    Catch::Contains("min"));
  const std::string yaml = R"(scenario: fleet
model: llama-3.1-8b
cluster: {gpu: h100_sxm, replicas: 4, autoscale: {min: 1, max: 3, metric: kv_usage, target: 0.5,
          cold_start: {}}}
traffic: {chat: {arrival: {process: poisson, rate: 1/s}, num_prompts: 1, prompt_tokens: 1,
                 output_tokens: 1}}
)";
  CHECK_THROWS_WITH(parse_scenario("fleet.yaml", yaml),
                    Catch::Contains("cluster.replicas") && Catch::Contains("4 replicas") &&
                        Catch::Contains("hint: cluster.replicas: 1 to 3, or other bounds"));
}

TEST_CASE("a straggler happens where its replica is there at some instant of its time") {
  // The second replica serves from 75 s on: the first look at 15 s, and 60 s of cold start.
  const auto happened = [](const std::string& from, const std::string& to) {
    Scenario scenario =
        fleet("metric: running_requests, target: 20",
              "arrival: {process: closed_loop, max_concurrency: 90}\n    num_prompts: 9000",
              "node: 40 s, image: 15 s, compile: 5 s",
              fmt::format("faults:\n  - {{kind: straggler, replica: 1, from: {}, to: {}, "
                          "slowdown: 1.1}}\n",
                          from, to));
    const RunResult result = run(scenario);
    REQUIRE(result.end > TimePoint{80s});
    return result.faults.front().happened;
  };
  CHECK_FALSE(happened("0 s", "75 s"));
  CHECK(happened("0 s", "76 s"));
  CHECK(happened("78 s", "79 s"));
  CHECK_FALSE(happened("9000 s", "9001 s"));
}
