#include "tests/scenario/support.hpp"

using namespace tokenline;
using namespace tokenline::scenario_test;

TEST_CASE("two runs of the tool write and print the same bytes", "[determinism]") {
  const Scratch scratch;
  const std::string scenario = "run '" + source("scenarios/p99_incident/incident.yaml") + "'";
  const std::string first = execute(scratch, scenario + " --out first");
  const std::string second = execute(scratch, scenario + " --out second");
  CHECK(difference(first, second) == "");
  require_same_files(scratch / "first", scratch / "second");
}

TEST_CASE("a study gives the same bytes on one thread and on two", "[determinism]") {
  const Scratch scratch;
  const std::string study = "compare '" + source("scenarios/p99_incident/study.yaml") + "' --json";
  const std::string one = execute(scratch, study + " --threads 1 --out one");
  const std::string two = execute(scratch, study + " --threads 2 --out two");
  CHECK(difference(one, two) == "");
  require_same_files(scratch / "one", scratch / "two");
}

TEST_CASE("a variant of a study is the run of its scenario", "[determinism]") {
  const Scratch scratch;
  execute(scratch, "compare '" + source("scenarios/p99_incident/study.yaml") + "' --out study");
  execute(scratch, "run '" + source("scenarios/p99_incident/incident.yaml") +
                       "' --set cluster.replicas=3 --out alone --quiet");
  require_same_files(scratch / "study/3-replicas", scratch / "alone");
}
