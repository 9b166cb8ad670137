// The pairs of scenarios/pitfalls and scenarios/mla: wrong against right by closed forms.
#include "tests/scenario/support.hpp"

using namespace tokenline;
using namespace tokenline::scenario_test;

TEST_CASE("the kernel of prefill hardly moves the time per token, bytes do", "[pitfalls]") {
  const StudyRuns ran("scenarios/pitfalls/attention_kernel.yaml");
  const auto tpot = [&](const char* name) { return ran(name, "chat.mean_tpot_ms"); };
  CHECK(ran("wrong: fa3", "chat.mean_ttft_ms") < 0.85 * ran("wrong: naive", "chat.mean_ttft_ms"));
  CHECK(tpot("wrong: fa3") > 0.98 * tpot("wrong: naive"));
  // Weights, and KV of 24 contexts of 2000 tokens in the mean: 2 · 32 layers · 32 or 8 heads · 128
  // values of two bytes per token.
  const double weights = 6.74e9 * 2.0;
  const double kv = 24.0 * 2000.0 * 2.0 * 32.0 * 32.0 * 128.0 * 2.0;
  const double bytes = (weights + kv) / (weights + kv / 4.0);
  const double faster = tpot("wrong: naive") / tpot("right: grouped heads");
  CHECK(faster < bytes);
  CHECK(faster > 0.85 * bytes);
}

TEST_CASE("a batch limit beyond the pool preempts, and yields nothing", "[pitfalls]") {
  const StudyRuns ran("scenarios/pitfalls/batch_limit.yaml");
  CHECK(ran("wrong: 256", "chat.preemptions") > 1000.0);
  CHECK(ran("right: 48", "chat.preemptions") == 0.0);
  CHECK(ran("wrong: 256", "chat.max_itl_ms") > 100.0 * ran("right: 48", "chat.max_itl_ms"));
  CHECK(ran("wrong: 256", "chat.p99_tpot_ms") > 3.0 * ran("right: 56", "chat.p99_tpot_ms"));
  CHECK(ran("wrong: 256", "chat.output_throughput") < ran("right: 56", "chat.output_throughput"));
}

TEST_CASE("streams freeze for a whole prompt, and for a chunk", "[pitfalls]") {
  const StudyRuns ran("scenarios/pitfalls/mixed_lengths.yaml");
  // Products and causal attention of 60,000 tokens at the peak of an H100: no freeze is shorter.
  const double tokens = 60'000.0;
  const double flops = 2.0 * 6.98e9 * tokens + 32.0 * 4.0 * 32.0 * 128.0 * tokens * tokens / 2.0;
  const double least_ms = flops / 989.4e12 * 1e3;
  CHECK(ran("wrong: whole", "chat.max_itl_ms") > least_ms);
  CHECK(ran("wrong: whole", "chat.max_itl_ms") < 2.0 * least_ms);
  CHECK(ran("right: chunks of 512", "chat.max_itl_ms") < 50.0);
}

TEST_CASE("latent attention pays from a number of tokens in the batch on", "[mla]") {
  const StudyRuns ran("scenarios/mla/study.yaml");
  const auto step = [&](const std::string& name) { return ran(name, "chat.median_itl_ms"); };
  CHECK(step("2000 tokens x 1 MLA") > step("2000 tokens x 1 MHA"));
  CHECK(step("2000 tokens x 64 MLA") < step("2000 tokens x 64 MHA"));
  CHECK(step("200 tokens x 64 MLA") > step("200 tokens x 64 MHA"));
  CHECK(step("8000 tokens x 16 MLA") < step("8000 tokens x 16 MHA"));
  // 2 · 16 heads · 128 values against 512 + 64.
  CHECK(ran("2000 tokens x 64 MHA", "instances.kv_peak_fraction") /
            ran("2000 tokens x 64 MLA", "instances.kv_peak_fraction") ==
        Approx(4096.0 / 576.0).epsilon(0.02));
}
