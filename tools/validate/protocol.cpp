#include "tools/validate/protocol.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/report/figures.hpp"

namespace tokenline::validate {
namespace {

std::string lengths(std::int64_t nominal, double shortest) {
  // int(seq_len * range_ratio) … seq_len, both included, as numpy.random.randint(lower, upper + 1).
  const auto min = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::floor(static_cast<double>(nominal) * shortest)));
  return fmt::format("{{distribution: uniform, min: {}, max: {}}}", min, nominal);
}

}  // namespace

std::span<const Protocol> protocols() {
  static constexpr std::array<Protocol, 4> all{{
      {.name = "inferencex",
       .source = "SemiAnalysisAI/InferenceX benchmarks/benchmark_lib.sh: --random-range-ratio 0.8, "
                 "--num-prompts 10 x concurrency, --request-rate inf",
       .shortest_prompt = 0.8,
       .shortest_output = 0.8},
      {.name = "short_answers",
       .source = "none, for comparison: answers of 80 to 100 % of the stated length"},
      {.name = "genai_perf",
       .source = "ai-dynamo/aiconfigurator eval/benchmarks/genai_perf_runner.py: lengths without "
                 "deviation, --request-count 10 x concurrency; bench_serving_runner.py the same",
       .shortest_output = 1.0},
      {.name = "steady",
       .source = "short_answers without the first request of each client",
       .skipped_per_client = 1},
  }};
  return all;
}

const Protocol& protocol_named(std::string_view name) {
  const auto found = std::ranges::find(protocols(), name, &Protocol::name);
  TOKENLINE_CHECK(found != protocols().end(), "no protocol '{}'", name);
  return *found;
}

bool runs_in_inferencex(std::string_view model, std::int64_t prompt_tokens,
                        std::int64_t output_tokens) {
  // What InferenceX runs: the workloads of its README, "Benchmark Client Configuration", and the
  // models of its folder benchmarks/single_node.
  constexpr std::array workloads{std::pair{1024, 1024}, std::pair{1024, 8192},
                                 std::pair{8192, 1024}};
  constexpr std::array<std::string_view, 7> models{
      "Llama-3.1-70B", "DeepSeek-", "gpt-oss-", "MiniMax-M2", "Kimi-K2", "GLM-5", "Qwen3.5-"};
  const bool workload = std::ranges::any_of(workloads, [&](const auto& lengths) {
    return lengths.first == prompt_tokens && lengths.second == output_tokens;
  });
  const bool known = std::ranges::any_of(
      models, [&](std::string_view part) { return model.find(part) != std::string_view::npos; });
  return workload && known;
}

const Protocol& protocol_of(std::string_view model, std::int64_t prompt_tokens,
                            std::int64_t output_tokens) {
  return protocol_named(runs_in_inferencex(model, prompt_tokens, output_tokens) ? "inferencex"
                                                                                : "genai_perf");
}

std::string closed_loop(const Protocol& protocol, std::int64_t clients, std::int64_t prompt_tokens,
                        std::int64_t output_tokens) {
  return fmt::format(
      "  clients:\n    arrival: {{process: closed_loop, max_concurrency: {}, "
      "think_time: {} ns}}\n"
      "    num_prompts: {}\n    prompt_tokens: {}\n    output_tokens: {}\n",
      clients, turnaround.count(),
      clients * (protocol.requests_per_client + protocol.skipped_per_client),
      lengths(prompt_tokens, protocol.shortest_prompt),
      lengths(output_tokens, protocol.shortest_output));
}

Latency mean_latency(const RunResult& run, std::int64_t skipped) {
  Latency sum;
  for (std::size_t i = static_cast<std::size_t>(skipped); i < run.log.records.size(); ++i) {
    const RequestRecord& r = run.log.records[i];
    if (r.outcome != Outcome::completed) continue;
    ++sum.requests;
    sum.ttft_ms += report::milliseconds(r.ttft());
    if (r.output_tokens < 2) continue;
    ++sum.decoding;
    sum.tpot_ms +=
        report::milliseconds(r.e2el() - r.ttft()) / static_cast<double>(r.output_tokens - 1);
  }
  if (sum.requests > 0) sum.ttft_ms /= static_cast<double>(sum.requests);
  if (sum.decoding > 0) sum.tpot_ms /= static_cast<double>(sum.decoding);
  return sum;
}

}  // namespace tokenline::validate
