// What cannot be built is out with its reason; what nobody can mean is an error at its line.
#include <catch2/catch.hpp>

#include "tests/support/tool.hpp"
#include "tests/unit/plan/support.hpp"
#include "tools/plan/problem.hpp"

using namespace tokenline;
using namespace tokenline::plan;
using namespace tokenline::plan_test;
using Catch::Contains;

namespace {

/// The only design of a plan with these axes.
Design only_design(const std::string& axis, const std::string& base = small_base) {
  const PlanFolder folder(small_plan.substr(0, small_plan.find("axes:")) + "axes:\n  - " + axis,
                          base);
  return Problem(folder.load(), 1).designs().front();
}

struct Mistake {
  const char* passage;
  const char* becomes;
  const char* error;
};

}  // namespace

TEST_CASE("a design that does not fit says why", "[plan]") {
  const std::string large = with(with(small_base, "llama-3.1-8b", "llama-3.1-70b"), "{gpu: l40s}",
                                 "{gpu: l40s, tensor_parallel_size: 4}");
  Design design =
      only_design("{axis: tp, key: cluster.tensor_parallel_size, values: [1]}\n", large);
  CHECK(design.verdict == Verdict::does_not_fit);
  CHECK_THAT(design.reason, Contains("does not fit l40s: weights"));
  design = only_design("{axis: tp, key: cluster.tensor_parallel_size, values: [3]}\n");
  CHECK_THAT(design.reason, Contains("does not divide"));
  design = only_design("{axis: tp, key: cluster.tensor_parallel_size, values: [16]}\n");
  CHECK(design.verdict == Verdict::does_not_fit);
  design = only_design("{axis: attention, key: engine.prefill_attention, values: [fa3]}\n");
  CHECK_THAT(design.reason, Contains("fa3 needs the asynchronous"));
}

TEST_CASE("mistakes of a plan come out at their lines", "[plan]") {
  const std::vector<Mistake> mistakes{
      {"growth: 1.2", "grwoth: 1.2", "plan.yaml:3:1: error: grwoth: "},
      {"base: base.yaml", "base: bse.yaml", "plan.yaml:2:7: error: base: "},
      {"seeds: 5", "seeds: 0", "plan.yaml:5:8: error: seeds: "},
      {"{max: 12}", "{min: 13, max: 12}", "plan.yaml:6:26: error: replicas.max: is less than min"},
      {"p99_ttft(chat)", "p99_ttft(caht)", "plan.yaml:7:7: error: slo[0]: "},
      {"p99_ttft(chat) < 600 ms", "instances.restarts < 1",
       "plan.yaml:7:7: error: slo[0]: an SLO is about a class"},
      {"key: cluster.gpu", "key: cluster.replicas",
       "plan.yaml:9:22: error: axes[0].key: 'cluster.replicas' is what the plan looks for"},
      {"key: cluster.gpu", "key: traffic.chat",
       "plan.yaml:9:22: error: axes[0].key: 'traffic.chat' is not part of a design"},
      {"engine.max_num_seqs", "engine.max_num_sqs", "plan.yaml:10:28: error: engine.max_num_sqs: "},
      {"[8, 32]", "[8, 8]", "error: axes[1]: axis 'sequences' has two choices '8'"},
      {"h100_pcie", "a100_sxm_40gb", "plan.yaml:1:1: error: prices: there is no price of a "},
  };
  for (const Mistake& mistake : mistakes) {
    INFO(mistake.becomes);
    const PlanFolder folder(with(small_plan, mistake.passage, mistake.becomes));
    const Ran ran = execute(folder, "plan plan.yaml");
    CHECK(ran.exit_code == 2);
    CHECK(ran.out.empty());
    CHECK_THAT(ran.err, Contains(mistake.error));
  }
}

TEST_CASE("a closed loop has no load that grows", "[plan]") {
  const PlanFolder folder(small_plan, with(small_base, "{process: poisson, rate: 20/s}",
                                           "{process: closed_loop, max_concurrency: 64}"));
  const Ran ran = execute(folder, "plan plan.yaml");
  CHECK(ran.exit_code == 2);
  CHECK_THAT(ran.err, Contains("plan.yaml:3:9: error: growth: class 'chat' is a closed loop"));
}

TEST_CASE("the winner runs as a scenario that asserts the SLOs", "[plan]") {
  const PlanFolder folder;
  const Ran planned = execute(folder, "plan plan.yaml --out found --export winner.yaml");
  CHECK(planned.exit_code == 0);
  CHECK_THAT(planned.out, Contains("Cheapest fleet that meets every SLO: l4, 32"));
  const Ran ran = execute(folder, "run winner.yaml");
  CHECK(ran.exit_code == 0);
  CHECK_THAT(ran.out, Contains("asserts: 3 of 3 hold"));
  CHECK(execute(folder, "run found/winner.yaml").exit_code == 0);
  CHECK(config::read_file(folder / "found/plan.json").starts_with("{\n  \"tokenline\""));
  CHECK(execute(folder, "plan plan.yaml --export base.yaml").exit_code == 2);
}

TEST_CASE("a plan that nothing meets exits with 1, and prices may be one's own", "[plan]") {
  const PlanFolder none(with(small_plan, "600 ms", "1 ms"));
  CHECK(execute(none, "plan plan.yaml").exit_code == 1);
  const PlanFolder own(small_plan + "prices: {l40s: 0.10}\n");
  const Ran ran = execute(own, "plan plan.yaml");
  CHECK_THAT(ran.out, Contains("Cheapest fleet that meets every SLO: l40s, 32"));
  CHECK_THAT(ran.out, Contains("of the plan: l40s"));
}

TEST_CASE("every plan in scenarios reads, and some of its designs fit", "[plan]") {
  const std::string folder = TOKENLINE_SOURCE_DIR "/scenarios/capacity/";
  for (const char* file : {"chat_and_pdf.yaml", "how_many_gpus.yaml"}) {
    INFO(file);
    const std::vector<Design> designs = Problem(load_plan(folder + file), 2).designs();
    CHECK(std::ranges::any_of(designs,
                              [](const Design& d) { return d.verdict != Verdict::does_not_fit; }));
  }
}

TEST_CASE("the keys of a plan are described", "[plan]") {
  const PlanFolder folder;
  const Ran ran = execute(folder, "describe plan");
  CHECK(ran.exit_code == 0);
  for (const char* key : {"growth", "burst", "survive", "axes[].choices[].pools", "prices"})
    CHECK_THAT(ran.out, Contains(key));
}
