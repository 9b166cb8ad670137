#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "sim/config/node.hpp"
#include "sim/report/run_directory.hpp"
#include "tests/support/tool.hpp"
#include "tests/unit/cli/bad_input/other_mistakes.hpp"
#include "tests/unit/cli/bad_input/scenario_mistakes.hpp"
#include "tests/unit/cli/bad_input/traffic_mistakes.hpp"

using namespace tokenline;
using namespace tokenline::bad_input;

namespace {

/// A copy of the correct files of tests/unit/cli/bad_input, for one mistake.
class Correct : public Scratch {
 public:
  Correct() {
    std::filesystem::copy(TOKENLINE_SOURCE_DIR "/tests/unit/cli/bad_input", path(),
                          std::filesystem::copy_options::recursive);
  }

  /// Changes a passage of a file.
  void change(const std::string& file, const Mistake& mistake) const {
    std::string text = config::read_file(*this / file);
    if (mistake.passage.empty()) {
      text = mistake.becomes;
    } else {
      const auto at = text.find(mistake.passage);
      REQUIRE(at != std::string::npos);
      REQUIRE(text.find(mistake.passage, at + 1) == std::string::npos);
      text.replace(at, mistake.passage.size(), mistake.becomes);
    }
    report::write_file(*this / file, text);
  }
};

/// The lines of a report that state a mistake, without the hints.
std::vector<std::string> mistakes_in(const std::string& report) {
  std::vector<std::string> lines;
  std::istringstream stream(report);
  for (std::string line; std::getline(stream, line);)
    if (line.find(": error: ") != std::string::npos) lines.push_back(line);
  return lines;
}

/// What holds for every mistake: exit code 2, silence on standard output, and on standard error the
/// expected lines and no others.
void check_report(const Ran& ran, const std::vector<std::string>& errors, const std::string& hint) {
  CAPTURE(ran.err);
  CHECK(ran.exit_code == 2);
  CHECK(ran.out.empty());
  const auto lines = mistakes_in(ran.err);
  CHECK(std::ranges::equal(lines, errors, [](const std::string& line, const std::string& error) {
    return line.starts_with(error);
  }));
  CHECK(ran.err.find(hint) != std::string::npos);
}

/// Makes one mistake after the other in a file and looks at what `tokenline <arguments>` says.
void check_all(const std::string& file, const std::string& arguments,
               const std::vector<Mistake>& mistakes) {
  for (const Mistake& mistake : mistakes) {
    INFO(mistake.what);
    const Correct folder;
    folder.change(file, mistake);
    check_report(execute(folder, arguments), mistake.errors, mistake.hint);
  }
}

/// Arguments, the only mistake they lead to, and part of its hint.
struct Refused {
  std::string arguments;
  std::string message;
  std::string hint = "";
};

}  // namespace

TEST_CASE("the files in which mistakes are made have none", "[cli]") {
  const Correct folder;
  for (const char* arguments :
       {"run scenario.yaml", "run replay.yaml", "run azure.yaml", "run own_hardware.yaml",
        "run own_hardware.yaml --set cluster.tensor_parallel_size=2", "compare study.yaml"}) {
    const Ran ran = execute(folder, arguments);
    INFO(arguments << ": " << ran.err);
    CHECK(ran.exit_code == 0);
    CHECK(ran.err.empty());
  }
}

TEST_CASE("anchors, a byte order mark and Windows line ends are no mistakes", "[cli]") {
  const Correct folder;
  folder.change(
      "scenario.yaml",
      {"", "prompt_tokens: 200", "prompt_tokens: &length {distribution: fixed, value: 9}", {}});
  folder.change("scenario.yaml", {"", "output_tokens: 20", "output_tokens: *length", {}});
  std::string text = "\xef\xbb\xbf";
  for (const char c : config::read_file(folder / "scenario.yaml"))
    text += c == '\n' ? std::string("\r\n") : std::string(1, c);
  report::write_file(folder / "scenario.yaml", text);
  CHECK(execute(folder, "run scenario.yaml").exit_code == 0);
}

