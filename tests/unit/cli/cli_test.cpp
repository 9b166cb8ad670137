#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/config/node.hpp"
#include "sim/report/run_directory.hpp"
#include "tests/support/tool.hpp"
#include "tests/unit/report/builders.hpp"

using namespace tokenline;
using Catch::Contains;
using Catch::StartsWith;

using report::write_file;

namespace {

/// A folder with small.yaml, which passes, and failing.yaml, whose assert fails.
class Folder : public Scratch {
 public:
  Folder() {
    const std::string text(report::small_scenario);
    write_file(*this / "small.yaml", text);
    write_file(*this / "failing.yaml", text + "assert: [all.p99_ttft_ms < 0.001]\n");
    write_file(*this / "study.yaml",
               "study: s\nbase: small.yaml\ncolumns: [all.completed]\nvariants:\n"
               "  - {name: a}\n  - {name: b, set: {seed: 7}}\n");
  }
};

}  // namespace

TEST_CASE("run reports on standard output and says nothing else", "[cli]") {
  const Folder folder;
  const Ran ran = execute(folder, "run small.yaml");
  CHECK(ran.exit_code == 0);
  CHECK_THAT(ran.out, Contains("Serving Benchmark Result"));
  CHECK_THAT(ran.out, Contains("audit: passed"));
  CHECK(ran.err.empty());
}

TEST_CASE("without --out nothing is written, with it a run directory is", "[cli]") {
  const Folder folder;
  CHECK(execute(folder, "run small.yaml").exit_code == 0);
  CHECK_FALSE(std::filesystem::exists(folder / "config.yaml"));
  CHECK(execute(folder, "run small.yaml --out result --quiet").out.empty());
  const auto json = nlohmann::json::parse(config::read_file(folder / "result/summary.json"));
  CHECK(json["scenario"] == "small");
  CHECK(execute(folder, "run result/config.yaml --out again").exit_code == 0);
  for (const char* file : {"config.yaml", "summary.json", "requests.csv"})
    CHECK(config::read_file(folder / "result/" + file) ==
          config::read_file(folder / "again/" + file));
}

TEST_CASE("a run replaces an earlier one of the same scenario, and no other", "[cli]") {
  const Folder folder;
  std::string other(report::small_scenario);
  other.replace(other.find("scenario: small"), 15, "scenario: other");
  write_file(folder / "other.yaml", other);
  execute(folder, "run small.yaml --out result --steps --quiet");
  const std::string before = config::read_file(folder / "result/summary.json");
  const Ran refused = execute(folder, "run other.yaml --out result");
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, Contains("result: holds a run of another scenario than 'other'") &&
                              Contains("hint: name another directory"));
  CHECK(config::read_file(folder / "result/summary.json") == before);
  CHECK(std::filesystem::exists(folder / "result/steps.csv"));
  CHECK(execute(folder, "run small.yaml --seed 7 --out result --quiet").exit_code == 0);
  CHECK(config::read_file(folder / "result/summary.json") != before);
}

TEST_CASE("a trace and a table of steps are further files, and go with the next run", "[cli]") {
  const Folder folder;
  execute(folder, "run small.yaml --out plain");
  const Ran ran = execute(folder, "run small.yaml --out seen --trace --steps");
  CHECK(ran.exit_code == 0);
  for (const char* file : {"config.yaml", "summary.json", "requests.csv"})
    CHECK(config::read_file(folder / "plain/" + file) ==
          config::read_file(folder / "seen/" + file));
  const auto trace = nlohmann::json::parse(config::read_file(folder / "seen/trace.json"));
  CHECK(trace["otherData"]["complete"] == true);
  CHECK(config::read_file(folder / "seen/steps.csv").starts_with("instance,micro_batch,begin_s,"));
  const Ran cut = execute(folder, "run small.yaml --out seen --trace --trace-limit 10kB");
  CHECK_THAT(cut.out, Contains("trace.json has reached its limit: it ends at "));
  CHECK_FALSE(std::filesystem::exists(folder / "seen/steps.csv"));
  execute(folder, "run small.yaml --out seen");
  CHECK_FALSE(std::filesystem::exists(folder / "seen/trace.json"));
  for (const char* words :
       {"--trace", "--steps", "--out x --trace-limit 1MB", "--out x --trace --trace-limit 100"})
    CHECK(execute(folder, std::string("run small.yaml ") + words).exit_code == 2);
}

