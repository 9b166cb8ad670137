#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "sim/engine/run.hpp"
#include "tests/support/random_scenario.hpp"
#include "tests/support/scratch.hpp"

using namespace tokenline;
using namespace tokenline::test;

namespace {

/// Calls `check` with the text of random scenarios; other seeds than those of the comparison with
/// the slow engine.
template <class Check>
void for_scenarios(int count, Check check) {
  for (int i = 0; i < sample(count); ++i) {
    const std::uint64_t seed = 1'000'000 + static_cast<std::uint64_t>(i);
    const std::string yaml = random_scenario(seed);
    INFO("scenario of seed " << seed << ":\n" << yaml);
    check(yaml);
  }
}

RunResult run_text(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
  Scenario scenario = parse_scenario("random.yaml", yaml, {overrides});
  return run(scenario);
}

/// Whether a scenario says that requests do.
bool begin_alike(const std::string& yaml) {
  return yaml.find("shared_prefix:") != std::string::npos ||
         yaml.find("session:") != std::string::npos;
}

template <class Condition>
std::ptrdiff_t count(const RunResult& result, Condition condition) {
  return std::ranges::count_if(result.log.records, condition);
}

bool completed(const RequestRecord& record) { return record.outcome == Outcome::completed; }
bool rejected(const RequestRecord& record) { return record.outcome == Outcome::rejected; }
bool lost(const RequestRecord& record) {
  return record.outcome == Outcome::lost_oom || record.outcome == Outcome::lost_crash;
}
bool timed_out(const RequestRecord& record) { return record.outcome == Outcome::timed_out; }

std::int64_t over_instances(const RunResult& result, std::int64_t InstanceStats::* counter) {
  std::int64_t sum = 0;
  for (const InstanceResult& instance : result.instances) sum += instance.whole.*counter;
  return sum;
}

/// The scenario without the lines that hold one of `words`.
std::string without(const std::vector<std::string>& words, const std::string& yaml) {
  std::string rest;
  std::istringstream lines(yaml);
  for (std::string line; std::getline(lines, line);)
    if (std::ranges::none_of(words, [&](const auto& w) { return line.find(w) != line.npos; }))
      rest += line + '\n';
  return rest;
}

/// The requests of a run as a trace, to the nanosecond.
std::string as_trace(const RunResult& result) {
  std::string csv = "arrival_s,prompt_tokens,output_tokens,class\n";
  for (const RequestRecord& record : result.log.records) {
    const std::int64_t time = record.arrival.time_since_epoch().count();
    csv += fmt::format("{}.{:09},{},{},{}\n", time / 1'000'000'000, time % 1'000'000'000,
                       record.prompt_tokens, record.output_tokens,
                       result.classes[record.class_index].name);
  }
  return csv;
}

/// The records with what a replay numbers in its own way put aside: one source, and classes in the
/// order of their first request.
std::vector<std::pair<std::string, RequestRecord>> comparable(const RunResult& result) {
  std::vector<std::pair<std::string, RequestRecord>> out;
  for (RequestRecord record : result.log.records) {
    const std::string name = result.classes[record.class_index].name;
    record.class_index = 0;
    record.source = 0;
    record.session = 0;
    out.emplace_back(name, record);
  }
  return out;
}

}  // namespace

TEST_CASE("the parts of the ledger are never negative, and add up", "[engine]") {
  for_scenarios(200, [](const std::string& yaml) {
    for (const RequestRecord& record : run_text(yaml).log.records) {
      for (std::size_t i = 0; i < part_count; ++i)
        REQUIRE(record.parts[static_cast<Part>(i)] >= Duration{});
      if (record.outcome != Outcome::in_flight) REQUIRE(record.parts.sum() == record.e2el());
      if (!completed(record)) continue;
      REQUIRE(record.ttft_parts.sum() == record.ttft());
      for (std::size_t i = 0; i < ttft_part_count; ++i)
        REQUIRE(record.ttft_parts[static_cast<Part>(i)] <= record.parts[static_cast<Part>(i)]);
    }
  });
}

TEST_CASE("a request that failed has no first token, and all its time went into restarts",
          "[engine]") {
  std::ptrdiff_t seen = 0;
  for_scenarios(200, [&](const std::string& yaml) {
    for (const RequestRecord& record : run_text(yaml).log.records) {
      if (completed(record)) continue;
      ++seen;
      REQUIRE(record.first_token == TimePoint{});
      REQUIRE(record.ttft_parts == TtftParts{});
      REQUIRE(record.parts[Part::restart] == record.e2el());
    }
  });
  CHECK(seen > 0);
}

