#include "sim/report/study.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "sim/report/run_directory.hpp"
#include "tests/support/scratch.hpp"
#include "tests/unit/report/builders.hpp"

using namespace tokenline;
using namespace tokenline::report;
using Catch::Contains;

namespace {

/// A folder with the small scenario as base.yaml.
class StudyFolder {
 public:
  StudyFolder() { add("base.yaml", std::string(small_scenario)); }
  void add(const std::string& name, const std::string& text) const {
    write_file(scratch_ / name, text);
  }
  [[nodiscard]] Study parse(const std::string& text) const {
    return parse_study(scratch_ / "study.yaml", text);
  }
  /// The report of a study's mistakes, with paths relative to the folder.
  [[nodiscard]] std::string mistakes(const std::string& text) const {
    try {
      static_cast<void>(parse(text));
    } catch (const config::ConfigError& e) {
      std::string report = e.what();
      const std::string folder = scratch_.path() + "/";
      for (auto at = report.find(folder); at != std::string::npos; at = report.find(folder))
        report.erase(at, folder.size());
      return report;
    }
    return {};
  }

 private:
  Scratch scratch_;
};

}  // namespace

TEST_CASE("a study's variants are its base with their overrides", "[report]") {
  const Study study = StudyFolder().parse(R"(study: s
base: base.yaml
columns: [chat.p99_ttft_ms]
variants:
  - name: as it is
  - {name: other seed, set: {seed: 7, engine.block_size: 32}, note: why not, rank: false}
claims:
  - {what: w, variant: other seed, metric: chat.mean_ttft_ms, at_most: 5, evidence: [all.failed]}
)");
  REQUIRE(study.variants.size() == 2);
  CHECK(study.variants[0].scenario.seed == 42);
  CHECK(study.variants[1].scenario.seed == 7);
  CHECK(study.variants[1].scenario.engine.block_size == 32);
  CHECK(study.variants[0].ranked);
  CHECK_FALSE(study.variants[1].ranked);
  CHECK(study.variants[1].note == "why not");
  REQUIRE(study.plan.claims.size() == 1);
  CHECK(study.plan.claims[0].variant == 1);
  CHECK(study.plan.claims[0].kind == Claim::Kind::at_most);
  CHECK_FALSE(study.plan.rank_by);
}

TEST_CASE("a mistake in an override is at its line of the study, with the variant", "[report]") {
  const std::string report = StudyFolder().mistakes(R"(study: s
base: base.yaml
columns: [chat.p99_ttft_ms]
variants:
  - name: fine
  - name: wrong
    set:
      engine.scheduler: chunkd
      engine.block_siz: 32
)");
  CHECK_THAT(report, Contains("study.yaml:8:25: error: engine.scheduler: "));
  CHECK_THAT(report, Contains("(variant 'wrong')"));
  CHECK_THAT(report, Contains("did you mean 'chunked'?"));
  CHECK_THAT(report, Contains("study.yaml:9:25: error: engine.block_siz: unknown key"));
  CHECK_THAT(report, !Contains("variant 'fine'"));
}

TEST_CASE("a mistake of a shared base is reported once", "[report]") {
  const StudyFolder folder;
  folder.add("base.yaml", std::string(small_scenario) + "bogus: 1\n");
  const std::string report = folder.mistakes(
      "study: s\nbase: base.yaml\ncolumns: [all.completed]\nvariants: [{name: a}, {name: b}]\n");
  const std::string message = "unknown key (variant 'a')";
  CHECK_THAT(report, Contains(message));
  CHECK_THAT(report, !Contains("variant 'b'"));
}

TEST_CASE("metrics that do not exist are located and met with a suggestion", "[report]") {
  const std::string report = StudyFolder().mistakes(R"(study: s
base: base.yaml
columns: [chat.p99_ttft_ms, chat.p99_tft_ms]
rank_by: caht.p99_ttft_ms
variants: [{name: a}, {name: b}]
claims:
  - {what: w, variant: a, metric: chat.mean_ttf_ms, claimed: 1, evidence: [instances.restart]}
)");
  CHECK_THAT(report, Contains("study.yaml:3:29: error: columns[1]: no metric 'p99_tft_ms'"));
  CHECK_THAT(report, Contains("study.yaml:4:10: error: rank_by: no class 'caht'"));
  CHECK_THAT(report, Contains("study.yaml:7:35: error: claims[0].metric: no metric"));
  CHECK_THAT(report, Contains("error: claims[0].evidence[0]: no metric 'restart' of instances"));
  CHECK_THAT(report, Contains("did you mean 'restarts'?"));
  // Once, not once per variant.
  CHECK(report.find("rank_by") == report.rfind("rank_by"));
}

