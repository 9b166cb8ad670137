// What `run` tells CI systems.
#include <catch2/catch.hpp>
#include <string>

#include "sim/config/node.hpp"
#include "tests/support/tool.hpp"
#include "tests/unit/report/builders.hpp"

using namespace tokenline;
using Catch::Contains;

namespace {

class Gated : public Scratch {
 public:
  Gated() {
    const std::string text(report::small_scenario);
    (void)write("small.yaml", text);
    (void)write("failing.yaml", text + "assert:\n  - all.completed > 0\n  - p99_ttft < 1 us\n");
    REQUIRE(execute(*this, "run small.yaml --out base --quiet").exit_code == 0);
  }
};

}  // namespace

TEST_CASE("a failed assert is an annotation at its line, also of a quiet run", "[cli][gates]") {
  const Gated folder;
  const Ran ran = execute(folder, "run failing.yaml --github --quiet");
  CHECK(ran.exit_code == 1);
  CHECK_THAT(ran.out, Contains("::error file=failing.yaml,line=19,title=small%3A p99_ttft < 1 us::"
                               "all.p99_ttft_ms is "));
  CHECK(execute(folder, "run small.yaml --github --quiet").out.empty());
}

TEST_CASE("a regression is exit code 1, the same run is not", "[cli][gates]") {
  const Gated folder;
  const Ran same = execute(folder, "run small.yaml --baseline base");
  CHECK(same.exit_code == 0);
  CHECK_THAT(same.out, Contains("baseline base/summary.json: of ") && Contains(" 0 worse"));
  const std::string slower = "run small.yaml --set engine.max_num_seqs=1 --quiet --baseline ";
  const Ran worse = execute(folder, slower + "base/summary.json --tolerance 5% --github");
  CHECK(worse.exit_code == 1);
  CHECK_THAT(worse.out, Contains("chat.p99_ttft_ms") && Contains("worse"));
  CHECK_THAT(worse.out, Contains("::error file=small.yaml,line=1,title=small%3A chat.p99_ttft_ms"));
  CHECK(execute(folder, slower + "base --tolerance 100000%").exit_code == 0);
}

TEST_CASE("what is better passes, and fails with --fail-on-improvement", "[cli][gates]") {
  const Gated folder;
  REQUIRE(
      execute(folder, "run small.yaml --set engine.host_overhead_per_step=50ms --out slow --quiet")
          .exit_code == 0);
  const Ran better = execute(folder, "run small.yaml --baseline slow --tolerance 5% --github");
  CHECK(better.exit_code == 0);
  CHECK_THAT(better.out, Contains("::notice file=small.yaml"));
  CHECK(execute(folder, "run small.yaml --baseline slow --tolerance 5% --fail-on-improvement")
            .exit_code == 1);
}

TEST_CASE("gates change nothing else of a run", "[cli][gates]") {
  const Gated folder;
  REQUIRE(execute(folder, "run small.yaml --out gated --junit j.xml --github --baseline base")
              .exit_code == 0);
  for (const char* file : {"config.yaml", "summary.json", "requests.csv"})
    CHECK(config::read_file(folder / "base/" + file) ==
          config::read_file(folder / "gated/" + file));
}

TEST_CASE("a baseline is not overwritten, and options that lead nowhere are refused",
          "[cli][gates]") {
  const Gated folder;
  const auto refuses = [&](const std::string& options, const std::string& message) {
    const Ran ran = execute(folder, "run small.yaml " + options);
    CHECK(ran.exit_code == 2);
    CHECK_THAT(ran.err, Contains(message));
  };
  refuses("--baseline base --out base", "results go elsewhere");
  refuses("--baseline base --junit base/summary.json", "would overwrite an input");
  refuses("--junit small.yaml", "would overwrite an input");
  refuses("--tolerance 5%", "go with --baseline");
  refuses("--fail-on-improvement", "go with --baseline");
  refuses("--baseline small.yaml", "not the summary of a run");
  refuses("--baseline base --tolerance 5", "no tolerance");
  refuses("--junit j.xml --report j.xml", "two results would go to one file");
}
