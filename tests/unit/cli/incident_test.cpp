// From a server's log to a replay, and no what-ifs of a replay that misses what happened.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "sim/config/node.hpp"
#include "tests/support/tool.hpp"

using namespace tokenline;
using Catch::Contains;

namespace {

const std::string served = R"(scenario: served
model: llama-3.1-8b
cluster: {gpu: h100_sxm}
engine: {max_model_len: 8192}
traffic:
  chat:
    arrival: {process: poisson, rate: 8/s}
    stop: 30 s
    prompt_tokens: {distribution: uniform, min: 100, max: 1500}
    output_tokens: {distribution: uniform, min: 20, max: 200}
    slo: {ttft: 200 ms}
)";

std::vector<std::string> fields_of(const std::string& row) {
  std::vector<std::string> fields;
  std::istringstream text(row);
  for (std::string field; std::getline(text, field, ',');) fields.push_back(field);
  return fields;
}

/// An access log of what `served` does with other draws, measured with an error of up to 5 %; and
/// h100_sxm with a quarter of its bandwidth.
class Incident : public Scratch {
 public:
  Incident() {
    (void)write("served.yaml", served);
    REQUIRE(execute(*this, "run served.yaml --seed 7 --out measured --quiet").exit_code == 0);
    std::istringstream rows(config::read_file(*this / "measured/requests.csv"));
    std::string log = "arrival_s,class,prompt_tokens,output_tokens,ttft_ms,e2el_ms\n";
    std::string row;
    std::getline(rows, row);
    for (int i = 0; std::getline(rows, row); ++i) {
      const auto f = fields_of(row);
      const double error = 1.0 + 0.05 * std::sin(i);
      log += fmt::format("{},{},{},{},{:.6f},{:.6f}\n", f[4], f[1], f[5], f[6],
                         error * std::stod(f[7]), error * std::stod(f[9]));
    }
    (void)write("access.csv", log);
    std::string gpu = config::read_file(TOKENLINE_SOURCE_DIR "/hwmodels/catalog/h100_sxm.yaml");
    const std::string bandwidth = "\nbandwidth: 3.35 TB/s";
    gpu.replace(gpu.find(bandwidth), bandwidth.size(), "\nbandwidth: 0.8375 TB/s");
    (void)write("slow.yaml", gpu);
  }

  [[nodiscard]] Ran import(const std::string& options) const {
    return execute(*this, "incident import access.csv --format access-log " + options);
  }

  /// Compares what-ifs of an imported scenario.
  [[nodiscard]] Ran compare(const std::string& folder, const std::string& options) const {
    (void)write("study.yaml", "study: what_if\nbase: " + folder +
                                  "/scenario.yaml\ncolumns: [chat.p99_ttft_ms]\nvariants:\n"
                                  "  - {name: as it was}\n"
                                  "  - {name: two replicas, set: {cluster.replicas: 2}}\n");
    return execute(*this, "compare study.yaml " + options);
  }
};

}  // namespace

TEST_CASE("the right hardware replays what was measured, and what-ifs are answered",
          "[cli][incident]") {
  const Incident incident;
  const Ran imported = incident.import("--base served.yaml --out right");
  INFO(imported.out << imported.err);
  REQUIRE(imported.exit_code == 0);
  CHECK(imported.err.empty());
  CHECK_THAT(imported.out, Contains("fidelity: passed, 4 of 4 gated figures within 20 %"));
  // The class keeps its target.
  CHECK_THAT(config::read_file(incident / "right/scenario.yaml"),
             Contains("ttft: 200 ms") && Contains("observed.csv"));
  const Ran compared = incident.compare("right", "");
  CHECK(compared.exit_code == 0);
  CHECK_THAT(compared.out, Contains("fidelity: passed") && Contains("two replicas"));
  // A run says it too.
  const Ran run = execute(incident, "run right/scenario.yaml --out again");
  CHECK_THAT(run.out, Contains("Observed and replayed"));
  const auto json = nlohmann::json::parse(config::read_file(incident / "again/summary.json"));
  CHECK(json["fidelity"]["passed"] == true);
  CHECK(execute(incident, "run again/config.yaml --quiet").exit_code == 0);
}

