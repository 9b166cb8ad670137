// `tokenline shrink`: from a scenario and a condition to a few requests that a run repeats.
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/config/node.hpp"
#include "tests/support/tool.hpp"

using namespace tokenline;
using Catch::Contains;

namespace {

/// A chat of 20 requests per second for a minute, each with a first token in 10 ms when alone, and
/// one prompt of 30,000 tokens in its middle, which takes seconds on one H100: 2 · 8.03e9 · 30,000
/// = 4.8e14 FLOP of weights alone, 0.5 s at all of its 989 TFLOP/s.
const std::string planted = R"(scenario: planted
model: llama-3.1-8b
cluster: {gpu: h100_sxm}
engine: {preset: vllm-v0, max_model_len: 32_000}
traffic:
  chat:
    arrival: {process: poisson, rate: 20/s}
    stop: 60 s
    prompt_tokens: 100
    output_tokens: 10
  long:
    arrival: {process: constant, rate: 1/s}
    start: 29 s
    num_prompts: 1
    prompt_tokens: 30_000
    output_tokens: 2
measure: {from: 28 s, to: 34 s}
)";

class PlantedFolder : public Scratch {
 public:
  PlantedFolder() { (void)write("planted.yaml", planted); }
};

}  // namespace

TEST_CASE("one long prompt and the chat request behind it are found", "[cli][shrink]") {
  const PlantedFolder folder;
  const Ran ran =
      execute(folder, "shrink planted.yaml --breaks 'chat.p99_ttft_ms > 450' --out found");
  INFO(ran.out << ran.err);
  REQUIRE(ran.exit_code == 0);
  CHECK(ran.err.empty());
  CHECK_THAT(ran.out, Contains("(1-minimal)") && Contains("30000"));
  const auto json = nlohmann::json::parse(config::read_file(folder / "found/shrink.json"));
  // A chat request alone has its token at once, and without one there is no chat to wait.
  CHECK(json["requests"] == 2);
  CHECK(json["one_minimal"] == true);
  CHECK(json["value"] > 450.0);
  const Ran again = execute(folder, "run found/scenario.yaml --quiet");
  CHECK(again.exit_code == 1);
  CHECK_THAT(again.out, Contains("assert failed: chat.p99_ttft_ms <= 450 (it is "));
}

TEST_CASE("of the incident a handful of requests is left, PDFs before chat", "[cli][shrink]") {
  const PlantedFolder folder;
  const Ran ran = execute(folder, "shrink '" TOKENLINE_SOURCE_DIR
                                  "/scenarios/p99_incident/incident.yaml' --breaks "
                                  "'chat.p99_ttft_ms > 1000' --out found");
  INFO(ran.out << ran.err);
  REQUIRE(ran.exit_code == 0);
  const auto json = nlohmann::json::parse(config::read_file(folder / "found/shrink.json"));
  CHECK(json["requests_before"] > 10'000);
  CHECK(json["requests"] <= 50);
  CHECK(json["one_minimal"] == true);
  // One prompt of 16,384 tokens is 0.75 s of a replica, so that a second of waiting needs two.
  const std::string trace = config::read_file(folder / "found/trace.csv");
  const auto first = trace.find(",16384,");
  REQUIRE(first != std::string::npos);
  CHECK(trace.find(",16384,", first + 1) != std::string::npos);
  CHECK(execute(folder, "run found/scenario.yaml --quiet").exit_code == 1);
}

TEST_CASE("the same is found with any number of threads, and again in its folder",
          "[cli][shrink]") {
  const PlantedFolder folder;
  const std::string command = "shrink planted.yaml --breaks 'chat.p99_ttft_ms > 450' --out found";
  const Ran one = execute(folder, command + " --threads 1");
  const std::string files = config::read_file(folder / "found/scenario.yaml") +
                            config::read_file(folder / "found/trace.csv") +
                            config::read_file(folder / "found/shrink.json");
  const Ran three = execute(folder, command + " --threads 3");
  CHECK(three.exit_code == 0);
  CHECK(three.out == one.out);
  CHECK(files == config::read_file(folder / "found/scenario.yaml") +
                     config::read_file(folder / "found/trace.csv") +
                     config::read_file(folder / "found/shrink.json"));
  const Ran itself =
      execute(folder, "shrink found/scenario.yaml --breaks 'all.failed >= 0' --out found");
  CHECK(itself.exit_code == 2);
  CHECK_THAT(itself.err, Contains("which the scenario reads"));
}

TEST_CASE("a condition that does not hold is exit code 1, a wrong one 2", "[cli][shrink]") {
  const PlantedFolder folder;
  const Ran fine = execute(folder, "shrink planted.yaml --breaks 'chat.p99_ttft_ms > 90000'");
  CHECK(fine.exit_code == 1);
  CHECK_THAT(fine.out, Contains("does not hold of all "));
  const auto refuses = [&](const std::string& options, const std::string& message) {
    const Ran ran = execute(folder, "shrink planted.yaml " + options);
    CHECK(ran.exit_code == 2);
    CHECK(ran.out.empty());
    CHECK_THAT(ran.err, Contains(message));
  };
  refuses("", "option '--breaks' is missing");
  refuses("--breaks 'chat.p99_ttf > 3'",
          "--breaks chat.p99_ttf > 3:1:1: error: no metric 'p99_ttf'");
  refuses("--breaks 'all.failed >= 0' --budget 0", "expected a whole number of requests");
  refuses("--breaks 'all.failed >= 0' --set traffic.chat.starr=3", "did you mean 'start'?");
}