TEST_CASE("a brown-out of links that nothing crosses is warned of at its place", "[cli]") {
  const Folder folder;
  write_file(folder / "idle.yaml",
             std::string(report::small_scenario) +
                 "faults:\n  - {kind: link_brownout, link: nic, from: 1 s, to: 2 s, "
                 "bandwidth_factor: 0.5}\n");
  const Ran ran = execute(folder,
                          "run idle.yaml --quiet --set cluster.replicas=9 --set "
                          "'cluster.network={node: hgx_h100, fabric: infiniband_ndr}'");
  CHECK(ran.exit_code == 0);
  CHECK(ran.out.empty());
  CHECK_THAT(ran.err, StartsWith("idle.yaml:") &&
                          Contains("warning: faults[0]: no replica and no KV transfer of this "
                                   "scenario crosses all nics: the brown-out changes nothing"));
}

TEST_CASE("a failed assert is exit code 1, with the value", "[cli]") {
  const Ran ran = execute(Folder(), "run failing.yaml --quiet");
  CHECK(ran.exit_code == 1);
  CHECK_THAT(ran.out, Contains("assert failed: all.p99_ttft_ms < 0.001 (it is "));
}

TEST_CASE("a page is written where --report says, and changes nothing else", "[cli]") {
  const Folder folder;
  const Ran plain = execute(folder, "run small.yaml --out a");
  const Ran paged = execute(folder, "run small.yaml --out b --report b/report.html");
  CHECK(paged.exit_code == 0);
  CHECK(paged.out == plain.out);
  for (const char* file : {"config.yaml", "summary.json", "requests.csv"})
    CHECK(config::read_file(folder / "a/" + file) == config::read_file(folder / "b/" + file));
  CHECK(config::read_file(folder / "b/report.html").starts_with("<!doctype html>"));
  CHECK(execute(folder, "compare study.yaml --threads 1 --report one.html").exit_code == 0);
  CHECK(execute(folder, "compare study.yaml --threads 2 --report two.html").exit_code == 0);
  CHECK(config::read_file(folder / "one.html") == config::read_file(folder / "two.html"));
}

TEST_CASE("the option --seed is --set seed, and overrides apply in order", "[cli]") {
  const Folder folder;
  execute(folder, "run small.yaml --seed 7 --out a");
  execute(folder, "run small.yaml --set seed=3 --set seed=7 --out b");
  CHECK(config::read_file(folder / "a/summary.json") ==
        config::read_file(folder / "b/summary.json"));
  CHECK(config::read_file(folder / "a/config.yaml").find("seed: 7") != std::string::npos);
}

TEST_CASE("mistakes of files and options are exit code 2 and located", "[cli]") {
  const Folder folder;
  const auto refuses = [&](const std::string& arguments, const std::string& message) {
    const Ran ran = execute(folder, arguments);
    CHECK(ran.exit_code == 2);
    CHECK(ran.out.empty());
    CHECK_THAT(ran.err, Contains(message));
  };
  refuses("run nope.yaml", "nope.yaml:1:1: error: ");
  refuses("run small.yaml --set engine.blok_size=3", "did you mean 'block_size'?");
  refuses("run small.yaml --seed x", "--set seed=x:1:1: error: seed: ");
  refuses("run small.yaml --sed 3", "did you mean '--set'?");
  refuses("run small.yaml --see 3", "unknown option '--see'");
  refuses("run small.yaml --seed 1 --seed 2", "given twice");
  refuses("run", "SCENARIO is missing");
  refuses("run small.yaml more", "unexpected argument 'more'");
  refuses("run small.yaml --out .", "not overwriting");
  refuses("run small.yaml --out /proc/nowhere/x", "/proc/nowhere/x");
  refuses("run small.yaml --report small.yaml", "would overwrite an input");
  refuses("run small.yaml --out r --report r/summary.json", "two results would go to one file");
  refuses("run small.yaml --report nowhere/r.html", "nowhere/r.html: cannot be written");
  refuses("run small.yaml --report ''", "empty name");
  refuses("compare study.yaml --report small.yaml", "would overwrite an input");
  refuses("compare study.yaml --report study.yaml", "would overwrite an input");
  refuses("run study.yaml",
          "study.yaml:1:8: error: study: this is a study, where a scenario is expected\n"
          "  hint: `tokenline compare`");
  refuses("compare small.yaml",
          "small.yaml:1:11: error: scenario: this is a scenario, where a study is expected\n"
          "  hint: `tokenline run`");
  refuses("comparee study.yaml", "did you mean 'compare'?");
  refuses("compare study.yaml --threads 0", "1 to 1024");
  refuses("", "no command is given");
  refuses("describe llama-2-70", "did you mean 'llama-2-70b'?");
  refuses("list gpu", "did you mean 'gpus'?");
  refuses("calibrate --gpu x", "option '--datasheet' is missing");
  refuses("calibrate --gpu x --operators . --datasheet nope.yaml -o y/z", "nope.yaml");
  refuses(
      "calibrate --gpu x --operators y --datasheet small.yaml -o ../$(basename $PWD)/small.yaml",
      "would overwrite an input");
  refuses("calibrate --gpu x --operators . --datasheet nope.yaml -o gemm.csv",
          "would overwrite an input");
}

