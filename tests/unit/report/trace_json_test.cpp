// trace.json against the Trace Event Format, and against the run.
#include "sim/report/trace_json.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/report/observed.hpp"

using namespace tokenline;
using namespace tokenline::report;
using nlohmann::json;

namespace {

constexpr std::int64_t no_limit = std::int64_t{1} << 40;

const std::string pools = R"(scenario: pools
model: llama-3.1-8b
cluster:
  gpu: h100_sxm
  network: {node: hgx_h100, fabric: infiniband_ndr}
  pools: {p: {role: prefill}, d: {role: decode}}
engine: {max_model_len: 4096}
traffic:
  chat: {arrival: {process: poisson, rate: 10/s}, num_prompts: 40, prompt_tokens: 500, output_tokens: 40}
)";

const std::string pipeline = R"(scenario: pipeline
model: llama-3.1-8b
cluster: {gpu: h100_sxm, pipeline_parallel_size: 2}
engine: {preset: vllm-v1, max_model_len: 4096}
traffic:
  chat: {arrival: {process: poisson, rate: 30/s}, num_prompts: 60, prompt_tokens: 500, output_tokens: 40}
)";

struct Traced {
  Traced(const std::string& yaml, std::int64_t limit) : observed(yaml) {
    std::ostringstream out;
    extent = write_trace_json(out, observed.log, observed.run, limit);
    text = out.str();
    trace = json::parse(text);
    events = trace.at("traceEvents");
  }

  Observed observed;
  TraceExtent extent;
  std::string text;
  json trace;
  json events;
};

double number(const json& e, const char* key) { return e.at(key).get<double>(); }
int whole(const json& e, const char* key) { return e.at(key).get<int>(); }
std::string text(const json& e, const char* key) { return e.at(key).get<std::string>(); }

using Track = std::pair<int, int>;
Track track(const json& e) { return {whole(e, "pid"), whole(e, "tid")}; }

/// Slices of a track follow each other; all tracks and processes have names.
void check_slices(const json& events) {
  std::map<Track, double> ends;
  std::set<int> processes;
  std::set<Track> threads;
  for (const json& e : events) {
    const std::string ph = text(e, "ph");
    if (ph == "M") {
      CHECK(e.at("args").size() == 1);
      if (text(e, "name") == "process_name") processes.insert(whole(e, "pid"));
      if (text(e, "name") == "thread_name") threads.insert(track(e));
    }
    if (ph != "X") continue;
    CHECK(e.at("name").is_string());
    CHECK(number(e, "dur") >= 0.0);
    double& end = ends[track(e)];
    CHECK(number(e, "ts") >= end - 1e-4);
    end = number(e, "ts") + number(e, "dur");
    CHECK(processes.contains(whole(e, "pid")));
    CHECK(threads.contains(track(e)));
  }
  CHECK_FALSE(ends.empty());
}

/// Async slices of an id nest, and all are closed.
void check_requests(const json& events) {
  std::map<std::string, std::vector<std::string>> open;
  for (const json& e : events) {
    const std::string ph = text(e, "ph");
    if (ph != "b" && ph != "e" && ph != "n") continue;
    if (text(e, "cat") == "fault") continue;
    CHECK(text(e, "cat") == "request");
    CHECK(e.at("ts").is_number());
    auto& stack = open[text(e, "id")];
    if (ph == "b") stack.push_back(text(e, "name"));
    if (ph == "n") CHECK_FALSE(stack.empty());
    if (ph != "e") continue;
    REQUIRE_FALSE(stack.empty());
    CHECK(stack.back() == text(e, "name"));
    stack.pop_back();
  }
  CHECK_FALSE(open.empty());
  for (const auto& [id, stack] : open) CHECK(stack.empty());
}

/// Each arrow has one tail and one head, and both are in slices.
std::size_t check_arrows(const json& events) {
  std::map<int, std::string> ways;
  std::set<std::pair<Track, double>> begins;
  for (const json& e : events)
    if (text(e, "ph") == "X") begins.emplace(track(e), number(e, "ts"));
  for (const json& e : events) {
    const std::string ph = text(e, "ph");
    if (ph != "s" && ph != "t" && ph != "f") continue;
    CHECK(text(e, "name") == "way");
    CHECK(text(e, "cat") == "way");
    CHECK(text(e, "bp") == "e");
    CHECK(begins.contains({track(e), number(e, "ts")}));
    ways[whole(e, "id")] += ph;
  }
  std::size_t longer = 0;
  for (const auto& [id, way] : ways) {
    CHECK((way == "sf" || way == "stf"));
    if (way == "stf") ++longer;
  }
  CHECK_FALSE(ways.empty());
  return longer;
}

void check_format(const Traced& traced) {
  static const std::set<std::string> known{"M", "X", "C", "b", "e", "n", "s", "t", "f", "i"};
  for (const json& e : traced.events) {
    CHECK(known.contains(text(e, "ph")));
    CHECK(e.at("pid").is_number_integer());
    CHECK(e.at("tid").is_number_integer());
    if (text(e, "ph") != "M") CHECK(number(e, "ts") >= 0.0);
    if (text(e, "ph") != "C") continue;
    for (const auto& [key, value] : e.at("args").items()) CHECK(value.is_number());
  }
  check_slices(traced.events);
  check_requests(traced.events);
}

}  // namespace