TEST_CASE(
    "time goes where it can: nothing is recomputed or preempted without a preemption, and "
    "nothing restarts without a crash or a client that gives up",
    "[engine]") {
  for_scenarios(200, [](const std::string& yaml) {
    const RunResult result = run_text(yaml);
    const std::int64_t restarts = over_instances(result, &InstanceStats::restarts);
    for (const RequestRecord& record : result.log.records) {
      if (record.preemptions == 0) {
        REQUIRE(record.recomputed_tokens == 0);
        REQUIRE(record.parts[Part::recomputed] == Duration{});
        REQUIRE(record.parts[Part::preempted] == Duration{});
      }
      if (restarts == 0 && record.retries == 0 && !timed_out(record))
        REQUIRE(record.parts[Part::restart] == Duration{});
      if (completed(record) && record.output_tokens == 1)
        REQUIRE(record.first_token == record.finish);
    }
  });
}

TEST_CASE("with more replicas no request is lost or left over", "[engine]") {
  for_scenarios(60, [](const std::string& faulty) {
    // Faults name replicas that there may not be.
    const std::string yaml = without({"faults:", "kind: "}, faulty);
    const bool may_crash = yaml.find("on_demand") != std::string::npos;
    for (int replicas = 1; replicas <= 5; replicas += 2) {
      CAPTURE(replicas);
      const RunResult result = run_text(yaml, {fmt::format("cluster.replicas={}", replicas)});
      const auto all = static_cast<std::ptrdiff_t>(result.log.records.size());
      REQUIRE(count(result, completed) + count(result, lost) + count(result, rejected) +
                  count(result, timed_out) ==
              all);
      if (!may_crash) REQUIRE(count(result, lost) == 0);
      if (yaml.find("admission: ") == std::string::npos) REQUIRE(count(result, rejected) == 0);
      // A conversation ends where an answer is lost.
      if (yaml.find("session:") == std::string::npos)
        REQUIRE(all == static_cast<std::ptrdiff_t>(run_text(yaml).log.records.size()));
    }
  });
}

TEST_CASE("a scenario run twice gives the same events and the same records", "[engine]") {
  for_scenarios(60, [](const std::string& yaml) {
    const RunResult first = run_text(yaml);
    const RunResult second = run_text(yaml);
    REQUIRE(first.fingerprint == second.fingerprint);
    REQUIRE(first.events == second.events);
    REQUIRE(first.end == second.end);
    REQUIRE(first.log.records == second.log.records);
  });
}

TEST_CASE(
    "a step crashes when it needs one byte more than there is, scores of its longest prompt "
    "included",
    "[engine]") {
  const auto scenario = [](std::int64_t non_torch) {
    return parse_scenario(
        "naive.yaml",
        fmt::format(
            "scenario: two prompts of 400 tokens in one step\n"
            "model: llama-3.1-8b\n"
            "cluster: {{gpu: a100_sxm_80gb, on_oom: lose}}\n"
            "engine: {{scheduler: orca, max_num_seqs: 2, max_model_len: 500, block_size: 1,\n"
            "         max_num_batched_tokens: 800, prefill_attention: naive, kv_sizing: "
            "on_demand,\n"
            "         gpu_memory_utilization: 1.0, non_torch_memory: {} B}}\n"
            "traffic:\n"
            "  chat:\n"
            "    arrival: {{process: closed_loop, max_concurrency: 2}}\n"
            "    num_prompts: 2\n"
            "    prompt_tokens: 400\n"
            "    output_tokens: 1\n",
            non_torch));
  };
  const Scenario probe = scenario(0);
  const Bytes step = probe.memory.in_use(KvSizing::on_demand, 800,
                                         probe.cost->stage(0).activations(800, 2, 400 * 400));
  const auto rest = static_cast<std::int64_t>((probe.memory.capacity - step).value());
  for (const std::int64_t excess : {0, 1}) {
    Scenario tight = scenario(rest + excess);
    const RunResult result = run(tight);
    CHECK(result.instances[0].whole.restarts == excess);
    CHECK(count(result, lost) == 2 * excess);
  }
}

