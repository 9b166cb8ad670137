// Faults of the scenario: replicas that crash, and replicas that are slow.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>
#include <vector>

#include "sim/engine/run.hpp"

using namespace tokenline;
using namespace std::chrono_literals;

namespace {

using Overrides = std::vector<std::string>;

/// Requests of 200 + 50 tokens for replicas whose host takes no time.
RunResult serve(const std::string& arrival, int requests, const std::string& faults = "",
                const Overrides& overrides = {}) {
  const std::string yaml =
      fmt::format(R"(scenario: faults
model: llama-3.1-8b
cluster: {{gpu: h100_sxm, restart_delay: 2 s}}
engine: {{preset: vllm-v1, max_model_len: 1024, max_num_seqs: 32, max_num_batched_tokens: 2048,
         host_overhead_per_step: 0 s, host_overhead_per_sequence: 0 s,
         host_overhead_per_request: 0 s, host_gap: 0 s, host_gap_per_sequence: 0 s,
         host_launch_per_layer: 0 s}}
{}traffic:
  chat:
    arrival: {{{}}}
    num_prompts: {}
    prompt_tokens: 200
    output_tokens: 50
)",
                  faults.empty() ? "" : "faults:\n" + faults, arrival, requests);
  Scenario scenario = parse_scenario("faults.yaml", yaml, {overrides});
  RunResult result = run(scenario);
  for (const AuditCheck& check : result.audit.checks) {
    INFO(check.id << " " << check.details);
    REQUIRE(check.passed);
  }
  return result;
}

std::string crash(int replica, const std::string& at, const std::string& restart) {
  return fmt::format("  - {{kind: instance_crash, replica: {}, at: {}, restart: {}}}\n", replica,
                     at, restart);
}

std::string straggler(int replica, const std::string& from, const std::string& to, double factor) {
  return fmt::format("  - {{kind: straggler, replica: {}, from: {}, to: {}, slowdown: {}}}\n",
                     replica, from, to, factor);
}

std::ptrdiff_t count_ended(const RunResult& result, Outcome outcome) {
  return std::ranges::count(result.log.records, outcome, &RequestRecord::outcome);
}

const std::string loop = "process: closed_loop, max_concurrency: 40";

}  // namespace

TEST_CASE("a straggler takes its factor times as long for everything") {
  // All clients start at 0 and the host takes no time, so that the GPU's times are all there is.
  const RunResult usual = serve(loop, 200);
  for (const std::int64_t factor : {2, 3}) {
    const RunResult slow =
        serve(loop, 200, straggler(0, "0 s", "1000 s", static_cast<double>(factor)));
    REQUIRE(slow.instances[0].whole.steps == usual.instances[0].whole.steps);
    // Each step is rounded to a nanosecond.
    const std::int64_t slack = factor * usual.instances[0].whole.steps;
    for (std::size_t i = 0; i < 200; ++i) {
      const RequestRecord& a = usual.log.records[i];
      const RequestRecord& b = slow.log.records[i];
      REQUIRE(std::abs((b.ttft() - factor * a.ttft()).count()) <= slack);
      REQUIRE(std::abs((b.e2el() - factor * a.e2el()).count()) <= slack);
    }
    CHECK(slow.instances[0].whole.flops.value() == usual.instances[0].whole.flops.value());
  }
}

TEST_CASE("stragglers of one time multiply, and leave other times and replicas alone") {
  const std::vector<Fault> faults{{.kind = FaultKind::straggler,
                                   .replica = 1,
                                   .at = TimePoint{1s},
                                   .to = TimePoint{3s},
                                   .slowdown = 2.0},
                                  {.kind = FaultKind::straggler,
                                   .replica = 1,
                                   .at = TimePoint{2s},
                                   .to = TimePoint{4s},
                                   .slowdown = 1.5}};
  CHECK(slowdown(faults, 1, TimePoint{1s} - 1ns) == 1.0);
  CHECK(slowdown(faults, 1, TimePoint{1s}) == 2.0);
  CHECK(slowdown(faults, 1, TimePoint{2s}) == 3.0);
  CHECK(slowdown(faults, 1, TimePoint{3s}) == 1.5);
  CHECK(slowdown(faults, 1, TimePoint{4s}) == 1.0);
  CHECK(slowdown(faults, 0, TimePoint{2s}) == 1.0);
}

TEST_CASE("what a crash takes along is counted, and tried again or lost for that cause") {
  const std::string fault = crash(0, "300 ms", "5 s");
  const RunResult retried = serve(loop, 200, fault);
  CHECK(count_ended(retried, Outcome::completed) == 200);
  const auto again = std::ranges::count(retried.log.records, 1, &RequestRecord::retries);
  CHECK(again == 40);
  const RunResult lost = serve(loop, 200, fault, {"cluster.on_oom=lose"});
  CHECK(count_ended(lost, Outcome::lost_crash) == 40);
  CHECK(count_ended(lost, Outcome::lost_oom) == 0);
  CHECK(count_ended(lost, Outcome::completed) == 160);
  // Nothing is served in the meantime.
  for (const RequestRecord& r : retried.log.records)
    CHECK((r.first_token <= TimePoint{300ms} || r.first_token > TimePoint{5300ms}));
  CHECK(retried.instances[0].whole.down == 5s);
  CHECK(retried.instances[0].whole.failures == 1);
}

