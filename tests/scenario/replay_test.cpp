#include "sim/report/run_directory.hpp"
#include "tests/scenario/support.hpp"

using namespace tokenline;
using namespace tokenline::scenario_test;

namespace {

/// Clients that wait for their answers, in two classes, on two replicas under pressure for KV.
constexpr std::string_view closed_loop = R"(scenario: closed_loop
model: llama-3.1-8b
cluster: {gpu: h100_sxm, replicas: 2}
engine: {max_model_len: 1024, max_num_seqs: 16, max_num_batched_tokens: 256, num_gpu_blocks_override: 200}
traffic:
  short:
    arrival: {process: closed_loop, max_concurrency: 24}
    num_prompts: 400
    prompt_tokens: {distribution: uniform, min: 1, max: 300}
    output_tokens: {distribution: uniform, min: 1, max: 200}
  long:
    arrival: {process: closed_loop, max_concurrency: 8}
    num_prompts: 100
    start: 1 s
    prompt_tokens: {distribution: lognormal, mean: 500, sigma: 0.4, max: 800}
    output_tokens: 100
)";

/// The configuration of a run directory with the traffic replaced by the run's own requests.
std::string replay_of(const std::string& directory) {
  config::Node root = config::load_yaml(directory + "/config.yaml");
  *root.find("traffic") =
      config::parse_yaml("replay.yaml", "exported: {trace: {file: requests.csv, format: csv}}");
  return config::emit_yaml(root);
}

/// Runs `scenario` with the tool, replays what it exported, and holds both exports together.
void require_replay(const Scratch& scratch, const std::string& scenario) {
  execute(scratch, "run '" + scenario + "' --out original --quiet");
  report::write_file(scratch / "original/replay.yaml", replay_of(scratch / "original"));
  execute(scratch, "run original/replay.yaml --out replay --quiet");
  const std::string original = config::read_file(scratch / "original/requests.csv");
  REQUIRE(std::ranges::count(original, '\n') > 100);
  CHECK(difference(config::read_file(scratch / "replay/requests.csv"), original) == "");
}

}  // namespace

TEST_CASE("the incident replayed from its export is the incident, to the nanosecond", "[replay]") {
  const Scratch scratch;
  require_replay(scratch, source("scenarios/p99_incident/incident.yaml"));
}

TEST_CASE("a closed loop replayed as recorded arrivals is the same to the nanosecond", "[replay]") {
  const Scratch scratch;
  report::write_file(scratch / "closed_loop.yaml", closed_loop);
  require_replay(scratch, "closed_loop.yaml");
}

TEST_CASE("the closed loop of the test is one with preemptions", "[replay]") {
  CHECK(run_text(std::string(closed_loop))["all.preemptions"] > 0.0);
}

TEST_CASE("a run directory runs again to the same requests", "[replay]") {
  const Scratch scratch;
  execute(scratch, "run '" + source("scenarios/azure_conversation.yaml") +
                       "' --set traffic.conversation.trace.limit=500 --out original --quiet");
  execute(scratch, "run original/config.yaml --out again --quiet");
  // The summary tells the two configurations apart: they name the trace by other paths.
  for (const char* file : {"/config.yaml", "/requests.csv"}) {
    INFO(file);
    CHECK(difference(config::read_file(scratch / "original" + file),
                     config::read_file(scratch / "again" + file)) == "");
  }
}