TEST_CASE("a run replayed from its own exported requests gives the same records", "[engine]") {
  int replayed = 0;
  for_scenarios(250, [&](const std::string& impatient) {
    // A trace says nothing of patience, priorities, targets and conversations.
    const std::string yaml = without({"timeout: ", "retry: {"}, impatient);
    for (const char* by_class : {"queue_policy: priority", "queue_policy: earliest_deadline",
                                 "admission: shed_by_class", "router: session_affinity"})
      if (yaml.find(by_class) != std::string::npos) return;
    // Nor of what prompts begin with.
    std::vector<std::string> overrides;
    if (begin_alike(yaml)) overrides = {"engine.enable_prefix_caching=false"};
    const RunResult original = run_text(yaml, overrides);
    // A client of a closed loop whose request is lost sends the next one between the retries of the
    // same crash; a trace knows the instant but not that order.
    if (count(original, lost) > 0) return;
    const Scratch folder;
    const std::string trace = folder.write("trace.csv", as_trace(original));
    const RunResult replay =
        run_text(fmt::format("{}traffic:\n  replay:\n    trace: {{file: {}, format: csv}}\n",
                             yaml.substr(0, yaml.find("traffic:\n")), trace),
                 overrides);
    REQUIRE(comparable(replay) == comparable(original));
    REQUIRE(replay.end == original.end);
    ++replayed;
  });
  CHECK(replayed >= sample(100));
}

TEST_CASE("what instances count as recomputed is what their requests do", "[engine]") {
  for_scenarios(300, [](const std::string& yaml) {
    const RunResult result = run_text(yaml);
    const std::int64_t of_instances = over_instances(result, &InstanceStats::recomputed_tokens);
    std::int64_t of_requests = 0;
    for (const RequestRecord& record : result.log.records) {
      REQUIRE(record.recomputed_tokens >= 0);
      of_requests += record.recomputed_tokens;
    }
    if (over_instances(result, &InstanceStats::abandoned) == 0)
      REQUIRE(of_instances == of_requests);
    else  // What was given up may be computed again, and is nobody's.
      REQUIRE(of_instances >= of_requests);
  });
}

TEST_CASE("nothing is found again without a preemption, or in memory that is not paged",
          "[engine]") {
  std::ptrdiff_t seen = 0;
  for_scenarios(300, [&](const std::string& yaml) {
    const RunResult with = run_text(yaml, {"engine.enable_prefix_caching=true"});
    if (begin_alike(yaml)) return;
    const bool contiguous = yaml.find("kv_layout: contiguous") != std::string::npos;
    if (!contiguous && over_instances(with, &InstanceStats::preemptions) > 0) return;
    ++seen;
    const RunResult without = run_text(yaml, {"engine.enable_prefix_caching=false"});
    REQUIRE(with.log.records == without.log.records);
    REQUIRE(with.fingerprint == without.fingerprint);
  });
  CHECK(seen > sample(60));
}

TEST_CASE("a fleet that comes and goes ends every request, whatever else goes wrong", "[engine]") {
  int grown = 0;
  int shrunk = 0;
  int i = 0;
  for_scenarios(150, [&](const std::string& yaml) {
    const std::vector<std::string> metrics{"queue_length", "running_requests", "kv_usage"};
    const std::string& metric = metrics[static_cast<std::size_t>(i++) % metrics.size()];
    const RunResult result = run_text(
        yaml,
        {fmt::format("cluster.autoscale={{min: 1, max: 4, metric: {}, target: {}, interval: 20 "
                     "ms, scale_down_stabilization: 30 ms, cold_start: {{node: 15 ms}}}}",
                     metric, metric == "kv_usage" ? 0.3 : 2.0)});
    for (const AuditCheck& check : result.audit.checks) {
      INFO(check.id << " " << check.details);
      REQUIRE(check.passed);
    }
    REQUIRE(result.fleet.has_value());
    std::int64_t size = result.fleet->sizes.front().serving;
    for (const FleetSize& at : result.fleet->sizes) {
      REQUIRE(at.serving >= 1);
      REQUIRE(at.serving + at.starting <= 4);
      grown += at.serving > size;
      shrunk += at.serving < size;
      size = at.serving;
    }
  });
  CHECK(grown >= sample(30));
  CHECK(shrunk >= sample(30));
}
