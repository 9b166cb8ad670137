// Clients that do not wait for ever: time-outs, retries, budgets.
#include "sim/engine/client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "sim/engine/run.hpp"

using namespace tokenline;
using namespace std::chrono_literals;

namespace {

/// `clients` are further keys of the class, each on a line of its own.
RunResult serve(const std::string& clients, const std::vector<std::string>& overrides = {}) {
  std::string yaml = R"(scenario: clients
model: llama-3.1-8b
cluster: {gpu: h100_sxm}
engine: {preset: vllm-v1, max_model_len: 1024, max_num_batched_tokens: 2048}
traffic:
  chat:
    arrival: {process: constant, rate: 100/s}
    num_prompts: 1
    prompt_tokens: 400
    output_tokens: 100
)" + clients;
  Scenario scenario = parse_scenario("clients.yaml", yaml, {overrides});
  RunResult result = run(scenario);
  REQUIRE(result.audit.passed);
  return result;
}

std::string nanoseconds(Duration d) { return fmt::format("{} ns", d.count()); }

std::string retry(const std::string& keys) { return "    retry: {" + keys + "}\n"; }

/// A class with the given retries.
traffic::RequestClass with_retries(Duration backoff, Duration most, double jitter) {
  traffic::RequestClass its{.name = "chat", .slo = {}};
  its.client.attempts = 100;
  its.client.backoff = backoff;
  its.client.max_backoff = most;
  its.client.jitter = jitter;
  return its;
}

std::ptrdiff_t outcomes(const RunResult& result, Outcome outcome) {
  return std::ranges::count(result.log.records, outcome, &RequestRecord::outcome);
}

}  // namespace

TEST_CASE("an answer whose last token comes at the very instant of the time-out is in time") {
  const RequestRecord alone = serve("").log.records[0];
  const Duration takes = alone.e2el();
  CHECK(serve("    timeout: " + nanoseconds(takes) + "\n").log.records[0] == alone);
  const RunResult late = serve("    timeout: " + nanoseconds(takes - 1ns) + "\n");
  CHECK(late.log.records[0].outcome == Outcome::timed_out);
  CHECK(late.log.records[0].e2el() == takes - 1ns);
  CHECK(late.log.records[0].parts[Part::restart] == takes - 1ns);
  CHECK(late.instances[0].whole.abandoned == 1);
}

TEST_CASE("ttft_timeout is about the first token alone") {
  const RequestRecord alone = serve("").log.records[0];
  const Duration first = alone.ttft();
  CHECK(serve("    ttft_timeout: " + nanoseconds(first) + "\n").log.records[0] == alone);
  CHECK(serve("    ttft_timeout: " + nanoseconds(first - 1ns) + "\n").log.records[0].outcome ==
        Outcome::timed_out);
  // Both: the first token came in time, the last one did not.
  const RunResult both = serve("    ttft_timeout: " + nanoseconds(first) +
                               "\n    timeout: " + nanoseconds(first + 1ms) + "\n");
  CHECK(both.log.records[0].outcome == Outcome::timed_out);
  CHECK(both.log.records[0].e2el() == first + 1ms);
}

TEST_CASE("patience that is never tried changes nothing, and the end of a run is not its clock's") {
  const RunResult without = serve("", {"traffic.chat.num_prompts=200"});
  const RunResult with =
      serve("    timeout: 1000 s\n" + retry("attempts: 5"), {"traffic.chat.num_prompts=200"});
  CHECK(with.log.records == without.log.records);
  CHECK(with.end == without.end);
}

TEST_CASE("a request given up leaves its blocks to the next one when the step has ended") {
  // A pool for one request at a time: the patient one waits for the hasty one's blocks.
  const auto serve_both = [](const std::string& abort) {
    Scenario scenario = parse_scenario("two.yaml", R"(scenario: two
model: llama-3.1-8b
cluster: {gpu: h100_sxm}
engine: {preset: vllm-v1, max_model_len: 1024, max_num_batched_tokens: 2048,
         num_gpu_blocks_override: 64, watermark: 0}
traffic:
  hasty:
    arrival: {process: closed_loop, max_concurrency: 1}
    num_prompts: 1
    prompt_tokens: 900
    output_tokens: 124
    timeout: 200 ms
    abort_on_timeout: )" + abort + R"(
  patient:
    arrival: {process: constant, rate: 100/s}
    num_prompts: 1
    prompt_tokens: 900
    output_tokens: 124
)");
    RunResult result = run(scenario);
    REQUIRE(result.audit.passed);
    CHECK(result.log.records[0].outcome == Outcome::timed_out);
    CHECK(result.log.records[1].outcome == Outcome::completed);
    return result;
  };
  const auto starts = [](const RunResult& result) {
    const RequestRecord& r = result.log.records[1];
    return r.arrival + r.parts[Part::wait_step] + r.parts[Part::wait_kv_blocks];
  };
  const RunResult aborted = serve_both("true");
  // A decode step of one 8B sequence takes less than 10 ms.
  CHECK(starts(aborted) >= TimePoint{200ms});
  CHECK(starts(aborted) < TimePoint{210ms});
  CHECK(aborted.instances[0].whole.aborts == 1);
  CHECK(aborted.instances[0].whole.discarded_tokens < 124);
  const RunResult in_vain = serve_both("false");
  CHECK(starts(in_vain) > TimePoint{500ms});
  CHECK(in_vain.instances[0].whole.aborts == 0);
  CHECK(in_vain.instances[0].whole.discarded_tokens == 124);
}