TEST_CASE("a client that retries gets an answer after its request was lost in a crash") {
  const RunResult result = serve(
      loop, 200, crash(0, "300 ms", "5 s"),
      {"cluster.on_oom=lose", "traffic.chat.retry.attempts=2", "traffic.chat.retry.jitter=0"});
  CHECK(count_ended(result, Outcome::completed) == 200);
}

TEST_CASE("with one of N replicas down the others carry (N - 1) / N of the load that all could") {
  const Overrides four{"cluster.replicas=4"};
  const std::string crowd = "process: closed_loop, max_concurrency: 400";
  const auto throughput = [&](const std::string& faults) {
    const RunResult result = serve(crowd, 6000, faults, four);
    return 6000.0 / to_seconds(result.log.records.back().finish - TimePoint{}).value();
  };
  const double ratio = throughput(crash(2, "0 s", "1000 s")) / throughput("");
  CHECK(ratio == Approx(0.75).epsilon(0.02));
}

TEST_CASE("a crash ends a restart that is under way and begins another") {
  const RunResult result = serve(loop, 200, crash(0, "1 s", "3 s") + crash(0, "2 s", "3 s"));
  CHECK(result.instances[0].whole.restarts == 2);
  CHECK(result.instances[0].whole.down == 4s);
  CHECK(std::ranges::none_of(result.log.records, [](const RequestRecord& r) {
    return r.first_token > TimePoint{1s} && r.first_token <= TimePoint{5s};
  }));
}

TEST_CASE("a fault after the last request has ended changes nothing") {
  const RunResult usual = serve(loop, 200);
  const RunResult result = serve(loop, 200, crash(0, "900 s", "3 s"));
  CHECK(result.log.records == usual.log.records);
  CHECK(result.end == usual.end);
  CHECK(result.instances[0].whole.restarts == 0);
  // Nor does the run wait for a restart that nobody needs.
  const RunResult spare = serve(loop, 200, crash(1, "100 ms", "900 s"), {"cluster.replicas=2"});
  CHECK(spare.end < TimePoint{900s});
  CHECK(spare.instances[1].whole.as_of <= spare.end);
}

TEST_CASE("a fault names a replica that there is, and ends after it begins") {
  CHECK_THROWS_WITH(
      serve(loop, 1, crash(1, "1 s", "3 s")),
      Catch::Contains("faults[0].replica") && Catch::Contains("there are 1 replicas"));
  CHECK_THROWS_WITH(serve(loop, 1, straggler(0, "3 s", "3 s", 2.0)),
                    Catch::Contains("faults[0].to") && Catch::Contains("ends before it begins"));
  CHECK_THROWS_WITH(serve(loop, 1, "  - {kind: meteor, replica: 0, at: 1 s}\n"),
                    Catch::Contains("faults[0].kind"));
}

TEST_CASE("stragglers of one time do not make a step outlast simulated time") {
  const std::string worst = straggler(0, "0 s", "9 s", 1000.0);
  CHECK_THROWS_WITH(serve(loop, 1, worst + worst),
                    Catch::Contains("faults[0].slowdown: together with the others of that time it "
                                    "makes things 1e+06 times slower, more than 10000") &&
                        Catch::Contains("hint: factors of one time multiply"));
  CHECK_NOTHROW(serve(loop, 1, worst + straggler(0, "8 s", "10 s", 10.0)));
  CHECK_THROWS_WITH(serve(loop, 1, worst + straggler(0, "8 s", "10 s", 11.0)),
                    Catch::Contains("faults[1].slowdown"));
  // One after the other, or of another replica, they are as many as one likes.
  CHECK_NOTHROW(serve(loop, 1, worst + straggler(0, "9 s", "10 s", 1000.0)));
  CHECK_NOTHROW(serve(loop, 1, worst + straggler(1, "0 s", "9 s", 1000.0), {"cluster.replicas=2"}));
}

TEST_CASE("a fault that is not spelt as it is called is recognised") {
  CHECK_THROWS_WITH(serve(loop, 1, "", {"fault=[]"}),
                    Catch::Contains("unknown key") && Catch::Contains("did you mean 'faults'?"));
  CHECK_THROWS_WITH(serve(loop, 1, "", {"cluster.pool={}"}),
                    Catch::Contains("did you mean 'pools'?"));
}

TEST_CASE("in a measure window a replica is down as long as it is, whatever is cut short") {
  const auto down_in = [](const std::string& window, const std::string& faults) {
    const RunResult result = serve("process: constant, rate: 10/s", 400, faults,
                                   {"cluster.replicas=2", "measure=" + window});
    const InstanceResult& first = result.instances.front();
    CHECK(first.measured.busy >= 0s);
    CHECK(first.measured.busy <= first.measured.as_of - first.measured_from);
    return first.measured.down;
  };
  const std::string once = crash(0, "1 s", "20 s");
  CHECK(down_in("{from: 2 s, to: 12 s}", once) == 10s);
  CHECK(down_in("{from: 0 s, to: 2 s}", once) == 1s);
  // The second crash ends the first restart: 1 to 5 to 6 s.
  CHECK(down_in("{from: 2 s}", once + crash(0, "5 s", "1 s")) == 4s);
  // A step of some seconds is under way when the window begins, and is cut short within it.
  CHECK(down_in("{from: 2 s}", straggler(0, "1 s", "3 s", 1000.0) + crash(0, "2.5 s", "1 s")) ==
        1s);
}
