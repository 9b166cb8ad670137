#include "tools/validate/requests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "sim/config/diagnostic.hpp"
#include "sim/report/figures.hpp"
#include "sim/stats/summary.hpp"
#include "tools/validate/recording.hpp"
#include "workloads/traffic/trace.hpp"

namespace tokenline::validate {
namespace {

/// A latency of every request, measured and predicted.
struct Samples {
  std::vector<double> ttft;
  std::vector<double> tpot;  ///< Of requests with more than one token.
  std::vector<double> e2e;
};

Samples measured(const Recording& recording) {
  Samples samples;
  for (const RecordedRequest& request : recording.requests) {
    samples.ttft.push_back(request.ttft_ms);
    samples.e2e.push_back(request.e2e_ms);
    if (request.arrival.output_tokens > 1) samples.tpot.push_back(request.tpot_ms);
  }
  return samples;
}

Samples predicted(const RunResult& run) {
  Samples samples;
  for (const RequestRecord& request : run.log.records) {
    if (request.outcome != Outcome::completed) continue;
    samples.ttft.push_back(report::milliseconds(request.ttft()));
    samples.e2e.push_back(report::milliseconds(request.e2el()));
    if (request.output_tokens > 1)
      samples.tpot.push_back(report::milliseconds(request.e2el() - request.ttft()) /
                             static_cast<double>(request.output_tokens - 1));
  }
  return samples;
}

/// One class whose only request is the longest of the recording, for the reader's checks.
std::string longest_request(const Recording& recording) {
  const auto total = [](const RecordedRequest& r) {
    return r.arrival.prompt_tokens + r.arrival.output_tokens;
  };
  const auto longest = std::ranges::max_element(recording.requests, {}, total);
  return fmt::format(
      "  recorded:\n    arrival: {{process: constant, rate: 1/s}}\n    num_prompts: 1\n"
      "    prompt_tokens: {}\n    output_tokens: {}\n",
      longest->arrival.prompt_tokens, longest->arrival.output_tokens);
}

RunResult replay(const Recording& recording, Scenario& scenario) {
  std::vector<traffic::Arrival> arrivals;
  for (const RecordedRequest& request : recording.requests) arrivals.push_back(request.arrival);
  scenario.traffic.sources.front() = std::make_unique<traffic::TraceSource>(std::move(arrivals));
  std::vector<TimePoint> probes;
  for (const RecordedDepth& depth : recording.depths) probes.push_back(depth.when);
  return run_audited(scenario, probes);
}

struct Statistic {
  const char* name;
  std::optional<double> stats::Distribution::* value;
};
constexpr std::array statistics{
    Statistic{"mean", &stats::Distribution::mean}, Statistic{"p50", &stats::Distribution::median},
    Statistic{"p90", &stats::Distribution::p90}, Statistic{"p95", &stats::Distribution::p95},
    Statistic{"p99", &stats::Distribution::p99}};

struct Metric {
  const char* name;
  std::vector<double> Samples::* samples;
};
constexpr std::array metrics{Metric{"ttft", &Samples::ttft}, Metric{"tpot", &Samples::tpot},
                             Metric{"e2e", &Samples::e2e}};

void add_rows(Comparison& comparison, const Recording& recording, const RunResult* run,
              const std::string& refused) {
  Samples real = measured(recording);
  Samples ours = run == nullptr ? Samples{} : predicted(*run);
  const std::string why = refused.empty() ? "no request completes in the simulation" : refused;
  for (const Metric& metric : metrics) {
    const stats::Distribution theirs = stats::summarize(real.*metric.samples);
    const stats::Distribution mine = stats::summarize(ours.*metric.samples);
    for (const Statistic& statistic : statistics) {
      if (!(theirs.*statistic.value)) continue;
      comparison.rows.push_back({.group = recording.name,
                                 .metric = metric.name,
                                 .unit = "ms",
                                 .label = statistic.name,
                                 .measured = *(theirs.*statistic.value),
                                 .predicted = mine.*statistic.value,
                                 .refused = mine.*statistic.value ? "" : why});
    }
  }
}

/// Mean over the instants of what was measured, and of how far the simulated queue was from it.
void add_depths(Comparison& comparison, const Recording& recording, const RunResult& run) {
  if (recording.depths.empty()) return;
  const auto add = [&](const char* name, double RecordedDepth::* theirs,
                       std::int64_t QueueDepth::* ours) {
    double sum = 0.0;
    double simulated = 0.0;
    double difference = 0.0;
    for (std::size_t i = 0; i < recording.depths.size(); ++i) {
      const double real = recording.depths[i].*theirs;
      const auto mine = static_cast<double>(run.depths[i].*ours);
      sum += real;
      simulated += mine;
      difference += std::abs(mine - real);
    }
    const auto n = static_cast<double>(recording.depths.size());
    const std::string prefix = recording.name + "." + name;
    comparison.figures.emplace_back(prefix + "_measured_mean", sum / n);
    comparison.figures.emplace_back(prefix + "_predicted_mean", simulated / n);
    comparison.figures.emplace_back(prefix + "_mean_absolute_difference", difference / n);
  };
  add("running", &RecordedDepth::running, &QueueDepth::running);
  add("waiting", &RecordedDepth::waiting, &QueueDepth::waiting);
}

void compare(Comparison& comparison, const Recording& recording) {
  if (!recording.refused.empty()) {
    add_rows(comparison, recording, nullptr, recording.refused);
    return;
  }
  Built built = build(recording.server, longest_request(recording));
  if (!built.scenario) {
    add_rows(comparison, recording, nullptr, built.refused);
    return;
  }
  const RunResult run = replay(recording, *built.scenario);
  add_rows(comparison, recording, &run, "");
  add_depths(comparison, recording, run);
}

/// What the name of a run says of its servers: `distserve-cXYdZW-N-rate` prefills on TP X, PP Y and
/// decodes on TP Z, PP W.
void read_distserve(Recording& recording) {
  constexpr std::string_view prefix = "distserve-c";
  const std::string& name = recording.name;
  const auto digit = [&](std::size_t i) -> std::int64_t {
    return i < name.size() && name[i] >= '1' && name[i] <= '8' ? name[i] - '0' : 0;
  };
  const std::size_t at = prefix.size();
  if (!name.starts_with(prefix) || digit(at) * digit(at + 1) * digit(at + 3) * digit(at + 4) == 0 ||
      name[at + 2] != 'd') {
    recording.refused = "served by DistServe on replicas whose parallelism its name does not state";
    return;
  }
  if (digit(at + 1) > 1 || digit(at + 4) > 1)
    recording.refused = "KV that moves between stages of pipelines is not modelled";
  recording.server.preset = "distserve";
  recording.server.tensor_parallel = digit(at);
  recording.server.decode_tensor_parallel = digit(at + 3);
}

/// Runs published with DistServe: OPT-13B on A100-80GB, one GPU for `vllm-N-rate`, an engine of
/// early 2024 (vLLM 0.3 to 0.4: V0).
void compare_distserve(Comparison& comparison, Recording recording) {
  recording.server = {.model = "facebook/opt-13b",
                      .gpu = "a100_sxm",
                      .preset = "vllm-v0-early",
                      .weights = "",
                      .engine_keys = {}};
  if (!recording.name.starts_with("vllm-")) read_distserve(recording);
  compare(comparison, recording);
}

/// Leaves the run of a name.
void keep(const std::string& run, const std::string& path, std::vector<Recording>& recordings) {
  std::vector<std::string> names;
  for (const Recording& recording : recordings) names.push_back(recording.name);
  std::erase_if(recordings, [&](const Recording& r) { return r.name != run; });
  if (recordings.empty())
    throw config::ConfigError({{path, 1, 1},
                               "run",
                               fmt::format("no run is named '{}'", run),
                               config::suggestion(run, names)});
}

}  // namespace

Comparison compare_requests(const std::string& path, const std::optional<std::string>& run) {
  Comparison comparison{.title = "Recorded requests: " + path, .rows = {}, .figures = {}};
  const bool folder = std::filesystem::is_directory(path);
  std::vector<Recording> recordings;
  if (folder)
    recordings.push_back(read_folder(path));
  else
    recordings = read_runs(path);
  if (run) keep(*run, path, recordings);
  for (Recording& recording : recordings) {
    if (folder)
      compare(comparison, recording);
    else
      compare_distserve(comparison, std::move(recording));
  }
  return comparison;
}

}  // namespace tokenline::validate
