// What the replicas of a winner run, in vLLM's words.
#include "tools/plan/winner.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/plan/support.hpp"
#include "tools/vllm/from_vllm.hpp"

using namespace tokenline;
using namespace tokenline::plan;
using namespace tokenline::plan_test;
using Catch::Matchers::Contains;

namespace {

/// A plan of which a design with these overrides has won.
Result won(const PlanFolder& folder, std::vector<std::string> overrides) {
  Result result;
  result.plan = folder.load();
  result.designs.emplace_back().name = "won";
  result.winner = 0;
  result.overrides = std::move(overrides);
  return result;
}

}  // namespace

TEST_CASE("the command of a winner gives back the engine of each replica", "[plan]") {
  const PlanFolder folder;
  const Result result = won(folder, {"cluster.replicas=3", "engine.max_num_seqs=48"});
  const vllm::Commands commands = replica_commands(result);
  CHECK(commands.bench.empty());
  const std::vector<std::string> bench{
      "vllm", "bench", "serve", "--num-prompts", "1", "--input-len", "1", "--output-len", "1"};
  const std::string yaml = vllm::from_vllm(commands.serve, bench, {.gpu = "l40s"}).yaml;
  const Scenario again = parse_scenario("again.yaml", yaml);
  const Scenario winner = winner_scenario(result);
  CHECK(winner.cluster.replicas == 3);
  CHECK(again.cluster.replicas == 1);
  CHECK(again.engine.max_num_seqs == 48);
  CHECK(again.engine.max_num_batched_tokens == winner.engine.max_num_batched_tokens);
  CHECK(again.engine.max_model_len == winner.engine.max_model_len);
  CHECK(again.memory.blocks == winner.memory.blocks);
  CHECK_THAT(replica_commands_text(result), Contains("--max-num-seqs 48"));
  for (const vllm::Unsaid& key : commands.unsaid) CHECK_FALSE(key.path == "cluster.replicas");
}

TEST_CASE("what a command does not say of a winner is said beside it", "[plan]") {
  const PlanFolder folder;
  const std::string text =
      replica_commands_text(won(folder, {"cluster.replicas=2", "cluster.router=least_kv"}));
  CHECK_THAT(text, Contains("no flag says cluster.router: least_kv"));
  const PlanFolder pools(small_plan,
                         with(small_base, "cluster: {gpu: l40s}",
                              "cluster:\n  gpu: l40s\n  network: {node: pcie_gen4, fabric: "
                              "ethernet_100g}\n  pools:\n    prefill: {role: prefill}\n    decode: "
                              "{role: decode}"));
  Result disaggregated;
  disaggregated.plan.name = "pools";
  disaggregated.plan.base = pools / "base.yaml";
  disaggregated.designs.emplace_back().name = "won";
  disaggregated.winner = 0;
  CHECK(replica_commands(disaggregated).serve.empty());
  CHECK_THAT(replica_commands_text(disaggregated),
             Contains("cluster.pools: no single command: a `vllm serve` per pool"));
}