TEST_CASE("a full disk is an error, and a reader that has gone is none", "[cli]") {
  const Folder folder;
  const Ran full = execute(folder, "run small.yaml >/dev/full");
  CHECK(full.exit_code == 2);
  CHECK_THAT(full.err, Contains("standard output"));
  // The reader has gone by the time the report is written.
  // The reader has gone by the time the report is written; the verdict stays.
  for (const auto& [file, code] : {std::pair("small.yaml", "0\n"), {"failing.yaml", "1\n"}}) {
    const Ran pipe =
        shell(folder, "{ sleep 0.1; " + tool + "run " + file + "; echo $? >code; } | true");
    CHECK(config::read_file(folder / "code") == code);
    CHECK(pipe.err.empty());
  }
}

TEST_CASE("advise judges by ten rules and is no verdict on the asserts", "[cli]") {
  const Folder folder;
  const Ran text = execute(folder, "advise failing.yaml");
  CHECK(text.exit_code == 0);
  CHECK_THAT(text.out, Contains("Ten rules held against small (seed 42): "));
  CHECK(text.err.empty());
  const Ran json = execute(folder, "advise small.yaml --json --seed 7 --set engine.block_size=1");
  CHECK(json.exit_code == 0);
  const auto advice = nlohmann::json::parse(json.out);
  CHECK(advice["seed"] == 7);
  // What it proposes can be pasted.
  REQUIRE(advice["rules"][2]["verdict"] == "broken");
  const std::string set = advice["rules"][2]["remedies"][0]["set"][0];
  CHECK_THAT(execute(folder, "advise small.yaml --set engine.block_size=1 --set " + set).out,
             Contains("3  obeyed"));
  CHECK(execute(folder, "advise nope.yaml").exit_code == 2);
}

TEST_CASE("compare prints a table, or JSON, and writes run directories", "[cli]") {
  const Folder folder;
  const Ran text = execute(folder, "compare study.yaml --out result");
  CHECK(text.exit_code == 0);
  CHECK_THAT(text.out, Contains("audits: passed in all 2 runs"));
  CHECK(std::filesystem::exists(folder / "result/b/requests.csv"));
  const Ran json = execute(folder, "compare study.yaml --json --threads 2");
  CHECK(json.out == config::read_file(folder / "result/compare.json"));
}

TEST_CASE("a variant whose assert fails makes compare exit with 1", "[cli]") {
  const Folder folder;
  write_file(folder / "failing_study.yaml",
             "study: s\nbase: failing.yaml\ncolumns: [all.completed]\nvariants: [{name: a}]\n");
  const Ran ran = execute(folder, "compare failing_study.yaml");
  CHECK(ran.exit_code == 1);
  CHECK_THAT(ran.out, Contains("a: assert failed: all.p99_ttft_ms < 0.001"));
}

TEST_CASE("every command explains itself", "[cli]") {
  const Folder folder;
  const Ran overview = execute(folder, "--help");
  CHECK(overview.exit_code == 0);
  for (const char* command :
       {"run", "compare", "list", "describe", "calibrate", "roofline", "lab"}) {
    CHECK_THAT(overview.out, Contains(command));
    const Ran help = execute(folder, std::string(command) + " --help");
    CHECK(help.exit_code == 0);
    CHECK_THAT(help.out, Contains("usage: tokenline " + std::string(command)));
    CHECK_THAT(help.out, Contains("Exit codes: 0 ok"));
  }
  CHECK_THAT(execute(folder, "--version").out, Contains("tokenline "));
}

