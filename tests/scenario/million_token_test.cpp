// A prompt of a million tokens: which designs hold it, and what it costs in them.
#include "tests/scenario/support.hpp"

using namespace tokenline;
using namespace tokenline::scenario_test;

namespace {

const std::string base = "scenarios/million_token/one_node.yaml";

/// A figure of the base with some values overridden.
double figure(const std::string& metric, const Overrides& overrides) {
  return run_scenario(load_scenario(source(base), {overrides}))[metric];
}

double ttft(const Overrides& overrides = {}) { return figure("long.mean_ttft_ms", overrides); }

std::string refusal(const Overrides& overrides) {
  try {
    (void)load_scenario(source(base), {overrides});
  } catch (const config::ConfigError& e) {
    return e.what();
  }
  return {};
}

const std::string tcp = "cluster.network.fabric=ethernet_100g";
const std::string whole = "engine.max_num_batched_tokens=1000000";

std::string ranks(int count) { return fmt::format("cluster.context_parallel_size={}", count); }

}  // namespace

TEST_CASE("context ranks divide the time to the first of a million tokens", "[million]") {
  const double one = ttft();
  // Measured on Llama-3-405B: 93 % of sixteen times (arXiv 2411.01783).
  for (const int count : {2, 8, 16}) {
    const double efficiency = one / (count * ttft({ranks(count)}));
    CHECK(efficiency > 0.93);
    CHECK(efficiency < 1.02);
  }
}

TEST_CASE(
    "a ring over TCP pays for every piece of the prompt, and hides its transfers in a whole one",
    "[million]") {
  const double one = ttft();
  CHECK(ttft({ranks(2), tcp}) > one);
  CHECK(ttft({ranks(2), tcp, whole}) < 0.52 * one);
  // With eight ranks the blocks are shorter than the wire needs even so.
  CHECK(ttft({ranks(8), tcp, whole}) > 0.2 * one);
}

TEST_CASE("decodes gain from two ranks and lose to the merging of many", "[million]") {
  const auto tpot = [](const Overrides& overrides) {
    return figure("long.mean_tpot_ms", overrides);
  };
  const double one = tpot({});
  CHECK(tpot({ranks(2)}) < one);
  CHECK(tpot({ranks(16)}) > tpot({ranks(4)}));
  CHECK(tpot({ranks(8), tcp}) > one);
}

TEST_CASE("designs too small for a million tokens are refused with the blocks they lack",
          "[million]") {
  const std::string lack = "a request of 1001000 tokens needs 62563 KV blocks; the pool has ";
  CHECK_THAT(refusal({"cluster.tensor_parallel_size=4"}), Catch::Contains(lack));
  CHECK_THAT(refusal({"model=../p99_incident/llama-2-70b-mha.json"}), Catch::Contains(lack));
  CHECK_THAT(refusal({whole}), Catch::Contains(lack));
  CHECK_THAT(refusal({"cluster.tensor_parallel_size=4", ranks(2)}), Catch::Contains(lack));
  CHECK(refusal({"cluster.tensor_parallel_size=4", ranks(4)}).empty());
}
