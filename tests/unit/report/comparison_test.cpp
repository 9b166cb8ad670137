#include "sim/report/comparison.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/report/parallel.hpp"
#include "sim/report/run_directory.hpp"
#include "tests/support/scratch.hpp"
#include "tests/unit/report/builders.hpp"

using namespace tokenline;
using namespace tokenline::report;
using namespace std::chrono_literals;
using Catch::Contains;

namespace {

/// A variant whose only request has this TTFT; none without.
VariantResult variant(const std::string& name, std::optional<Duration> ttft, bool ranked = true) {
  RunResult run = run_of({"chat"});
  if (ttft) run.log.records.push_back(completed({.ttft = *ttft, .e2el = *ttft + ms(100)}));
  VariantResult result{.name = name, .note = {}, .ranked = ranked, .summary = {}};
  result.summary.classes = summarize_classes(run, {});
  return result;
}

Claim claim(Claim::Kind kind, double figure, double tolerance = 0.0) {
  Claim stated;
  stated.metric = "chat.mean_ttft_ms";
  stated.kind = kind;
  stated.figure = figure;
  stated.tolerance = tolerance;
  return stated;
}

std::string write_study(const Scratch& scratch) {
  write_file(scratch / "base.yaml", small_scenario);
  write_file(scratch / "study.yaml", R"(study: seeds
base: base.yaml
columns: [chat.p99_ttft_ms, batch.mean_tpot_ms]
rank_by: chat.p99_ttft_ms
variants:
  - {name: one seed, set: {seed: 1}}
  - {name: two/seeds, set: {seed: 2}}
  - {name: two seeds, set: {seed: 3}, rank: false, note: kept apart}
claims:
  - {what: it is slow, variant: one seed, metric: chat.mean_ttft_ms, at_least: 1000000,
     why: "It is not.", evidence: [all.completed]}
)");
  return scratch / "study.yaml";
}

}  // namespace

TEST_CASE("variants rank by their metric, ties in the order of the study, gaps last", "[report]") {
  StudyPlan plan;
  plan.rank_by = "chat.mean_ttft_ms";
  const std::vector<VariantResult> variants{variant("a", ms(300)), variant("none", std::nullopt),
                                            variant("b", ms(100)), variant("apart", ms(1), false),
                                            variant("c", ms(100))};
  CHECK(rank(plan, variants) == std::vector<std::size_t>{2, 4, 0, 1});
  plan.descending = true;
  CHECK(rank(plan, variants) == std::vector<std::size_t>{0, 2, 4, 1});
  plan.rank_by.reset();
  CHECK(rank(plan, variants) == std::vector<std::size_t>{0, 1, 2, 4});
}

TEST_CASE("then_by orders what rank_by leaves equal", "[report]") {
  StudyPlan plan;
  plan.rank_by = "chat.completed";
  plan.then_by = "chat.mean_ttft_ms";
  CHECK(rank(plan, {variant("a", ms(300)), variant("b", ms(100))}) ==
        std::vector<std::size_t>{1, 0});
}

TEST_CASE("the factor of a variant is its metric over that of the first", "[report]") {
  Comparison comparison;
  comparison.variants = {variant("a", ms(400)), variant("b", ms(100)),
                         variant("none", std::nullopt)};
  CHECK_FALSE(comparison.factor(0));
  comparison.plan.rank_by = "chat.mean_ttft_ms";
  CHECK(comparison.factor(0) == 1.0);
  CHECK(comparison.factor(1) == 0.25);
  CHECK_FALSE(comparison.factor(2));
}

TEST_CASE("a claim is confirmed within its tolerance, the bounds included", "[report]") {
  const VariantResult simulated = variant("a", ms(125));
  using Kind = Claim::Kind;
  CHECK(judge(claim(Kind::about, 100, 0.25), simulated).confirmed);
  CHECK_FALSE(judge(claim(Kind::about, 100, 0.24), simulated).confirmed);
  CHECK(judge(claim(Kind::at_least, 125), simulated).confirmed);
  CHECK_FALSE(judge(claim(Kind::at_least, 126), simulated).confirmed);
  CHECK(judge(claim(Kind::at_most, 125), simulated).confirmed);
  CHECK_FALSE(judge(claim(Kind::at_most, 124), simulated).confirmed);
  CHECK(judge(claim(Kind::about, 100), simulated).ratio == 1.25);
}

TEST_CASE("a claim about what was not simulated differs", "[report]") {
  const auto result = judge(claim(Claim::Kind::at_most, 1e9), variant("a", std::nullopt));
  CHECK_FALSE(result.confirmed);
  CHECK_FALSE(result.simulated);
  CHECK_FALSE(result.ratio);
}

TEST_CASE("a latency is explained by the ledger of its own kind", "[report]") {
  const Summary summary = variant("a", ms(50)).summary;
  // builders.hpp: TTFT is half waiting, half prefill; the rest is decoding.
  CHECK(ledger_of(summary, "chat.p99_ttft_ms").size() == 2);
  CHECK(ledger_of(summary, "chat.mean_e2el_ms").front().part == Part::decode_floor);
  const auto decoding = ledger_of(summary, "chat.mean_tpot_ms");
  REQUIRE(decoding.size() == 1);
  CHECK(decoding[0].part == Part::decode_floor);
  CHECK(decoding[0].fraction == 1.0);
  CHECK(ledger_of(summary, "chat.completed").empty());
  CHECK(ledger_of(summary, "instances.restarts").empty());
}

