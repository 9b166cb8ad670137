// In which order waiting requests are admitted.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "sim/engine/run.hpp"

using namespace tokenline;

namespace {

/// Two classes that together ask for more than one GPU gives.
Scenario crowded(const std::string& engine, const std::string& of_chat = "",
                 const std::string& of_batch = "") {
  return parse_scenario("crowded.yaml",
                        fmt::format(R"(scenario: crowded
model: llama-3.1-8b
cluster: {{gpu: h100_sxm}}
engine: {{max_model_len: 4096, max_num_seqs: 8{}}}
traffic:
  chat:
    arrival: {{process: poisson, rate: 20/s}}
    num_prompts: 200
    prompt_tokens: {{distribution: uniform, min: 1, max: 400}}
    output_tokens: {{distribution: uniform, min: 1, max: 100}}
{}  batch:
    arrival: {{process: poisson, rate: 20/s}}
    num_prompts: 200
    prompt_tokens: 400
    output_tokens: 100
{})",
                                    engine.empty() ? "" : ", " + engine, of_chat, of_batch));
}

RunResult run_queued(Scenario scenario) {
  RunResult result = run(scenario);
  REQUIRE(result.audit.passed);
  return result;
}

double mean_ttft(const RunResult& result, std::uint32_t class_index) {
  Duration sum{};
  std::int64_t count = 0;
  for (const RequestRecord& r : result.log.records) {
    if (r.class_index != class_index) continue;
    sum += r.ttft();
    ++count;
  }
  return to_seconds(sum).value() / static_cast<double>(count);
}

double mean_e2el(const RunResult& result) {
  Duration sum{};
  for (const RequestRecord& r : result.log.records) sum += r.e2el();
  return to_seconds(sum).value() / static_cast<double>(result.log.records.size());
}

}  // namespace

TEST_CASE("without priorities, deadlines or differences every order is that of arrival",
          "[engine]") {
  const RunResult fcfs = run_queued(crowded(""));
  CHECK(run_queued(crowded("queue_policy: fcfs")).log.records == fcfs.log.records);
  CHECK(run_queued(crowded("queue_policy: priority")).log.records == fcfs.log.records);
  const std::string slo = "    slo: {ttft: 1 s}\n";
  CHECK(run_queued(crowded("queue_policy: earliest_deadline", slo, slo)).log.records ==
        fcfs.log.records);
}

TEST_CASE("a class of a smaller priority waits for its own requests and a slot alone", "[engine]") {
  const RunResult fcfs = run_queued(crowded(""));
  const RunResult chat_first =
      run_queued(crowded("queue_policy: priority", "    priority: -1\n", ""));
  CHECK(mean_ttft(chat_first, 0) < 0.2 * mean_ttft(fcfs, 0));
  CHECK(mean_ttft(chat_first, 1) > mean_ttft(fcfs, 1));
  // No request of the other class starts while one that the engine knew of waits: a request that
  // goes before it finds it there not before the end of the step under way.
  for (const RequestRecord& waiting : chat_first.log.records)
    if (waiting.class_index == 0)
      for (const RequestRecord& other : chat_first.log.records)
        if (other.class_index == 1 && other.arrival > waiting.arrival)
          REQUIRE(other.first_token >= waiting.first_token);
}

TEST_CASE("deadlines order classes by their targets", "[engine]") {
  const RunResult run = run_queued(crowded("queue_policy: earliest_deadline",
                                           "    slo: {ttft: 100 ms}\n", "    slo: {ttft: 60 s}\n"));
  const RunResult fcfs = run_queued(crowded(""));
  CHECK(mean_ttft(run, 0) < 0.2 * mean_ttft(fcfs, 0));
}

TEST_CASE("the better answers are predicted the shorter is the mean latency", "[engine]") {
  const double perfect = mean_e2el(
      run_queued(crowded("queue_policy: shortest_job_first, length_prediction_sigma: 0")));
  const double fair = mean_e2el(
      run_queued(crowded("queue_policy: shortest_job_first, length_prediction_sigma: 1")));
  const double fcfs = mean_e2el(run_queued(crowded("")));
  CHECK(perfect < fair);
  CHECK(fair < fcfs);
}

TEST_CASE("two backlogged classes under fair_share are served alike within VTC's bound",
          "[engine]") {
  // OSDI'24, Theorem 4.4: |W_a − W_b| ≤ 2 max(w_p L_input, w_q M) in any interval in which both
  // wait; M is the tokens of a full batch.
  Scenario scenario = parse_scenario("backlog.yaml", R"(scenario: backlog
model: llama-3.1-8b
cluster: {gpu: h100_sxm}
engine: {max_model_len: 2048, max_num_seqs: 8, queue_policy: fair_share}
traffic:
  few:
    arrival: {process: closed_loop, max_concurrency: 40}
    num_prompts: 400
    prompt_tokens: 100
    output_tokens: 100
  many:
    arrival: {process: closed_loop, max_concurrency: 400}
    num_prompts: 4000
    prompt_tokens: 300
    output_tokens: 50
)");
  const RunResult result = run_queued(std::move(scenario));
  // Both wait until the last request of one has been sent.
  TimePoint until = TimePoint::max();
  for (std::uint32_t c = 0; c < 2; ++c) {
    TimePoint last{};
    for (const RequestRecord& r : result.log.records)
      if (r.class_index == c) last = std::max(last, r.arrival);
    until = std::min(until, last);
  }
  std::vector<std::int64_t> served(2);
  for (const RequestRecord& r : result.log.records)
    if (r.finish < until) served[r.class_index] += r.prompt_tokens + 2 * r.output_tokens;
  REQUIRE(served[0] > 100'000);
  // What runs at the end counts for nobody here: at most a batch more on either side.
  const std::int64_t batch = 8 * (300 + 2 * 100);
  CHECK(std::abs(served[0] - served[1]) <= 2 * std::max<std::int64_t>(300, 2 * 8 * 350) + batch);
}

TEST_CASE("earliest_deadline without any target is the user's mistake", "[engine]") {
  CHECK_THROWS_WITH(crowded("queue_policy: earliest_deadline"),
                    Catch::Contains("engine.queue_policy: earliest_deadline needs deadlines") &&
                        Catch::Contains("slo"));
}

TEST_CASE("a predictor's error is a key of shortest_job_first alone, and is required there",
          "[engine]") {
  CHECK_THROWS_WITH(crowded("length_prediction_sigma: 0.5"),
                    Catch::Contains("length_prediction_sigma"));
  CHECK_THROWS_WITH(crowded("queue_policy: shortest_job_first"),
                    Catch::Contains("length_prediction_sigma"));
}
