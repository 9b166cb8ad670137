#include <fmt/format.h>

#include "sim/report/advice.hpp"
#include "sim/report/parallel.hpp"
#include "tests/scenario/support.hpp"

using namespace tokenline;
using namespace tokenline::scenario_test;

namespace {

const std::string incident = "scenarios/p99_incident/incident.yaml";

/// A variant of the incident's study, as the study states it.
Ran run_variant(const std::string& name) {
  report::Study study = report::load_study(source("scenarios/p99_incident/study.yaml"));
  const auto found = std::ranges::find(study.variants, name, &report::Variant::name);
  INFO(name);
  REQUIRE(found != study.variants.end());
  return run_scenario(std::move(found->scenario));
}

}  // namespace

TEST_CASE("before the PDF prompts, chat is within what was reported", "[incident]") {
  const Ran normal = run_file("scenarios/p99_incident/normal.yaml");
  CHECK(normal["chat.mean_ttft_ms"] < 180.0);
  CHECK(normal["chat.mean_tpot_ms"] < 25.0);
  CHECK(normal["chat.output_throughput"] == Approx(35.0 * 100.0).epsilon(0.02));
}

TEST_CASE("with them, first tokens take seconds and streams freeze", "[incident]") {
  const Ran ran = run_file(incident);
  CHECK(ran["chat.mean_ttft_ms"] > 5'000.0);
  // At the edge of saturation a few per cent of capacity are tens of seconds of waiting.
  CHECK(ran["chat.mean_ttft_ms"] < 15'000.0);
  CHECK(ran["chat.mean_tpot_ms"] > 80.0);
  CHECK(ran["chat.mean_tpot_ms"] < 180.0);
  CHECK(ran["chat.max_itl_ms"] > 1'000.0);
  CHECK(ran["all.failed"] == 0.0);
}

TEST_CASE("the cause is the long prompts: without them the same file is the normal service",
          "[incident]") {
  const Ran calm = run_file(incident, {"traffic.pdf.stop=60.001 s"});
  const Ran normal = run_file("scenarios/p99_incident/normal.yaml");
  REQUIRE(calm["pdf.offered"] == 0.0);
  CHECK(calm["chat.mean_ttft_ms"] == normal["chat.mean_ttft_ms"]);
  CHECK(calm["chat.p99_itl_ms"] == normal["chat.p99_itl_ms"]);
}

TEST_CASE("chunks of 512 tokens cut the freezes at least five times", "[incident]") {
  const Ran whole = run_file(incident);
  const Ran chunked =
      run_file(incident, {"engine.scheduler=chunked", "engine.max_num_batched_tokens=512"});
  CHECK(5.0 * chunked["chat.p99_itl_ms"] <= whole["chat.p99_itl_ms"]);
}

TEST_CASE("smaller chunks stall streams less and take longer over long prompts", "[incident]") {
  double stall = 0.0;
  double prefill = std::numeric_limits<double>::infinity();
  for (const int tokens : {512, 1024, 2048}) {
    CAPTURE(tokens);
    const Ran ran = run_file(incident, {"engine.scheduler=chunked",
                                        fmt::format("engine.max_num_batched_tokens={}", tokens)});
    CHECK(ran["chat.p99_itl_ms"] > stall);
    CHECK(ran["pdf.mean_ttft_ms"] < prefill);
    stall = ran["chat.p99_itl_ms"];
    prefill = ran["pdf.mean_ttft_ms"];
  }
}

TEST_CASE("a pool sized without room for activations crashes again and again", "[incident]") {
  const Ran ran = run_variant("no activation room");
  CHECK(ran["instances.restarts"] >= 2.0);
  CHECK(ran["instances.hbm_peak_fraction"] > 0.98);
  CHECK(ran["instances.hbm_peak_fraction"] <= 1.0);
}

TEST_CASE("the same pool under a watermark never crashes", "[incident]") {
  const Ran ran = run_variant("no room, watermark 12 %");
  CHECK(ran["instances.restarts"] == 0.0);
  CHECK(ran["all.failed"] == 0.0);
}

TEST_CASE("each further replica lowers the P99 of the first token", "[incident]") {
  double previous = std::numeric_limits<double>::infinity();
  for (int replicas = 2; replicas <= 5; ++replicas) {
    CAPTURE(replicas);
    const Ran ran = run_file(incident, {fmt::format("cluster.replicas={}", replicas)});
    CHECK(ran["chat.p99_ttft_ms"] < previous);
    previous = ran["chat.p99_ttft_ms"];
  }
}

TEST_CASE("eight GPUs hold one key-value head each with eight heads or with one", "[incident]") {
  const Ran grouped = run_file(incident);
  const Ran single = run_file(incident, {"model=llama-2-70b-mqa.json"});
  CHECK(difference(single.requests_csv, grouped.requests_csv) == "");
}

TEST_CASE("of ten rules the incident breaks that of chunks, whose sizes cost it first tokens",
          "[incident]") {
  const report::Advice advice = report::advise(source(incident), {}, report::hardware_threads());
  std::vector<std::string_view> broken;
  for (const report::Finding& finding : advice.findings)
    if (finding.judgement.verdict == report::Verdict::broken) broken.push_back(finding.rule->name);
  // PDFs have no targets. Speculation and pools are not there to be judged.
  CHECK(broken == std::vector<std::string_view>{"chunked_prefill", "targets"});
  for (const report::Remedy& chunks : advice.findings[4].remedies) {
    INFO(chunks.proposal.name);
    CHECK(std::ranges::count(chunks.effect.better, "p99_itl_ms") == 1);
    CHECK(std::ranges::count(chunks.effect.worse, "p99_ttft_ms") == 1);
  }
}
