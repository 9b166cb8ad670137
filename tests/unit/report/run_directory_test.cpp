#include "sim/report/run_directory.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "sim/report/html_report.hpp"
#include "tests/support/scratch.hpp"
#include "tests/unit/report/builders.hpp"

using namespace tokenline;
using namespace tokenline::report;
namespace fs = std::filesystem;

namespace {

void run_into(const std::string& directory, Scenario& scenario) {
  claim_directory(directory, run_marker);
  const RunResult result = run(scenario);
  write_run(directory, scenario, result, summarize(scenario, result));
}

}  // namespace

TEST_CASE("a run of the written config.yaml repeats the run byte for byte", "[report]") {
  const Scratch scratch;
  Scenario first = parse_scenario("small.yaml", std::string(small_scenario));
  run_into(scratch / "a", first);
  Scenario second = load_scenario(scratch / "a/config.yaml");
  run_into(scratch / "b", second);
  for (const char* file : {"config.yaml", "summary.json", "requests.csv"})
    CHECK(config::read_file(scratch / "a/" + file) == config::read_file(scratch / "b/" + file));
}

TEST_CASE("replaying exported requests gives the same requests to the nanosecond", "[report]") {
  const Scratch scratch;
  Scenario original = parse_scenario("small.yaml", std::string(small_scenario));
  run_into(scratch / "original", original);
  write_file(scratch / "replay.yaml",
             "scenario: replay\nmodel: llama-3.1-8b\ncluster: {gpu: h100_sxm}\n"
             "engine: {max_model_len: 4096}\n"
             "traffic: {again: {trace: {file: original/requests.csv, format: csv}}}\n");
  Scenario replay = load_scenario(scratch / "replay.yaml");
  run_into(scratch / "replay", replay);
  CHECK(config::read_file(scratch / "replay/requests.csv") ==
        config::read_file(scratch / "original/requests.csv"));
  // The trace is named relative to the run directory now.
  Scenario moved = load_scenario(scratch / "replay/config.yaml");
  run_into(scratch / "moved", moved);
  CHECK(config::read_file(scratch / "moved/requests.csv") ==
        config::read_file(scratch / "original/requests.csv"));
}

TEST_CASE("data files named by the scenario or by --set are found from a run directory",
          "[report]") {
  const Scratch scratch;
  fs::create_directories(scratch / "in");
  write_file(scratch / "in/lengths.csv", "100\n200\n");
  write_file(scratch / "in/s.yaml", std::string(small_scenario));
  Scenario scenario = load_scenario(
      scratch / "in/s.yaml",
      {.overrides = {"traffic.chat.prompt_tokens={distribution: empirical, file: lengths.csv}"}});
  const config::Node config = rebased(scenario, scratch / "out/run");
  CHECK(config.find("model")->scalar == "llama-3.1-8b");
  CHECK(config.find("traffic")->find("chat")->find("prompt_tokens")->find("file")->scalar ==
        "../../in/lengths.csv");
}

TEST_CASE("a model given as a path is found from a run directory", "[report]") {
  const Scratch scratch;
  const std::string preset = TOKENLINE_SOURCE_DIR "/workloads/models/presets/llama-3.1-8b.json";
  fs::create_directories(scratch / "in");
  fs::copy_file(preset, scratch / "in/mine.json");
  std::string text(small_scenario);
  text.replace(text.find("llama-3.1-8b"), 12, "mine.json");
  write_file(scratch / "in/s.yaml", text);
  Scenario scenario = load_scenario(scratch / "in/s.yaml");
  run_into(scratch / "out", scenario);
  Scenario again = load_scenario(scratch / "out/config.yaml");
  CHECK(again.resolved.find("model")->scalar == "../in/mine.json");
  run_into(scratch / "again", again);
  CHECK(config::read_file(scratch / "again/requests.csv") ==
        config::read_file(scratch / "out/requests.csv"));
}

TEST_CASE("a directory of somebody else's is not written to", "[report]") {
  const Scratch scratch;
  claim_directory(scratch / "new/nested", run_marker);
  CHECK(fs::is_directory(scratch / "new/nested"));
  claim_directory(scratch / "new/nested", run_marker);
  write_file(scratch / "new/nested/notes.txt", "mine");
  CHECK_THROWS_AS(claim_directory(scratch / "new/nested", run_marker), OutputError);
  write_file(scratch / "new/nested/summary.json", "{}");
  CHECK_THROWS_AS(claim_directory(scratch / "new/nested", run_marker), OutputError);
  write_file(scratch / "new/nested/summary.json", "{\n  \"tokenline\": \"1\"}");
  CHECK_NOTHROW(claim_directory(scratch / "new/nested", run_marker));
  CHECK_THROWS_AS(claim_directory(scratch / "new/nested/notes.txt", run_marker), OutputError);
}