TEST_CASE("what is no YAML, or not ours, is met at its place", "[cli]") {
  check_all("scenario.yaml", "run scenario.yaml", mistakes_of_text());
}

TEST_CASE("a wrong value is met at its place", "[cli]") {
  check_all("scenario.yaml", "run scenario.yaml", mistakes_of_values());
}

TEST_CASE("an unknown name is met at its place, with the nearest one known", "[cli]") {
  check_all("scenario.yaml", "run scenario.yaml", mistakes_of_names());
}

TEST_CASE("values that do not go together are met at the one to change", "[cli]") {
  check_all("scenario.yaml", "run scenario.yaml", mistakes_of_combination());
}

TEST_CASE("a class that cannot be generated is met at its place", "[cli]") {
  check_all("scenario.yaml", "run scenario.yaml", mistakes_of_classes());
}

TEST_CASE("a trace that cannot be taken is met in the scenario", "[cli]") {
  check_all("replay.yaml", "run replay.yaml", mistakes_of_replays());
}

TEST_CASE("a wrong row is met in the trace", "[cli]") {
  check_all("trace.csv", "run replay.yaml", mistakes_of_traces());
  check_all("azure.csv", "run azure.yaml", mistakes_of_azure_traces());
}

TEST_CASE("a wrong model or GPU file is met in the file, an unpriced one in the scenario",
          "[cli]") {
  check_all("model.json", "run own_hardware.yaml", mistakes_of_models());
  check_all("gpu.yaml", "run own_hardware.yaml", mistakes_of_gpus());
}

TEST_CASE("a mistake of a study is met in the study", "[cli]") {
  check_all("study.yaml", "compare study.yaml", mistakes_of_studies());
}

TEST_CASE("a mistake of a study's scenario is met in the scenario, once", "[cli]") {
  check_all("scenario.yaml", "compare study.yaml",
            {{"a bare number",
              "rate: 5/s",
              "rate: 5",
              {"scenario.yaml:13:13: error: traffic.chat.arrival.rate: '5' is a bare number"}}});
}

TEST_CASE("all mistakes of a file come in one go, in the order of the text", "[cli]") {
  check_all("scenario.yaml", "run scenario.yaml",
            {{"nine",
              "",
              "scenario: nine\n"
              "model: lama-2-7b\n"
              "cluster: {gpu: h300, replicas: 0}\n"
              "engine: {block_size: 16 B, kv_layout: page}\n"
              "traffic:\n"
              "  chat: {arrival: {process: poison, rate: 5}, prompt_tokens: -3,\n"
              "         output_tokens: 20, num_prompts: 5}\n"
              "extra: 1\n",
              {"scenario.yaml:2:8: error: model: no built-in model",
               "scenario.yaml:3:16: error: cluster.gpu: no built-in GPU",
               "scenario.yaml:3:32: error: cluster.replicas: 0 is out of range",
               "scenario.yaml:4:22: error: engine.block_size: expected an integer, got '16 B'",
               "scenario.yaml:4:39: error: engine.kv_layout: unknown value 'page'",
               "scenario.yaml:6:29: error: traffic.chat.arrival.process: unknown value 'poison'",
               "scenario.yaml:6:43: error: traffic.chat.arrival.rate: '5' is a bare number",
               "scenario.yaml:6:62: error: traffic.chat.prompt_tokens: -3 is out of range",
               "scenario.yaml:8:1: error: extra: unknown key"}}});
}

