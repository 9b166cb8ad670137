// What a report shows over time adds up to what the replicas counted.
#include "sim/report/timeline.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "sim/report/summary.hpp"

using namespace tokenline;
using namespace tokenline::report;

namespace {

/// Two replicas, one of which is crashed by `fault`, with some pauses between requests.
Scenario busy(const std::string& fault = {}) {
  return parse_scenario("busy.yaml", R"(scenario: busy
model: llama-3.1-8b
cluster: {gpu: h100_sxm, replicas: 2}
engine: {preset: vllm-v1, max_model_len: 4096, num_gpu_blocks_override: 400}
traffic:
  chat:
    arrival: {process: poisson, rate: 8/s}
    num_prompts: 100
    prompt_tokens: {distribution: uniform, min: 100, max: 900}
    output_tokens: {distribution: uniform, min: 20, max: 200}
)" + fault);
}

struct TimelineRun {
  RunResult run;
  Timeline timeline;
};

TimelineRun observe(Scenario scenario, std::size_t cells = 16'384) {
  TimelineRun result;
  result.run = run(scenario, {}, &result.timeline);
  result.timeline.finish(result.run, cells);
  return result;
}

TimelineBin total(const Lane& lane) {
  TimelineBin sum;
  for (const TimelineBin& bin : lane.bins) sum.add(bin);
  return sum;
}

}  // namespace

TEST_CASE("a timeline integrates to the counters of its replicas", "[report]") {
  const TimelineRun seen = observe(busy());
  REQUIRE(seen.timeline.lanes().size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const InstanceStats& stats = seen.run.instances[i].whole;
    const TimelineBin sum = total(seen.timeline.lanes()[i]);
    CHECK(sum.busy_s == Approx(to_seconds(stats.busy).value()));
    CHECK(sum.flops.value() == Approx(stats.flops.value()));
    CHECK(sum.hbm_bytes.value() == Approx(stats.hbm_bytes.value()));
    CHECK(sum.of(Gauge::running).integral == Approx(stats.running_seconds));
    CHECK(sum.of(Gauge::waiting).integral == Approx(stats.waiting_seconds));
    CHECK(sum.of(Gauge::kv_blocks).integral * 16.0 == Approx(stats.kv_allocated_seconds));
    CHECK(sum.of(Gauge::running).most == static_cast<double>(stats.peak_running));
    CHECK(sum.of(Gauge::kv_blocks).most == static_cast<double>(stats.kv_peak_blocks));
  }
}

TEST_CASE("every step is under the roofline of a replica once", "[report]") {
  const TimelineRun seen = observe(busy());
  for (std::size_t i = 0; i < 2; ++i) {
    const InstanceStats& stats = seen.run.instances[i].whole;
    RooflineCell sum;
    for (const auto& [key, cell] : seen.timeline.lanes()[i].roofline) {
      sum.steps += cell.steps;
      sum.flops += cell.flops;
      sum.gpu_s += cell.gpu_s;
    }
    CHECK(sum.steps == stats.steps);
    CHECK(sum.flops.value() == Approx(stats.flops.value()));
    CHECK(sum.gpu_s == Approx(to_seconds(stats.gpu).value()));
  }
}

TEST_CASE("no step is above the roofline of its GPU", "[report]") {
  const Scenario scenario = busy();
  const ReplicaHardware hardware = hardware_of(scenario, "replica");
  const TimelineRun seen = observe(busy());
  for (const Lane& lane : seen.timeline.lanes())
    for (const auto& [key, cell] : lane.roofline) {
      CHECK(cell.flops.value() <= hardware.peak_16bit.value() * cell.gpu_s);
      CHECK(cell.hbm_bytes.value() <= hardware.bandwidth.value() * cell.gpu_s);
    }
}

TEST_CASE("coarser bins keep integrals and extremes", "[report]") {
  const TimelineRun fine = observe(busy());
  const TimelineRun coarse = observe(busy(), 100);
  CHECK(coarse.timeline.lanes()[0].bins.size() <= 50);
  CHECK(coarse.timeline.width() > fine.timeline.width());
  for (std::size_t i = 0; i < 2; ++i) {
    const TimelineBin a = total(fine.timeline.lanes()[i]);
    const TimelineBin b = total(coarse.timeline.lanes()[i]);
    for (std::size_t gauge = 0; gauge < gauge_count; ++gauge) {
      CHECK(a.gauges[gauge].integral == Approx(b.gauges[gauge].integral));
      CHECK(a.gauges[gauge].least == b.gauges[gauge].least);
      CHECK(a.gauges[gauge].most == b.gauges[gauge].most);
    }
  }
}

TEST_CASE("a run of any length has at most 512 bins, which cover it", "[report]") {
  const TimelineRun seen = observe(busy());
  const std::size_t bins = seen.timeline.lanes().front().bins.size();
  CHECK(bins <= Timeline::most_bins);
  CHECK(bins > Timeline::most_bins / 2);
  const Duration covered = seen.timeline.width() * static_cast<std::int64_t>(bins);
  CHECK(covered >= seen.run.end.time_since_epoch());
  CHECK(covered - seen.timeline.width() < seen.run.end.time_since_epoch());
}

TEST_CASE("a crash ends the step under way and marks the time until the restart", "[report]") {
  const TimelineRun seen =
      observe(busy("faults:\n  - {kind: instance_crash, replica: 1, at: 4 s, restart: 1 s}\n"));
  const Lane& lane = seen.timeline.lanes()[1];
  REQUIRE(lane.down.size() == 1);
  CHECK(lane.down[0].from == TimePoint{std::chrono::seconds(4)});
  CHECK(lane.down[0].until == TimePoint{std::chrono::seconds(5)});
  const InstanceStats& stats = seen.run.instances[1].whole;
  CHECK(total(lane).busy_s == Approx(to_seconds(stats.busy).value()));
  const Duration width = seen.timeline.width();
  for (std::size_t i = 0; i < lane.bins.size(); ++i) {
    const TimePoint from = TimePoint{} + width * static_cast<std::int64_t>(i);
    if (from >= lane.down[0].from && from + width <= lane.down[0].until)
      CHECK(lane.bins[i].busy_s == 0.0);
  }
}

TEST_CASE("steps of a pipeline that overlap count the time once", "[report]") {
  Scenario scenario = parse_scenario("pipeline.yaml", R"(scenario: pipeline
model: llama-3.1-8b
cluster: {gpu: h100_sxm, pipeline_parallel_size: 2}
engine: {preset: vllm-v1, max_model_len: 4096}
traffic:
  chat:
    arrival: {process: poisson, rate: 20/s}
    num_prompts: 60
    prompt_tokens: 500
    output_tokens: 40
)");
  const TimelineRun seen = observe(std::move(scenario));
  const InstanceStats& stats = seen.run.instances[0].whole;
  const TimelineBin sum = total(seen.timeline.lanes()[0]);
  CHECK(sum.busy_s == Approx(to_seconds(stats.busy).value()));
  CHECK(sum.of(Gauge::running).integral == Approx(stats.running_seconds));
}