TEST_CASE("a directory without a name is refused in words", "[report]") {
  CHECK_THROWS_WITH(claim_directory("", run_marker), Catch::Contains("empty name"));
}

TEST_CASE("a directory that holds an input of the run is not written to", "[report]") {
  const Scratch scratch;
  Scenario first = parse_scenario("small.yaml", std::string(small_scenario));
  run_into(scratch / "first", first);
  fs::create_directory_symlink(scratch / "first", scratch / "linked");
  write_file(scratch / "replay.yaml",
             "scenario: replay\nmodel: llama-3.1-8b\ncluster: {gpu: h100_sxm}\n"
             "engine: {max_model_len: 4096}\n"
             "traffic: {again: {trace: {file: first/requests.csv, format: csv}}}\n");
  const auto inputs = input_files(load_scenario(scratch / "replay.yaml"));
  CHECK_THROWS_WITH(refuse_inputs(scratch / "first", inputs),
                    Catch::Contains("'requests.csv', which the scenario reads"));
  CHECK_THROWS_AS(refuse_inputs(scratch / "linked/", inputs), OutputError);
  CHECK_NOTHROW(refuse_inputs(scratch / "second", inputs));
}

TEST_CASE("data files are found from a run directory behind a symbolic link", "[report]") {
  const Scratch scratch;
  fs::create_directories(scratch / "in");
  fs::create_directories(scratch / "far/away/results");
  fs::create_directory_symlink(scratch / "far/away/results", scratch / "out");
  write_file(scratch / "in/lengths.csv", "100\n200\n");
  write_file(scratch / "in/s.yaml", std::string(small_scenario));
  Scenario scenario = load_scenario(
      scratch / "in/s.yaml",
      {.overrides = {"traffic.chat.prompt_tokens={distribution: empirical, file: lengths.csv}"}});
  run_into(scratch / "out/run", scenario);
  Scenario again = load_scenario(scratch / "out/run/config.yaml");
  run_into(scratch / "again", again);
  CHECK(config::read_file(scratch / "again/requests.csv") ==
        config::read_file(scratch / "out/run/requests.csv"));
}

TEST_CASE("a file that cannot be written is reported with its path", "[report]") {
  const Scratch scratch;
  CHECK_THROWS_WITH(write_file(scratch / "no/such/folder/x", "text"),
                    Catch::Contains("no/such/folder/x"));
}

TEST_CASE("a new run removes the band of the run before", "[report]") {
  const Scratch scratch;
  Scenario scenario = parse_scenario("small.yaml", std::string(small_scenario));
  run_into(scratch / "a", scenario);
  write_file(scratch / "a/band.json", "{}");
  Scenario again = parse_scenario("small.yaml", std::string(small_scenario));
  run_into(scratch / "a", again);
  CHECK_FALSE(fs::exists(scratch / "a/band.json"));
}

TEST_CASE("a new run removes the page of the run before, and no other", "[report]") {
  const Scratch scratch;
  const std::string page = scratch / "a/report.html";
  Scenario scenario = parse_scenario("small.yaml", std::string(small_scenario));
  run_into(scratch / "a", scenario);
  write_file(page, "<!doctype html>somebody's own");
  Scenario again = parse_scenario("small.yaml", std::string(small_scenario));
  run_into(scratch / "a", again);
  CHECK(fs::exists(page));
  write_file(page, report_page("{}"));
  Scenario last = parse_scenario("small.yaml", std::string(small_scenario));
  run_into(scratch / "a", last);
  CHECK_FALSE(fs::exists(page));
}

TEST_CASE("of several files all are written or none", "[report]") {
  const Scratch scratch;
  write_file(scratch / "old", "old");
  const std::vector<OutputFile> bad{
      {scratch / "new", "1"}, {scratch / "old", "2"}, {scratch / "nowhere/x", "3"}};
  CHECK_THROWS_AS(write_files(bad), OutputError);
  CHECK_FALSE(fs::exists(scratch / "new"));
  CHECK(config::read_file(scratch / "old") == "old");
  write_files(std::vector<OutputFile>{{scratch / "new", "1"}, {scratch / "old", "2"}});
  CHECK(config::read_file(scratch / "new") == "1");
  CHECK(config::read_file(scratch / "old") == "2");
}

TEST_CASE("a file of a run directory that is a link to an input is not written", "[report]") {
  const Scratch scratch;
  write_file(scratch / "trace.csv", "a");
  fs::create_directory(scratch / "out");
  fs::create_hard_link(scratch / "trace.csv", scratch / "out/requests.csv");
  CHECK_THROWS_WITH(refuse_inputs(scratch / "out", {scratch / "trace.csv"}),
                    Catch::Contains("holds 'trace.csv', which the scenario reads"));
  fs::remove(scratch / "out/requests.csv");
  CHECK_NOTHROW(refuse_inputs(scratch / "out", {scratch / "trace.csv"}));
}