TEST_CASE("a trace is as the format wants it, and its steps are those of the run", "[report]") {
  const Traced traced(eventful, no_limit);
  check_format(traced);
  check_arrows(traced.events);
  CHECK(traced.extent.complete);
  CHECK(traced.trace.at("otherData").at("complete") == true);
  std::map<int, std::pair<std::int64_t, std::int64_t>> steps;  // by process: number, nanoseconds
  int crashes = 0;
  for (const json& e : traced.events) {
    if (text(e, "ph") != "X") continue;
    if (text(e, "name") == "down") {
      ++crashes;
      CHECK(number(e, "ts") == 4e6);
      CHECK(number(e, "dur") == 1e6);
      continue;
    }
    auto& [count, busy] = steps[whole(e, "pid")];
    ++count;
    busy += std::llround(1000.0 * number(e, "dur"));
  }
  CHECK(crashes == 1);
  REQUIRE(steps.size() == 2);
  for (int i = 0; i < 2; ++i) {
    const InstanceStats& stats = traced.observed.run.instances[static_cast<std::size_t>(i)].whole;
    CHECK(steps.at(2 + i) == std::pair{stats.steps, stats.busy.count()});
  }
}

TEST_CASE("arrows follow a request from the replica that prefills to the one that decodes",
          "[report]") {
  const Traced traced(pools, no_limit);
  check_format(traced);
  CHECK(check_arrows(traced.events) == traced.observed.run.log.records.size());
}

TEST_CASE("stragglers and brown-outs are slices from their begin to their end", "[report]") {
  std::string slow = eventful;
  slow.insert(slow.find("traffic:"),
              "  - {kind: straggler, replica: 1, from: 1 s, to: 3 s, slowdown: 2}\n"
              "  - {kind: straggler, replica: 0, from: 2 s, to: 900 s, slowdown: 1.5}\n");
  const Traced traced(slow, no_limit);
  check_format(traced);
  const double end =
      static_cast<double>(traced.observed.run.end.time_since_epoch().count()) / 1000.0;
  std::vector<std::pair<double, int>> begins;
  std::vector<double> ends;
  for (const json& e : traced.events) {
    if (e.value("cat", "") != "fault") continue;
    CHECK(text(e, "name") == "straggler");
    if (text(e, "ph") == "b") begins.emplace_back(number(e, "ts"), whole(e, "pid"));
    if (text(e, "ph") == "e") ends.push_back(number(e, "ts"));
  }
  // Process 0 is the run, then the classes, then the replicas.
  const int first = 1 + static_cast<int>(traced.observed.run.classes.size());
  CHECK(begins == std::vector<std::pair<double, int>>{{1e6, first + 1}, {2e6, first}});
  CHECK(ends == std::vector<double>{3e6, end});

  const Traced cut(slow, 50'000);
  std::map<std::string, int> open;
  for (const json& e : cut.events)
    if (e.value("cat", "") == "fault") open[text(e, "id")] += text(e, "ph") == "b" ? 1 : -1;
  for (const auto& [id, count] : open) CHECK(count == 0);

  std::string two_nodes = pools;
  two_nodes.insert(two_nodes.find("  pools:"), "  tensor_parallel_size: 8\n");
  const Traced brown(two_nodes +
                         "faults: [{kind: link_brownout, link: nic, from: 1 s, to: 2 s, "
                         "bandwidth_factor: 0.5}]\n",
                     no_limit);
  const auto fault = std::ranges::find_if(
      brown.events, [](const json& e) { return e.value("cat", "") == "fault"; });
  REQUIRE(fault != brown.events.end());
  CHECK(fault->at("name") == "link_brownout");
  CHECK(fault->at("pid") == 0);
  CHECK(fault->at("args").at("links") == "all nics");
  CHECK(fault->at("args").at("bandwidth_factor") == 0.5);
}

TEST_CASE("micro-batches of a pipeline have tracks of their own", "[report]") {
  const Traced traced(pipeline, no_limit);
  check_format(traced);
  check_arrows(traced.events);
}

TEST_CASE("a trace that would be too large ends at an instant, and says so", "[report]") {
  constexpr std::int64_t limit = 50'000;
  const Traced traced(eventful, limit);
  check_format(traced);
  CHECK_FALSE(traced.extent.complete);
  CHECK(static_cast<std::int64_t>(traced.text.size()) < 2 * limit);
  const double until = static_cast<double>(traced.extent.until.time_since_epoch().count()) / 1000.0;
  CHECK(traced.trace.at("otherData").at("complete") == false);
  CHECK(number(traced.trace.at("otherData"), "until_us") == Approx(until));
  bool said = false;
  double last = 0.0;
  for (const json& e : traced.events) {
    if (text(e, "ph") == "M") continue;
    CHECK(number(e, "ts") <= until + 1e-4);
    if (text(e, "ph") == "X") last = number(e, "ts");
    said = said || text(e, "name") == "trace ends here";
  }
  CHECK(said);
  CHECK(last > 0.0);
}
