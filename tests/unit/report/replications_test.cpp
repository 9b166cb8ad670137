#include "sim/report/replications.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/report/metric.hpp"
#include "sim/report/parallel.hpp"
#include "sim/report/run_directory.hpp"
#include "tests/support/random_scenario.hpp"
#include "tests/support/scratch.hpp"

using namespace tokenline;
using namespace tokenline::report;
using Catch::Contains;

namespace {

/// A chat service at about half of what it carries, and classes with few long prompts.
constexpr std::string_view service = R"(scenario: service
model: llama-3.1-8b
cluster: {gpu: h100_sxm}
engine: {preset: vllm-v1, max_model_len: 8192, max_num_seqs: 16}
traffic:
  chat:
    arrival: {process: poisson, rate: 6/s}
    num_prompts: 60
    prompt_tokens: {distribution: lognormal, mean: 800, sigma: 0.8, max: 4000}
    output_tokens: 100
  batch: {arrival: {process: poisson, rate: 0.5/s}, num_prompts: 4, prompt_tokens: 6000, output_tokens: 10}
)";

class ReplicatedStudy {
 public:
  explicit ReplicatedStudy(const std::string& variants) {
    write_file(folder_ / "service.yaml", service);
    text_ =
        "study: s\nbase: service.yaml\n"
        "columns: [all.mean_e2el_ms, chat.p99_ttft_ms, instances.steps]\n"
        "rank_by: all.mean_e2el_ms\nvariants:\n" +
        variants;
  }

  [[nodiscard]] Replicated run(const ReplicationOptions& options, std::uint64_t first = 0) const {
    return replicate(
        [&](std::uint64_t shift) { return parse_study(folder_ / "s.yaml", text_, first + shift); },
        options);
  }

 private:
  Scratch folder_;
  std::string text_;
};

const PairedFigure& figure(const ReplicatedVariant& variant, const std::string& metric) {
  for (const PairedFigure& f : variant.figures)
    if (f.metric == metric) return f;
  FAIL(metric);
  return variant.figures.front();
}

ReplicationOptions five() {
  ReplicationOptions options;
  options.count = 5;
  options.threads = hardware_threads();
  return options;
}

}  // namespace

TEST_CASE("outputs that are 3 percent shorter are better, request by request", "[replications]") {
  const ReplicatedStudy study(
      "  - {name: a}\n  - {name: b, set: {traffic.chat.output_tokens: 97}}\n");
  const Replicated all = study.run(five());
  REQUIRE(all.variants.size() == 2);
  CHECK(all.variants[0].figures.empty());
  const PairedFigure& e2el = figure(all.variants[1], "all.mean_e2el_ms");
  CHECK(e2el.evidence == PairedVerdict::better);
  CHECK(e2el.difference.high < 0.0);
  CHECK(e2el.difference.estimate == Approx(e2el.mean - e2el.first));
  CHECK(figure(all.variants[1], "chat.mean_e2el_ms").evidence == PairedVerdict::better);
}

TEST_CASE("a variant that is the first one differs in nothing", "[replications]") {
  const Replicated all = ReplicatedStudy("  - {name: a}\n  - {name: b}\n").run(five());
  for (const PairedFigure& f : all.variants[1].figures) {
    CHECK(f.evidence == PairedVerdict::none);
    CHECK(f.difference.low == 0.0);
    CHECK(f.difference.high == 0.0);
  }
  std::uint64_t pairs = 0;
  for (const LengthShift& shift : all.variants[1].shifts) {
    CHECK(shift.faster + shift.slower == 0);
    pairs += shift.pairs;
  }
  CHECK(pairs == 5 * 64);
  CHECK(all.variants[1].unpaired == 0);
}

TEST_CASE("the same service with other seeds gives no evidence 93 times of a hundred",
          "[replications]") {
  const ReplicatedStudy study("  - {name: a}\n  - {name: b, set: {seed: 500000}}\n");
  int none = 0;
  const auto sets = static_cast<std::uint64_t>(test::sample(100));
  for (std::uint64_t set = 0; set < sets; ++set) {
    const Replicated all = study.run(five(), 1000 * set);
    none += figure(all.variants[1], "all.mean_e2el_ms").evidence == PairedVerdict::none;
  }
  if (test::sanitized) return;  // A quarter of the sets says less.
  CHECK(none >= 93);
}

TEST_CASE("who wins and who loses is told by the length of the prompts", "[replications]") {
  // A small budget of tokens per step: long prompts wait for it, decodes are stalled less.
  const Replicated all =
      ReplicatedStudy("  - {name: a}\n  - {name: b, set: {engine.max_num_batched_tokens: 512}}\n")
          .run(five());
  const LengthShift* long_prompts = nullptr;
  for (const LengthShift& shift : all.variants[1].shifts)
    if (shift.class_name == "batch") long_prompts = &shift;
  REQUIRE(long_prompts != nullptr);
  CHECK(long_prompts->from_tokens == 2048);
  CHECK(long_prompts->to_tokens == 8192);
  CHECK(long_prompts->pairs == 20);
  CHECK(long_prompts->mean_ttft_change_ms > 0.0);
}

TEST_CASE("what takes in more than it serves is saturated, and nothing else", "[replications]") {
  const Replicated all =
      ReplicatedStudy("  - {name: a}\n  - {name: b, set: {traffic.chat.arrival.rate: 200/s}}\n")
          .run(five());
  for (const ClassGrowth& growth : all.variants[0].steadiness.growth) CHECK_FALSE(growth.saturated);
  bool chat = false;
  for (const ClassGrowth& growth : all.variants[1].steadiness.growth)
    if (growth.class_name == "chat") chat = growth.saturated;
  CHECK(chat);
  CHECK_THAT(replications_text(all), Contains("SATURATED"));
}

TEST_CASE("precision adds replications until the interval is that tight", "[replications]") {
  const ReplicatedStudy study("  - {name: a}\n  - {name: b, set: {seed: 500000}}\n");
  ReplicationOptions options = five();
  options.precision = 0.05;
  const Replicated all = study.run(options);
  REQUIRE(all.reached);
  CHECK(all.count >= 10);
  const PairedFigure& e2el = figure(all.variants[1], "all.mean_e2el_ms");
  CHECK(e2el.difference.half_width() <= 0.05 * e2el.first);
  options.most = 10;
  options.precision = 0.0001;
  CHECK_FALSE(study.run(options).reached);
}

TEST_CASE("replications are the same for any number of threads", "[replications]") {
  const ReplicatedStudy study("  - {name: a}\n  - {name: b, set: {engine.block_size: 32}}\n");
  ReplicationOptions options = five();
  options.precision = 0.5;
  options.drop_warm_up = true;
  options.threads = 1;
  const std::string one = replications_json(study.run(options));
  options.threads = 7;
  CHECK(replications_json(study.run(options)) == one);
  CHECK(nlohmann::json::parse(one).at("variants").size() == 2);
}

TEST_CASE("less is better of latencies, more of throughput, and neither of steps",
          "[replications]") {
  CHECK(good_side("p99_ttft_ms") == -1);
  CHECK(good_side("failed") == -1);
  CHECK(good_side("request_goodput") == 1);
  CHECK(good_side("completed") == 1);
  CHECK(good_side("steps") == 0);
}