TEST_CASE("an imported scenario has a name of its own, and says what it ignored",
          "[cli][incident]") {
  const Scratch folder;
  (void)folder.write("served.yaml", served + "description: The base's own.\n");
  (void)folder.write("access.csv",
                     "timestamp,path,prompt_tokens,output_tokens,ttft_ms,status\n"
                     "2026-11-29T10:00:00.03Z,/v1/chat,100,20,9,200\n");
  const Ran imported =
      execute(folder, "incident import access.csv --format access-log --base served.yaml --out x");
  CHECK(imported.err == "access.csv: ignored: columns path, status\n");
  CHECK_THAT(config::read_file(folder / "x/import.json"), Contains("ignored_columns"));
  execute(folder, "run x/scenario.yaml --out y --quiet");
  const auto json = nlohmann::json::parse(config::read_file(folder / "y/summary.json"));
  CHECK(json["scenario"] == "access.csv on served");
  CHECK_THAT(
      config::read_file(folder / "x/scenario.yaml"),
      Contains("The traffic of access.csv (access-log; requests: 1) on the fleet of served.") &&
          !Contains("The base's own"));
}

TEST_CASE("a GPU of a quarter of the bandwidth is refused", "[cli][incident]") {
  const Incident incident;
  const Ran imported = incident.import(
      "--model llama-3.1-8b --gpu slow.yaml --set engine.max_model_len=8192 --out wrong");
  CHECK(imported.exit_code == 1);
  CHECK_THAT(imported.out, Contains("MISSED") && Contains("fidelity: FAILED"));
  const Ran refused = incident.compare("wrong", "");
  CHECK(refused.exit_code == 1);
  CHECK_THAT(refused.out, Contains("REFUSED") && !Contains("two replicas"));
  const auto json = nlohmann::json::parse(incident.compare("wrong", "--json").out);
  CHECK(json["refused"] == true);
  CHECK(json["observed"][0]["fidelity"]["passed"] == false);
  CHECK_FALSE(json.contains("variants"));
  const Ran ignored = incident.compare("wrong", "--ignore-fidelity");
  CHECK(ignored.exit_code == 0);
  CHECK_THAT(ignored.out, Contains("WARNING: the replay MISSES") && Contains("two replicas"));
}

TEST_CASE("a measured vLLM server replays on its own GPU and not on another", "[cli][incident]") {
  const Scratch folder;
  std::string log = config::read_file(
      TOKENLINE_SOURCE_DIR "/calib/data/e2e/vllm_runs/rtx_4090_llama-3.1-8b/requests.csv");
  log.replace(log.find("e2e_ms"), 6, "e2el_ms");
  (void)folder.write("access.csv", log);
  // Those of its run.json.
  const std::string import =
      "incident import access.csv --format access-log --model llama-3.1-8b "
      "--set engine.preset=vllm-v1-async --set engine.max_num_seqs=256 "
      "--set engine.max_num_batched_tokens=2048 --set engine.max_model_len=32768 "
      "--tolerance 0.05 --gpu ";
  const Ran right = execute(folder, import + "rtx_4090 --out right");
  INFO(right.out << right.err);
  CHECK(right.exit_code == 0);
  CHECK(execute(folder, import + "rtx_pro_6000 --out wrong").exit_code == 1);
}

TEST_CASE("mistakes of an import are exit code 2", "[cli][incident]") {
  const Incident incident;
  const auto refuses = [&](const std::string& arguments, const std::string& message) {
    const Ran ran = execute(incident, "incident " + arguments);
    CHECK(ran.exit_code == 2);
    CHECK(ran.out.empty());
    CHECK_THAT(ran.err, Contains(message));
  };
  refuses("", "tokenline incident import");
  refuses("imprt access.csv", "did you mean 'import'?");
  refuses("import access.csv --format acces-log --base served.yaml --out x",
          "did you mean 'access-log'?");
  refuses("import access.csv --format access-log --base served.yaml", "'--out' is missing");
  refuses("import access.csv --format access-log --out x", "option '--model' is missing");
  refuses("import access.csv --format access-log --base served.yaml --gpu l4 --out x",
          "leave out --model and --gpu");
  refuses("import none.csv --format access-log --base served.yaml --out x",
          "none.csv:1:1: error: ");
  refuses("import access.csv --format access-log --base served.yaml --out x --tolerance 20%",
          "expected a number from 0 to 10");
  refuses("import access.csv --format access-log --base served.yaml --out x --prompt-tokens 5",
          "the file says how long prompts are");
  refuses("import access.csv --format access-log --base served.yaml --out .",
          "not overwriting what is not a result of ours");
}
