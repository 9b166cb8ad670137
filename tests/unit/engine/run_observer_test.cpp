// Looking at every step of a run, and at what becomes of every request.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <vector>

#include "sim/engine/run.hpp"

using namespace tokenline;

namespace {

/// So little KV that requests are preempted, two replicas, one of which crashes.
Scenario eventful() {
  return parse_scenario("eventful.yaml", R"(scenario: eventful
model: llama-3.1-8b
cluster: {gpu: h100_sxm, replicas: 2}
engine: {preset: vllm-v1, max_model_len: 4096, num_gpu_blocks_override: 400}
faults:
  - {kind: instance_crash, replica: 1, at: 4 s, restart: 1 s}
traffic:
  chat:
    arrival: {process: poisson, rate: 20/s}
    num_prompts: 200
    prompt_tokens: {distribution: uniform, min: 100, max: 900}
    output_tokens: {distribution: uniform, min: 20, max: 200}
)");
}

struct Step {
  ObservedStep seen;
  std::int64_t new_tokens = 0;
};

class Notes final : public RunObserver {
 public:
  void step(const ObservedStep& step) override {
    std::int64_t tokens = 0;
    for (const ObservedPiece& piece : step.pieces) {
      tokens += piece.chunk.new_tokens;
      CHECK(piece.alone <= step.gpu);
    }
    steps[step.instance].push_back({step, tokens});
  }
  void sequence(const ObservedEvent& event) override { events[event.request].push_back(event); }
  void down(std::uint32_t instance, TimePoint from, TimePoint until) override {
    CHECK(instance == 1);
    CHECK(from == TimePoint{std::chrono::seconds(4)});
    CHECK(until == TimePoint{std::chrono::seconds(5)});
    ++crashes;
  }

  std::map<std::uint32_t, std::vector<Step>> steps;
  std::map<std::size_t, std::vector<ObservedEvent>> events;
  int crashes = 0;
};

std::ptrdiff_t events_of(const std::vector<ObservedEvent>& events, SequenceEvent kind) {
  return std::ranges::count(events, kind, &ObservedEvent::event);
}

}  // namespace

TEST_CASE("a run that is observed is the same run", "[engine]") {
  Scenario one = eventful();
  Scenario two = eventful();
  Notes notes;
  const RunResult alone = run(one);
  const RunResult observed = run(two, {}, &notes);
  CHECK(alone.log.records == observed.log.records);
  CHECK(alone.fingerprint == observed.fingerprint);
}

TEST_CASE("observed steps are those that the replicas count", "[engine]") {
  Scenario scenario = eventful();
  Notes notes;
  const RunResult result = run(scenario, {}, &notes);
  CHECK(notes.crashes == 1);
  for (std::uint32_t i = 0; i < 2; ++i) {
    const InstanceStats& stats = result.instances[i].whole;
    std::int64_t prefilled = 0;
    Flops flops;
    TimePoint before{};
    for (const auto& [step, new_tokens] : notes.steps[i]) {
      CHECK(step.begin >= before);
      CHECK(step.end == step.begin + step.host + step.gpu + step.waiting);
      CHECK(step.decode_floor <= step.decode);
      CHECK(step.decode <= step.gpu);
      before = i == 0 ? step.end : step.begin;  // A crash cuts the steps of the other one.
      prefilled += new_tokens;
      flops += step.flops;
    }
    CHECK(static_cast<std::int64_t>(notes.steps[i].size()) == stats.steps);
    CHECK(prefilled == stats.prefilled_tokens);
    CHECK(flops == stats.flops);
  }
}

TEST_CASE("observed events of a request are those of its record", "[engine]") {
  Scenario scenario = eventful();
  Notes notes;
  const RunResult result = run(scenario, {}, &notes);
  std::int64_t preemptions = 0;
  std::int64_t retries = 0;
  for (std::size_t i = 0; i < result.log.records.size(); ++i) {
    const RequestRecord& record = result.log.records[i];
    const std::vector<ObservedEvent>& events = notes.events.at(i);
    REQUIRE(record.outcome == Outcome::completed);
    CHECK(events.front().event == SequenceEvent::queued);
    CHECK(events.front().when == record.arrival);
    CHECK(events.back().event == SequenceEvent::finished);
    CHECK(events.back().when == record.finish);
    CHECK(events.back().instance == record.instance);
    CHECK(events_of(events, SequenceEvent::lost) == record.retries);
    CHECK(events_of(events, SequenceEvent::queued) == 1 + record.retries);
    retries += record.retries;
    if (record.retries > 0) continue;
    CHECK(events_of(events, SequenceEvent::preempted) == record.preemptions);
    CHECK(events_of(events, SequenceEvent::admitted) == 1 + record.preemptions);
    const auto first = std::ranges::find(events, SequenceEvent::first_token, &ObservedEvent::event);
    CHECK(first->when == record.first_token);
    preemptions += record.preemptions;
  }
  CHECK(preemptions > 0);
  CHECK(retries > 0);
}