TEST_CASE("a mistake of an override is met in the override", "[cli]") {
  const std::vector<Refused> all{
      {"engine.block_size", ":1:1: error: no '=' in the override", "--set path.to.key=value"},
      {"=3", ":1:1: error: an empty key in the path"},
      {"engine..block_size=3", ":1:1: error: an empty key in the path"},
      {"model.name=x", ":1:1: error: model: expected a mapping, got 'llama-3.1-8b'"},
      {"traffic.chat.prompt_tokens=0", ":1:1: error: traffic.chat.prompt_tokens: 0 is out of"},
      {"engine.blok_size=3", ":1:1: error: engine.blok_size: unknown key", "'block_size'"},
      {"engine.preset=vlm-v1", ":1:1: error: engine.preset: unknown ", "'vllm-v1'"},
      {"cluster.restart_delay=3", ":1:1: error: cluster.restart_delay: '3' is a bare number"},
      {"engine={", ":1:1: error: not valid YAML: "},
      {"seed=-3", ":1:1: error: seed: -3 is out of range: must be at least 0"},
      {"seed=99999999999999999999", ":1:1: error: seed: '99999999999999999999' does not fit"},
      {"traffic.chatt.num_prompts=3", ":1:1: error: traffic.chatt: a class is either generated"},
  };
  const Correct folder;
  for (const Refused& refused : all) {
    INFO(refused.arguments);
    check_report(execute(folder, "run scenario.yaml --set '" + refused.arguments + "'"),
                 {"--set " + refused.arguments + refused.message}, refused.hint);
  }
}

TEST_CASE("mistakes of two overrides come in one go", "[cli]") {
  check_report(
      execute(Correct(), "run scenario.yaml --set engine.block_size=0 --set engine.watermark=7"),
      {"--set engine.block_size=0:1:1: error: engine.block_size: 0 is out of range",
       "--set engine.watermark=7:1:1: error: engine.watermark: 7 is out of range"},
      "");
}

TEST_CASE("a file that cannot be read is named", "[cli]") {
  const std::vector<Refused> all{
      {"run nope.yaml", "nope.yaml:1:1: error: no such file"},
      {"run .", ".:1:1: error: is a directory, not a file"},
      {"compare nope.yaml", "nope.yaml:1:1: error: no such file"},
      {"run scenario.yaml --set model=nope.json",
       "--set model=nope.json:1:1: error: model: there is no file 'nope.json'"},
      {"run scenario.yaml --set cluster.gpu=nope.yaml",
       "--set cluster.gpu=nope.yaml:1:1: error: cluster.gpu: there is no file 'nope.yaml'"},
      {"run scenario.yaml --set cluster.gpu=./", "./:1:1: error: is a directory, not a file"},
  };
  const Correct folder;
  for (const Refused& refused : all) {
    INFO(refused.arguments);
    check_report(execute(folder, refused.arguments), {refused.message}, refused.hint);
  }
}

TEST_CASE("a mistake of usage names the word, and the nearest one known", "[cli]") {
  const std::vector<Refused> all{
      {"rum scenario.yaml", "unknown command 'rum'", "did you mean 'run'?"},
      {"run", "SCENARIO is missing"},
      {"run scenario.yaml again.yaml", "unexpected argument 'again.yaml'"},
      {"run scenario.yaml --quit", "unknown option '--quit'", "did you mean '--quiet'?"},
      {"run scenario.yaml --quiet=3", "option '--quiet' does not take any arguments"},
      {"run scenario.yaml --seed", "the required argument for option '--seed' is missing"},
      {"run scenario.yaml --seed 1 --seed 2", "option '--seed' is given twice"},
      {"run scenario.yaml --out scenario.yaml", "scenario.yaml: Not a directory"},
      {"run scenario.yaml --out .", ".: not empty and without a summary.json of ours"},
      {"run scenario.yaml --out ''", "the directory for results has an empty name"},
      {"compare", "STUDY is missing"},
      {"compare study.yaml --threads none", "--threads none: expected a whole number"},
      {"list", "what to list is missing: tokenline list {models,gpus,networks,policies,engines}"},
      {"describe h1000", "unknown name 'h1000'", "did you mean 'h100'?"},
  };
  const Correct folder;
  for (const Refused& refused : all) {
    const Ran ran = execute(folder, refused.arguments);
    INFO(refused.arguments << ": " << ran.err);
    CHECK(ran.exit_code == 2);
    CHECK(ran.out.empty());
    CHECK(ran.err.starts_with("tokenline: " + refused.message));
    CHECK(ran.err.find(refused.hint) != std::string::npos);
  }
}
