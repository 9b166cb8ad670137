// Some of the requests of a scenario, simulated without the others and written as one of their own.
#include "sim/report/request_subsets.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "sim/report/run_directory.hpp"
#include "tests/support/scratch.hpp"
#include "tests/unit/report/builders.hpp"

using namespace tokenline;
using namespace tokenline::report;
using Catch::Contains;

namespace {

const std::string head =
    "scenario: s\nmodel: llama-3.1-8b\ncluster: {gpu: h100_sxm, replicas: 2, router: "
    "session_affinity}\nengine: {max_model_len: 4096}\ntraffic:\n";
const std::string talks =
    "  talks:\n    arrival: {process: poisson, rate: 4/s}\n    stop: 4 s\n"
    "    session: {turns: 3, think_time: 200 ms, max_context: 4000}\n"
    "    shared_prefix: {tokens: 100, groups: 2}\n"
    "    prompt_tokens: {distribution: uniform, min: 50, max: 300}\n    output_tokens: 30\n";
const std::string loop =
    "  loop:\n    arrival: {process: closed_loop, max_concurrency: 3}\n    num_prompts: 20\n"
    "    prompt_tokens: 500\n    output_tokens: 40\n    slo: {ttft: 1 s}\n    priority: 2\n";

RequestSubsets subsets(const std::string& text, const std::string& condition) {
  return {[=] { return parse_scenario("/tmp/s.yaml", text); }, condition, "--breaks"};
}

/// When each request came and what it saw, but for who offered it.
void check_same(const RequestRecords& a, const RequestRecords& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    RequestRecord record = b[i];
    record.session = a[i].session;
    record.source = a[i].source;
    CHECK(record == a[i]);
  }
}

}  // namespace

TEST_CASE("all requests as they were recorded give the run they were recorded from", "[shrink]") {
  for (const std::string& traffic : {talks, loop, talks + loop}) {
    const std::string text = head + traffic;
    Scenario scenario = parse_scenario("/tmp/s.yaml", text);
    const RunResult original = run(scenario);
    REQUIRE(original.log.records.size() >= 20);
    const RequestSubsets requests = subsets(text, "all.completed > 0");
    const SubsetRun whole = requests.run(requests.all());
    CHECK(whole.breaks);
    check_same(whole.run.log.records, original.log.records);
    CHECK(whole.run.log.cached_tokens == original.log.cached_tokens);
  }
}

TEST_CASE("requests that are written run as those that were simulated", "[shrink]") {
  const Scratch folder;
  const RequestSubsets requests = subsets(head + talks + loop, "talks.p99_ttft_ms >= 1");
  Subset some;
  for (const std::uint32_t place : requests.all())
    if (place % 3 != 1) some.push_back(place);
  const SubsetRun simulated = requests.run(some);
  const std::string path =
      folder.write("scenario.yaml", requests.scenario_yaml(some, folder.path()));
  (void)folder.write("trace.csv", requests.trace_csv(some));
  Scenario written = load_scenario(path);
  CHECK(written.asserts == std::vector<std::string>{"talks.p99_ttft_ms < 1"});
  CHECK(written.traffic.classes.at(1).priority == 2);
  CHECK(written.traffic.classes.at(1).slo.ttft.has_value());
  const RunResult repeated = run(written);
  check_same(repeated.log.records, simulated.run.log.records);
  CHECK(repeated.log.cached_tokens == simulated.run.log.cached_tokens);
}

TEST_CASE("a class of which no request is left stays, and nothing arrives in it", "[shrink]") {
  const Scratch folder;
  const RequestSubsets requests =
      subsets(head + talks + loop +
                  "speculation: {method: ngram, num_speculative_tokens: 2, "
                  "acceptance: {talks: 0.5, loop: 0.7}}\n",
              "loop.completed < 2");
  const Subset first{requests.all().front()};
  CHECK(requests.arrivals().front().class_index == 1);
  const std::string path =
      folder.write("scenario.yaml", requests.scenario_yaml(first, folder.path()));
  (void)folder.write("trace.csv", requests.trace_csv(first));
  Scenario written = load_scenario(path);
  CHECK(written.traffic.classes.size() == 2);
  CHECK(run(written).log.records.size() == 1);
  CHECK(requests.run(first).breaks);
}

TEST_CASE("a condition that an option gives is checked as an assert is", "[assertions]") {
  const Scenario scenario = parse_scenario("s.yaml", std::string(small_scenario));
  const auto negation = [&](const std::string& text) {
    return negated(read_condition(scenario, text, "--breaks"));
  };
  CHECK(negation("chat.p99_ttft_ms > 1_000") == "chat.p99_ttft_ms <= 1_000");
  CHECK(negation("all.completed>=5") == "all.completed < 5");
  CHECK(negation("all.completed < 5 ") == "all.completed >= 5");
  CHECK(negation("all.completed <= -0.5") == "all.completed > -0.5");
  const auto refuses = [&](const std::string& text, const std::string& message) {
    CHECK_THROWS_WITH(read_condition(scenario, text, "--breaks " + text), Contains(message));
  };
  refuses("chat.p99_ttft_s > 3", "did you mean 'p99_ttft_ms'?");
  CHECK(negation("p99_ttft(chat) > 3 s") == "chat.p99_ttft_ms <= 3 s");
  refuses("chat.p99_ttft_ms > 3 GB", "'3 GB' is no amount of p99_ttft_ms");
  refuses("chat.p99_ttft_ms", "--breaks chat.p99_ttft_ms:1:1: error: ");
}