TEST_CASE("a GPU is listed and described with where its prices come from", "[cli]") {
  const Folder folder;
  const std::string listed = execute(folder, "list gpus").out;
  const auto line_of = [&](const std::string& name) {
    const std::size_t begin = listed.find("\n" + name + " ") + 1;
    return listed.substr(begin, listed.find('\n', begin) - begin);
  };
  CHECK_THAT(line_of("h100_sxm"), Contains("calibrated") && Contains("NVIDIA H100 SXM5"));
  CHECK_THAT(line_of("b200"), Contains("datasheet") && Contains("NVIDIA B200"));
  const std::string measured = execute(folder, "describe h100_sxm").out;
  CHECK_THAT(measured, Contains("sms: 132") && Contains("Fitted to measured kernel times") &&
                           Contains("all_reduce") && Contains("fp8_block balanced"));
  CHECK_THAT(measured, !Contains("grid: |") && !Contains("axis m"));
  const std::string usual = execute(folder, "describe b200").out;
  CHECK_THAT(usual, Contains("Nothing was measured") && Contains("usual") && Contains("NCCL"));
}

TEST_CASE("a GPU is described under any of its names", "[cli]") {
  const Folder folder;
  const std::string described = execute(folder, "describe h100_sxm").out;
  for (const char* alias : {"h100", "H100-SXM-80GB"})
    CHECK(execute(folder, std::string("describe ") + alias).out == described);
  CHECK_THAT(execute(folder, "describe a100").out, Contains("GPU a100_sxm_80gb"));
}

TEST_CASE("a run with --band leaves band.json, the next one without removes it", "[cli]") {
  const Folder folder;
  const Ran ran = execute(folder, "run small.yaml --band --out bo");
  CHECK(ran.exit_code == 0);
  CHECK_THAT(ran.out, Contains("Smallest and largest of the three runs"));
  CHECK(std::filesystem::exists(folder / "bo/band.json"));
  CHECK(execute(folder, "run small.yaml --seed 9 --out bo").exit_code == 0);
  CHECK_FALSE(std::filesystem::exists(folder / "bo/band.json"));
}

TEST_CASE("what is listed can be described", "[cli]") {
  const Folder folder;
  for (const char* kind : {"models", "gpus", "policies", "engines"})
    CHECK(execute(folder, std::string("list ") + kind).exit_code == 0);
  CHECK_THAT(execute(folder, "list models").out, Contains("llama-2-70b"));
  CHECK_THAT(execute(folder, "describe llama-2-70b").out, Contains("327680"));
  CHECK_THAT(execute(folder, "describe h100_sxm").out, Contains("989 TFLOP/s"));
  CHECK_THAT(execute(folder, "describe round_robin").out, Contains("router policy"));
  // A scheduler and an engine share the name.
  const Ran orca = execute(folder, "describe orca");
  CHECK_THAT(orca.out, Contains("scheduler policy orca") && Contains("engine orca"));
  CHECK_THAT(execute(folder, "describe scenario").out, Contains("engine.block_size"));
  CHECK_THAT(execute(folder, "describe study").out, Contains("claims[].tolerance"));
}

TEST_CASE("compare over several seeds says what the evidence is, and how tight", "[cli]") {
  const Folder folder;
  const Ran some = execute(folder, "compare study.yaml --replications 5");
  CHECK(some.exit_code == 0);
  CHECK_THAT(some.out, Contains("5 replications") && Contains("no evidence"));
  const Ran loose = execute(
      folder, "compare study.yaml --precision 0.0001% --max-replications 10 --confidence 90%");
  CHECK(loose.exit_code == 1);
  CHECK_THAT(loose.out, Contains("NOT reached after 10") && Contains("90 % intervals"));
  for (const char* wrong : {"--replications 4", "--precision 2", "--precision 200%",
                            "--drop-warm-up", "--replications 5 --max-replications 20"})
    CHECK(execute(folder, std::string("compare study.yaml ") + wrong).exit_code == 2);
}