TEST_CASE("a study gives the same bytes on any number of threads", "[report]") {
  const Scratch scratch;
  const std::string file = write_study(scratch);
  Study one = load_study(file);
  Study many = load_study(file);
  const Comparison a = compare(one, {.threads = 1, .out = scratch / "one"});
  const Comparison b = compare(many, {.threads = 3, .out = scratch / "many"});
  CHECK(comparison_json(a) == comparison_json(b));
  CHECK(comparison_text(a) == comparison_text(b));
  CHECK(config::read_file(scratch / "one/compare.json") == comparison_json(a));
  for (const char* folder : {"one-seed", "two-seeds", "two-seeds-2"})
    for (const char* name : {"config.yaml", "summary.json", "requests.csv"})
      CHECK(config::read_file(scratch / "one/" + folder + "/" + name) ==
            config::read_file(scratch / "many/" + folder + "/" + name));
}

TEST_CASE("a variant called like the file of the comparison has another folder", "[report]") {
  const Scratch scratch;
  write_file(scratch / "base.yaml", small_scenario);
  write_file(scratch / "study.yaml",
             "study: s\nbase: base.yaml\ncolumns: [all.completed]\n"
             "variants: [{name: compare.json}]\n");
  Study study = load_study(scratch / "study.yaml");
  const Comparison comparison = compare(study, {.threads = 1, .out = scratch / "out"});
  CHECK(config::read_file(scratch / "out/compare.json") == comparison_json(comparison));
  CHECK(std::filesystem::exists(scratch / "out/compare.json-2/summary.json"));
  CHECK_NOTHROW(
      compare(study = load_study(scratch / "study.yaml"), {.threads = 1, .out = scratch / "out"}));
}

TEST_CASE("a comparison does not write where a variant reads", "[report]") {
  const Scratch scratch;
  const std::string traffic =
      "model: llama-3.1-8b\ncluster: {gpu: h100_sxm}\nengine: {max_model_len: 4096}\n"
      "traffic: {again: {trace: {file: out/a/requests.csv, format: csv}}}\n";
  write_file(scratch / "base.yaml", small_scenario);
  write_file(scratch / "replay.yaml", "scenario: replay\n" + traffic);
  write_file(scratch / "study.yaml",
             "study: s\ncolumns: [all.completed]\n"
             "variants: [{name: a, base: base.yaml}]\n");
  Study first = load_study(scratch / "study.yaml");
  static_cast<void>(compare(first, {.threads = 1, .out = scratch / "out"}));
  write_file(scratch / "study.yaml",
             "study: s\ncolumns: [all.completed]\n"
             "variants: [{name: a, base: base.yaml}, {name: b, base: replay.yaml}]\n");
  Study second = load_study(scratch / "study.yaml");
  CHECK_THROWS_WITH(compare(second, {.threads = 1, .out = scratch / "out"}),
                    Contains("requests.csv"));
}

TEST_CASE("the text of a comparison holds claims, ranking and verdicts", "[report]") {
  const Scratch scratch;
  Study study = load_study(write_study(scratch));
  const Comparison comparison = compare(study, {.threads = 2, .out = {}});
  const std::string text = comparison_text(comparison);
  CHECK_THAT(text, Contains("differs: it is slow (claimed >= 1000000 ms"));
  CHECK_THAT(text, Contains("\n  It is not.\n  simulated: all.completed = 50\n  ledger: "));
  CHECK_THAT(text, Contains("Ranked by chat.p99_ttft_ms, smallest first"));
  CHECK_THAT(text, Contains("Not ranked"));
  CHECK_THAT(text, Contains("two seeds: kept apart"));
  CHECK_THAT(text, Contains("audits: passed in all 3 runs"));
  const auto json = nlohmann::json::parse(comparison_json(comparison));
  CHECK(json["claims"][0]["verdict"] == "differs");
  CHECK(json["ranking"].size() == 2);
  CHECK(json["unranked"][0]["variant"] == "two seeds");
  CHECK(json["variants"][0]["summary"]["classes"]["all"]["completed"] == 50);
}

TEST_CASE("a folder's name keeps letters and digits and is never empty or hidden", "[report]") {
  CHECK(slug("chunked prefill 512") == "chunked-prefill-512");
  CHECK(slug("../a//b") == "a-b");
  CHECK(slug("fa3 → fa2") == "fa3-fa2");
  CHECK(slug("…") == "variant");
}

TEST_CASE("every index is done once, and the first failure in order is thrown", "[report]") {
  std::vector<int> done(100, 0);
  CHECK_THROWS_WITH(for_each_index(done.size(), 4,
                                   [&](std::size_t i) {
                                     ++done[i];
                                     if (i % 30 == 10) throw std::runtime_error(std::to_string(i));
                                   }),
                    "10");
  CHECK(done == std::vector<int>(100, 1));
  for_each_index(0, 4, [](std::size_t) { throw std::runtime_error("never"); });
}
