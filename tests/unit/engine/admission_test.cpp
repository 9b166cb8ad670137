// Requests that are refused at the door of the cluster.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "sim/engine/run.hpp"

using namespace tokenline;

namespace {

Scenario parse(const std::string& cluster, const std::string& traffic) {
  return parse_scenario("door.yaml", fmt::format(R"(scenario: door
model: llama-3.1-8b
cluster: {{gpu: h100_sxm{}}}
engine: {{max_model_len: 4096, max_num_seqs: 4}}
traffic:
{})",
                                                 cluster, traffic));
}

const std::string burst = R"(  burst:
    arrival: {process: constant, rate: 1000000000/s}
    num_prompts: 100
    prompt_tokens: 200
    output_tokens: 50
)";

RunResult run_admitted(Scenario scenario) {
  RunResult result = run(scenario);
  for (const AuditCheck& check : result.audit.checks) {
    INFO(check.id << " " << check.name << ": " << check.details);
    CHECK(check.passed);
  }
  return result;
}

std::ptrdiff_t count_of(const RunResult& result, Outcome outcome) {
  return std::ranges::count(result.log.records, outcome, &RequestRecord::outcome);
}

}  // namespace

TEST_CASE("a refused request ends when it arrives and took no time and no replica", "[engine]") {
  const RunResult result =
      run_admitted(parse(", admission: token_bucket, bucket_counts: requests, bucket_rate: 1/s, "
                         "bucket_burst: 30",
                         burst));
  // 100 ns refill nothing.
  CHECK(count_of(result, Outcome::completed) == 30);
  CHECK(count_of(result, Outcome::rejected) == 70);
  for (const RequestRecord& r : result.log.records) {
    if (r.outcome != Outcome::rejected) continue;
    CHECK(r.finish == r.arrival);
    CHECK(r.parts == Parts{});
    CHECK(r.first_token == TimePoint{});
  }
  CHECK_THAT(result.audit.checks.front().details,
             Catch::Equals("100 offered, 100 ended (70 refused at the door), 0 left"));
}

TEST_CASE("no more wait than a bounded queue holds", "[engine]") {
  // The first request starts a step; the others of the burst find it busy.
  const RunResult in_all =
      run_admitted(parse(", admission: bounded_queue, max_waiting: 10", burst));
  CHECK(in_all.instances[0].whole.peak_waiting == 10);
  CHECK(count_of(in_all, Outcome::completed) == 11);
  const RunResult each = run_admitted(
      parse(", replicas: 3, admission: bounded_queue, max_waiting_per_replica: 10", burst));
  CHECK(count_of(each, Outcome::completed) == 33);
  for (const InstanceResult& instance : each.instances) CHECK(instance.whole.peak_waiting == 10);
}

TEST_CASE("a door that never closes is no door", "[engine]") {
  const RunResult without = run_admitted(parse(", replicas: 2", burst));
  for (const char* open : {", replicas: 2, admission: unlimited",
                           ", replicas: 2, admission: bounded_queue, max_waiting: 1000",
                           ", replicas: 2, admission: bounded_queue, max_waiting_per_replica: 1000",
                           ", replicas: 2, admission: token_bucket, bucket_counts: prompt_tokens, "
                           "bucket_rate: 1/s, bucket_burst: 20000"}) {
    CAPTURE(open);
    const RunResult with = run_admitted(parse(open, burst));
    CHECK(with.log.records == without.log.records);
    CHECK(with.fingerprint == without.fingerprint);
  }
}

TEST_CASE("a client of a closed loop that is refused comes again after its think time",
          "[engine]") {
  const RunResult result = run_admitted(
      parse(", admission: token_bucket, bucket_counts: requests, bucket_rate: 0.001/s, "
            "bucket_burst: 1",
            R"(  loop:
    arrival: {process: closed_loop, max_concurrency: 1, think_time: 1 s}
    num_prompts: 5
    prompt_tokens: 200
    output_tokens: 50
)"));
  REQUIRE(result.log.records.size() == 5);
  CHECK(result.log.records[0].outcome == Outcome::completed);
  for (std::size_t i = 1; i < 5; ++i) {
    CHECK(result.log.records[i].outcome == Outcome::rejected);
    CHECK(result.log.records[i].arrival ==
          result.log.records[i - 1].finish + std::chrono::seconds(1));
  }
}

TEST_CASE("under load the class with the larger priority is shed, the other is not", "[engine]") {
  const auto traffic = [](int urgent) {
    return burst + fmt::format(R"(    priority: 7
  urgent:
    arrival: {{process: poisson, rate: 20/s}}
    num_prompts: 40
    priority: {}
    prompt_tokens: 200
    output_tokens: 50
)",
                               urgent);
  };
  const std::string door = ", admission: shed_by_class, shed_above: 20";
  const RunResult result = run_admitted(parse(door, traffic(3)));
  for (const RequestRecord& r : result.log.records)
    if (r.class_index == 1) CHECK(r.outcome == Outcome::completed);
  CHECK(count_of(result, Outcome::rejected) == 100 - 21);
  CHECK_THROWS_WITH(parse(door, traffic(7)), Catch::Contains("all classes are as urgent"));
}

TEST_CASE("what a door could never let in, or would refuse for ever, is the user's mistake",
          "[engine]") {
  CHECK_THROWS_WITH(parse(", admission: bounded_queue", burst),
                    Catch::Contains("bounded_queue needs a bound"));
  CHECK_THROWS_WITH(parse(", max_waiting: 3", burst), Catch::Contains("cluster.max_waiting"));
  CHECK_THROWS_WITH(parse(", admission: token_bucket, bucket_counts: prompt_tokens, "
                          "bucket_rate: 5/s, bucket_burst: 199",
                          burst),
                    Catch::Contains("a prompt of 200 tokens could never enter"));
  const auto loop = [](const std::string& think) {
    return parse(", admission: bounded_queue, max_waiting: 3",
                 "  loop:\n    arrival: {process: closed_loop, max_concurrency: 9" + think +
                     "}\n    stop: 10 s\n    prompt_tokens: 200\n    output_tokens: 50\n");
  };
  CHECK_THROWS_WITH(loop(""), Catch::Contains("think_time"));
  // 9 clients that ask 10 s / 899 ns times are more than a run can keep.
  CHECK_THROWS_WITH(loop(", think_time: 899 ns"), Catch::Contains("think_time"));
  CHECK_NOTHROW(loop(", think_time: 901 ns"));
}