TEST_CASE("pauses without jitter double up to max_backoff") {
  // openai-python, _calculate_retry_timeout: 0.5 s · 2^n, at most 8 s.
  const traffic::RequestClass its = with_retries(500ms, 8s, 0.0);
  const std::vector<Duration> expected{500ms, 1s, 2s, 4s, 8s, 8s};
  for (std::size_t i = 0; i < expected.size(); ++i)
    CHECK(retry_pause(its, 42, 7, static_cast<std::int64_t>(i) + 1) == expected[i]);
}

TEST_CASE("full jitter spreads pauses evenly between nothing and the whole pause") {
  // M. Brooker, Exponential Backoff And Jitter (AWS Architecture Blog, 2015): mean half of it,
  // variance a twelfth of its square.
  const traffic::RequestClass its = with_retries(1s, 100s, 1.0);
  double sum = 0.0;
  double squares = 0.0;
  constexpr int draws = 20'000;
  for (std::uint32_t i = 0; i < draws; ++i) {
    const double share = to_seconds(retry_pause(its, 42, i, 3)).value() / 4.0;
    REQUIRE(share >= 0.0);
    REQUIRE(share <= 1.0);
    sum += share;
    squares += share * share;
  }
  const double mean = sum / draws;
  CHECK(mean == Approx(0.5).margin(4.0 / std::sqrt(12.0 * draws)));
  CHECK(squares / draws - mean * mean == Approx(1.0 / 12.0).epsilon(0.03));
  // A share of it: openai-python takes off up to a quarter.
  const traffic::RequestClass quarter = with_retries(1s, 100s, 0.25);
  for (std::uint32_t i = 0; i < 1000; ++i) {
    REQUIRE(retry_pause(quarter, 42, i, 1) <= 1s);
    REQUIRE(retry_pause(quarter, 42, i, 1) >= 750ms);
  }
}

TEST_CASE("a request sent again keeps its first arrival, and what came before is in restart") {
  // Impossible to answer in 100 ms: three attempts, with pauses of 1 and 2 s between them.
  const RunResult result =
      serve("    timeout: 100 ms\n" + retry("attempts: 3, backoff: 1 s, jitter: 0"));
  const RequestRecord& record = result.log.records[0];
  CHECK(record.outcome == Outcome::timed_out);
  CHECK(record.retries == 2);
  CHECK(record.e2el() == 3 * 100ms + 1s + 2s);
  CHECK(record.parts[Part::restart] == record.e2el());
  CHECK(result.instances[0].whole.abandoned == 3);
}

TEST_CASE("a client that was refused comes again") {
  // One request per second enters: of three at once the second and third do a second later each.
  const std::vector<std::string> door{"cluster.admission=token_bucket",
                                      "cluster.bucket_counts=requests", "cluster.bucket_rate=1/s",
                                      "cluster.bucket_burst=1", "traffic.chat.num_prompts=3"};
  const RunResult once = serve("", door);
  CHECK(outcomes(once, Outcome::rejected) == 2);
  const RunResult again =
      serve(retry("attempts: 4, backoff: 1 s, max_backoff: 1 s, jitter: 0"), door);
  CHECK(outcomes(again, Outcome::completed) == 3);
  CHECK(again.log.records[0].retries == 0);
  CHECK(again.log.records[1].retries == 1);
  CHECK(again.log.records[2].retries == 2);
  for (const RequestRecord& r : again.log.records)
    CHECK(r.parts[Part::restart] == r.retries * Duration(1s));
}

TEST_CASE("a retry budget stops retries when half of its tokens are gone") {
  // gRFC A6: each failure takes a token; no retry while count <= max_tokens / 2. Of ten requests
  // that all fail, with 10 tokens: failures 1 to 4 leave 9, 8, 7, 6 and are retried, no other is.
  const RunResult result =
      serve("    timeout: 5 ms\n" + retry("attempts: 100, backoff: 1 s, jitter: 0, "
                                          "budget: {max_tokens: 10, token_ratio: 0.1}"),
            {"traffic.chat.num_prompts=10"});
  std::int64_t retries = 0;
  for (const RequestRecord& r : result.log.records) retries += r.retries;
  CHECK(outcomes(result, Outcome::timed_out) == 10);
  CHECK(retries == 4);
}