TEST_CASE("a column may be empty for some variants", "[report]") {
  const StudyFolder folder;
  std::string other(small_scenario);
  other.replace(other.find("  batch:"), 8, "  other:");
  folder.add("other.yaml", other);
  const std::string text =
      "study: s\nbase: base.yaml\ncolumns: [batch.completed]\n"
      "variants: [{name: a}, {name: b, base: other.yaml, rank: false}]\n";
  CHECK(folder.mistakes(text).empty());
  CHECK_THAT(folder.mistakes(text + "claims: [{what: w, variant: b, metric: batch.completed, "
                                    "claimed: 1}]\n"),
             Contains("no class 'batch' (variant 'b')"));
}

TEST_CASE("names of variants are unique and claims name one of them", "[report]") {
  const std::string report = StudyFolder().mistakes(R"(study: s
base: base.yaml
columns: [all.completed]
variants: [{name: first}, {name: first}]
claims: [{what: w, variant: frist1, metric: all.failed, claimed: 1}]
)");
  CHECK_THAT(report,
             Contains("study.yaml:4:34: error: variants[1].name: there is another variant"));
  CHECK_THAT(report, Contains("study.yaml:5:29: error: claims[0].variant: there is no variant"));
}

TEST_CASE("a base must be given and exist", "[report]") {
  const StudyFolder folder;
  CHECK_THAT(folder.mistakes("study: s\ncolumns: [all.completed]\nvariants: [{name: a}]\n"),
             Contains("study.yaml:3:12: error: variants[0]: no scenario"));
  CHECK_THAT(folder.mistakes("study: s\nbase: nope.yaml\ncolumns: [all.completed]\nvariants: "
                             "[{name: a}, {name: b}]\n"),
             Contains("study.yaml:2:7: error: base: there is no file 'nope.yaml'"));
}

TEST_CASE("a claim states exactly one figure", "[report]") {
  const StudyFolder folder;
  const std::string start =
      "study: s\nbase: base.yaml\ncolumns: [all.completed]\nvariants: [{name: a}]\n"
      "claims: [{what: w, variant: a, metric: all.failed";
  CHECK_THAT(folder.mistakes(start + "}]\n"), Contains("exactly one of claimed"));
  CHECK_THAT(folder.mistakes(start + ", claimed: 1, at_most: 2}]\n"),
             Contains("exactly one of claimed"));
  CHECK_THAT(folder.mistakes(start + ", at_most: 2, tolerance: 0.1}]\n"),
             Contains("only `claimed` has a tolerance"));
  CHECK(folder.mistakes(start + ", claimed: 1, tolerance: 0.1}]\n").empty());
}

TEST_CASE("unknown keys of a study, a variant and a claim are mistakes", "[report]") {
  const std::string report = StudyFolder().mistakes(R"(study: s
base: base.yaml
columns: [all.completed]
colums: []
variants: [{name: a, nme: b}]
claims: [{what: w, variant: a, metric: all.failed, claimed: 1, y: 2}]
)");
  CHECK_THAT(report, Contains("study.yaml:4:1: error: colums: unknown key"));
  CHECK_THAT(report, Contains("study.yaml:5:22: error: variants[0].nme: unknown key"));
  CHECK_THAT(report, Contains("study.yaml:6:64: error: claims[0].y: unknown key"));
}

TEST_CASE("the keys of a study are described, those inside lists too", "[report]") {
  const auto keys = study_keys();
  for (const char* path : {"study", "variants[].set", "claims[].at_least", "claims[].evidence"})
    CHECK(std::ranges::find(keys, path, &config::KeyInfo::path) != keys.end());
}
