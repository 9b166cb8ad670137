// Static against continuous batching, by the real engine and policies.
#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>
#include <numeric>

#include "sim/engine/run.hpp"
#include "tests/support/scratch.hpp"

using namespace tokenline;

namespace {

constexpr std::array<std::int64_t, 16> output_lengths{12, 25, 37, 37, 11, 19, 40, 31,
                                                      40, 36, 33, 20, 5,  10, 12, 23};

/// Steps that the 16 requests take, all present from the start, four at a time.
std::int64_t steps_of(const std::string& scheduler) {
  const Scratch folder;
  std::string trace = "arrival_s,prompt_tokens,output_tokens\n";
  for (const std::int64_t output : output_lengths) trace += fmt::format("0,10,{}\n", output);
  folder.write("batch.csv", trace);
  Scenario s = parse_scenario(folder / "batch.yaml", fmt::format(R"(scenario: batching
model: llama-3.1-8b
cluster: {{gpu: h100_sxm}}
engine: {{preset: static, scheduler: {}, max_num_seqs: 4, max_model_len: 2048}}
traffic:
  lengths: {{trace: {{file: batch.csv, format: csv}}}}
)",
                                                                 scheduler));
  const RunResult result = run(s);
  REQUIRE(result.audit.passed);
  REQUIRE(result.log.records.size() == output_lengths.size());
  return result.instances[0].whole.steps;
}

}  // namespace

TEST_CASE("a static batch lasts as long as its longest answer", "[engine]") {
  // max(12,25,37,37) + max(11,19,40,31) + max(40,36,33,20) + max(5,10,12,23)
  CHECK(steps_of("static") == 37 + 40 + 40 + 23);
}

TEST_CASE("continuous batching refills each slot in the step after it is free", "[engine]") {
  // Four slots, each request in the slot that is free first.
  std::array<std::int64_t, 4> busy_until{};
  for (const std::int64_t output : output_lengths) *std::ranges::min_element(busy_until) += output;
  const std::int64_t expected = *std::ranges::max_element(busy_until);
  CHECK(expected == 111);
  CHECK(steps_of("orca") == expected);
  CHECK(steps_of("chunked") == expected);
}

TEST_CASE("continuous batching gets 3.52 instead of 2.79 tokens out of a step", "[engine]") {
  const auto tokens =
      std::accumulate(output_lengths.begin(), output_lengths.end(), std::int64_t{0});
  CHECK(tokens == 391);
  const auto rate = [&](const std::string& scheduler) {
    return static_cast<double>(tokens) / static_cast<double>(steps_of(scheduler));
  };
  CHECK(rate("static") == Approx(2.79).margin(0.005));
  CHECK(rate("orca") == Approx(3.52).margin(0.005));
  CHECK(rate("orca") / rate("static") == Approx(1.26).margin(0.005));
  CHECK(1.0 - 111.0 / 140.0 == Approx(0.2071).margin(0.00005));
}
