// Bounds are true: no simulation does better.
#include <catch2/catch.hpp>

#include "tests/unit/plan/support.hpp"
#include "tools/plan/load.hpp"
#include "tools/plan/problem.hpp"

using namespace tokenline;
using namespace tokenline::plan;
using namespace tokenline::plan_test;

namespace {

struct Service {
  const char* what;
  std::string plan;
  std::string base;
};

/// Loads of which the bounds are near what is needed.
std::vector<Service> tight_services() {
  const std::string long_prompts =
      with(with(small_base, "{distribution: uniform, min: 100, max: 700}", "900"),
           "{distribution: uniform, min: 20, max: 80}", "4");
  const std::string long_answers =
      with(with(small_base, "{distribution: uniform, min: 100, max: 700}", "20"),
           "{distribution: uniform, min: 20, max: 80}", "400");
  const std::string one_case =
      with(with(with(small_plan, "survive: 1\n", ""), "seeds: 5", "seeds: 1"), "max: 12", "max: 6");
  const std::string pools =
      with(small_base, "cluster: {gpu: l40s}",
           "cluster:\n  gpu: l40s\n  network: {node: pcie_gen4, fabric: ethernet_100g}\n  pools:\n"
           "    prefill: {role: prefill}\n    decode: {role: decode}");
  return {
      {"prompts and answers", with(with(small_plan, "seeds: 5", "seeds: 1"), "max: 12", "max: 6"),
       small_base},
      {"long prompts", with(one_case, "600 ms", "1500 ms"), long_prompts},
      {"long answers", with(one_case, "p99_ttft(chat) < 600 ms", "p90_e2el(chat) < 20 s"),
       long_answers},
      {"a tight TPOT", with(one_case, "150 ms", "40 ms"), small_base},
      {"a tight TTFT", with(one_case, "600 ms", "90 ms"), small_base},
      {"means", with(one_case, "p99_ttft(chat) < 600 ms", "mean_ttft(chat) < 60 ms"), small_base},
      {"pools",
       with(one_case, "axes:",
            "axes:\n  - {axis: pools, choices: [{name: 1:1, pools: {prefill: 1, decode: 1}}]}"),
       pools},
  };
}

}  // namespace

TEST_CASE("no fleet below a bound meets the SLOs", "[plan]") {
  bool bounded_size = false;
  bool bounded_latency = false;
  for (const Service& one : tight_services()) {
    INFO(one.what);
    const PlanFolder folder(one.plan, one.base);
    const Plan plan = folder.load();
    std::vector<Design> designs = Problem(plan, 1).designs();
    bound_sizes(Problem(plan, 1), designs, 1);
    const Result all = solve(plan, {.threads = 2, .brute_force = true});
    for (std::size_t i = 0; i < designs.size(); ++i) {
      INFO(designs[i].name << ": " << designs[i].bound);
      for (const Fleet& fleet : all.designs[i].fleets)
        if (fleet.units < designs[i].least_units) CHECK_FALSE(fleet.passed);
      bounded_size =
          bounded_size || (designs[i].least_units > 1 && designs[i].verdict != Verdict::bound);
      bounded_latency = bounded_latency || designs[i].verdict == Verdict::bound;
    }
  }
  CHECK(bounded_size);
  CHECK(bounded_latency);
}

TEST_CASE("requests that react to answers are not bounded", "[plan]") {
  const PlanFolder folder(with(small_plan, "growth: 1.2\n", ""),
                          with(small_base, "{process: poisson, rate: 20/s}",
                               "{process: closed_loop, max_concurrency: 64}"));
  const Plan plan = folder.load();
  std::vector<Design> designs = Problem(plan, 1).designs();
  bound_sizes(Problem(plan, 1), designs, 1);
  for (const Design& design : designs) CHECK(design.least_units == 1);
}

TEST_CASE("load is scaled by rates, shapes and the speed of traces", "[plan]") {
  const config::Node root = config::parse_yaml("t", R"(
traffic:
  a: {arrival: {process: poisson, rate: 35/s}}
  b: {arrival: {rate: [{at: 0 s, rate: 10/s}, {at: 60 s, rate: 40/s, ramp: true}]}}
  c: {arrival: {rate: {profile: spike, base: 10/s, peak: 90/s, at: 60 s, duration: 30 s}}}
  d: {trace: {file: t.csv, format: csv, speedup: 2}}
  e: {trace: {file: t.csv, format: csv}}
)");
  CHECK(scaled_load(root, 2.0) ==
        std::vector<std::string>{
            "traffic.a.arrival.rate=70/s",
            "traffic.b.arrival.rate=[{at: 0 s, rate: 20/s}, {at: 60 s, rate: 80/s, ramp: true}]",
            "traffic.c.arrival.rate={profile: spike, base: 20/s, peak: 180/s, at: 60 s, duration: "
            "30 s}",
            "traffic.d.trace.speedup=4", "traffic.e.trace.speedup=2"});
  CHECK(scaled_load(root, 1.0).empty());
}
