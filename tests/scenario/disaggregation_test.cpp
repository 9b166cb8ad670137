#include <algorithm>

#include "tests/scenario/support.hpp"

using namespace tokenline;
using namespace tokenline::scenario_test;

namespace {

constexpr const char* folder = "scenarios/disaggregation/";

Ran run_of(const std::string& file, const Overrides& overrides = {}) {
  return run_file(folder + file, overrides);
}

}  // namespace

TEST_CASE("the pitfall: over slow Ethernet the transfer eats what splitting gains",
          "[disaggregation]") {
  const Ran together = run_of("colocated.yaml");
  const Ran right = run_of("fast_network.yaml");
  const Ran wrong = run_of("slow_network.yaml");
  // Prefills stall decodes where both share a replica, and not where they are apart.
  CHECK(together["all.p99_itl_ms"] > 10.0 * right["all.p99_itl_ms"]);
  CHECK(right["all.goodput_fraction"] > together["all.goodput_fraction"] + 0.1);
  CHECK(wrong["all.goodput_fraction"] < 0.1);
  CHECK(wrong["all.mean_tpot_ms"] > 10.0 * together["all.mean_tpot_ms"]);
  // Both compute prompts alike: only the wire differs.
  CHECK(wrong["all.mean_ttft_ms"] == right["all.mean_ttft_ms"]);
}

TEST_CASE("a wire carries so many prompts as their KV fits through it, whatever the rate",
          "[disaggregation]") {
  // 25 Gb/s, 94.1 % of it payload, over 1.34 GB: 2.19 requests/s.
  const double carried = 0.941 * 3.125e9 / (4096.0 * 327'680.0);
  const Ran saturated = run_of("slow_network.yaml");
  // Before the first transfer a prompt is computed, and after the last an answer is decoded.
  CHECK(saturated["all.request_throughput"] == Approx(carried).epsilon(0.025));
  // Below it splitting works on slow Ethernet too, with half a second before the second token.
  const Ran below = run_of("slow_network.yaml",
                           {"traffic.chat.arrival.rate=1/s", "traffic.chat.num_prompts=100"});
  CHECK(below["all.request_throughput"] > 0.8);
  CHECK(below["transfers.median_wire_ms"] < 2.0 * 1e3 / carried);
}

TEST_CASE("with 8 KV heads a prompt's transfer never outlasts its prefill, with 64 up to 48K",
          "[disaggregation]") {
  const auto longer = [](std::int64_t thousand, bool heads_64) {
    const std::int64_t tokens = 1024 * thousand;
    Overrides overrides{fmt::format("traffic.prompts.prompt_tokens={}", tokens),
                        "traffic.prompts.num_prompts=1",
                        fmt::format("engine.max_model_len={}", tokens + 32),
                        fmt::format("engine.max_num_batched_tokens={}", tokens + 32)};
    if (heads_64)
      overrides.push_back("model=" + source("scenarios/p99_incident/llama-2-70b-mha.json"));
    const Ran ran = run_of("transfer.yaml", overrides);
    return ran["transfers.mean_wire_ms"] > ran["all.mean_ttft_ms"];
  };
  for (const std::int64_t thousand : {2, 32, 128}) CHECK_FALSE(longer(thousand, false));
  CHECK(longer(4, true));
  CHECK(longer(40, true));
  CHECK_FALSE(longer(56, true));
  CHECK_FALSE(longer(192, true));
}
