// Queueing theory against the real engine: one server, fixed service times, Poisson arrivals.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "sim/engine/run.hpp"

using namespace tokenline;

namespace {

constexpr std::int64_t prompt = 200;
constexpr std::int64_t output = 10;

std::string scenario(double rate, std::int64_t requests, int seed) {
  return fmt::format(R"(scenario: single_server
seed: {}
model: llama-3.1-8b
cluster: {{gpu: h100_sxm}}
engine: {{preset: vllm-v1, scheduler: orca, max_num_seqs: 1, max_model_len: 1024, max_num_batched_tokens: 1024}}
traffic:
  only:
    arrival: {{process: poisson, rate: "{}/s"}}
    num_prompts: {}
    prompt_tokens: {}
    output_tokens: {}
)",
                     seed, rate, requests, prompt, output);
}

/// The time one request takes alone: its prefill and output − 1 decode steps at growing context.
double service_time(const Scenario& s) {
  const auto step = [&](const hw::StepShape& shape) {
    const Duration host =
        to_duration(s.engine.host_overhead_per_step + 1.0 * s.engine.host_overhead_per_sequence);
    return host + to_duration(s.cost->price(shape).time);
  };
  const hw::Chunk chunk{.new_tokens = prompt, .past_tokens = 0};
  Duration total =
      step({.decode_sequences = 0, .decode_context = 0, .chunks = {&chunk, 1}, .sampled = 1});
  for (std::int64_t i = 0; i < output - 1; ++i)
    total +=
        step({.decode_sequences = 1, .decode_context = prompt + i + 1, .chunks = {}, .sampled = 1});
  return to_seconds(total).value();
}

/// Mean and standard error over independent runs of the mean time a request spends before service.
struct Estimate {
  double mean;
  double error;
};
Estimate mean_wait(double load, double service, int runs) {
  double sum = 0.0;
  double squares = 0.0;
  for (int seed = 1; seed <= runs; ++seed) {
    Scenario s = parse_scenario("md1.yaml", scenario(load / service, 12'000, seed));
    const RunResult result = run(s);
    double waited = 0.0;
    for (const RequestRecord& r : result.log.records)
      waited += to_seconds(r.e2el()).value() - service;
    const double mean = waited / static_cast<double>(result.log.records.size());
    sum += mean;
    squares += mean * mean;
  }
  const double n = runs;
  const double mean = sum / n;
  return {mean, std::sqrt((squares / n - mean * mean) / (n - 1.0))};
}

}  // namespace

TEST_CASE("batch size one under Poisson arrivals waits as M/D/1 does", "[analytic]") {
  Scenario s = parse_scenario("md1.yaml", scenario(1.0, 1, 1));
  const double service = service_time(s);
  for (const double load : {0.3, 0.6, 0.8}) {
    const Estimate wait = mean_wait(load, service, 12);
    const double theory =
        load * service / (2.0 * (1.0 - load));  // Pollaczek–Khinchine, no variance
    INFO(fmt::format("load {}: {} ± {} s against {} s", load, wait.mean, wait.error, theory));
    CHECK(std::abs(wait.mean - theory) < 4.0 * wait.error);  // 4 sigma: 1 in 16,000
    CHECK(wait.error < 0.1 * theory);                        // and the test can see a difference
  }
}

TEST_CASE("without queueing a request takes exactly its service time", "[analytic]") {
  Scenario s = parse_scenario("alone.yaml", scenario(0.001, 20, 3));
  const double service = service_time(s);
  const RunResult result = run(s);
  for (const RequestRecord& r : result.log.records)
    CHECK(to_seconds(r.e2el()).value() == Approx(service).epsilon(1e-12));
}

TEST_CASE("the mean number in the system is the arrival rate times the mean sojourn",
          "[analytic]") {
  Scenario s = parse_scenario("little.yaml", scenario(60.0, 30'000, 5));
  const RunResult result = run(s);
  const InstanceStats& stats = result.instances[0].whole;
  const double length = to_seconds(result.end - TimePoint{}).value();
  // The instance integrates over its steps; what arrives during a step counts from the next one.
  double sojourn = 0.0;
  for (const RequestRecord& r : result.log.records)
    sojourn += to_seconds(r.e2el() - r.parts[Part::wait_step]).value();
  CHECK((stats.running_seconds + stats.waiting_seconds) / length == Approx(sojourn / length));
}
