#include "tests/scenario/support.hpp"
#include "tools/sweep/sweep.hpp"

using namespace tokenline;
using namespace tokenline::scenario_test;

namespace {

/// Every YAML below scenarios/ with the key `kind`: "scenario", "study", "plan", "sweep", or
/// "nics" of a fabric.
std::vector<std::string> files_of(const std::string& kind) {
  std::vector<std::string> found;
  for (const std::string& file : files_below(source("scenarios"))) {
    if (!file.ends_with(".yaml")) continue;
    const config::Node root = config::load_yaml(source("scenarios/" + file));
    if (root.find(kind) != nullptr) found.push_back("scenarios/" + file);
  }
  return found;
}

/// The YAML blocks of a Markdown file that begin with a key.
std::vector<std::string> yaml_blocks(const std::string& file, const std::string& key) {
  static const std::string open = "```yaml\n";
  const std::string text = config::read_file(source(file));
  std::vector<std::string> blocks;
  for (auto at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
    at += open.size();
    std::string block = text.substr(at, text.find("```", at) - at);
    if (block.starts_with(key + ":")) blocks.push_back(std::move(block));
  }
  return blocks;
}

/// What a test changes of a file, to stay within its time in every build.
Overrides shortened(const std::string& file) {
  if (file == "scenarios/bench/million_requests.yaml") return {"traffic.short.num_prompts=20000"};
  return {};
}

}  // namespace

TEST_CASE("every YAML file here is a scenario, study, plan, sweep or a fabric that scenarios name",
          "[scenario]") {
  const std::vector<std::string> files = files_below(source("scenarios"));
  const auto yaml = std::ranges::count_if(files, [](const std::string& file) {
    return std::filesystem::path(file).extension() == ".yaml";
  });
  CHECK(files_of("scenario").size() + files_of("study").size() + files_of("plan").size() +
            files_of("sweep").size() + files_of("nics").size() ==
        static_cast<std::size_t>(yaml));
}

TEST_CASE("every scenario passes its audit and keeps its asserts", "[scenario]") {
  const std::vector<std::string> files = files_of("scenario");
  CHECK(files.size() >= 5);
  for (const std::string& file : files) {
    INFO(file);
    const Ran ran = run_file(file, shortened(file));
    CHECK(ran.requests_csv.find(",completed,") != std::string::npos);
    for (const report::AssertResult& result : ran.summary.asserts) {
      INFO(result.condition << " is " << result.value.value_or(-1));
      CHECK(result.passed);
    }
  }
}

TEST_CASE("every point of every sweep is a scenario", "[scenario]") {
  for (const std::string& file : files_of("sweep")) {
    INFO(file);
    CHECK_FALSE(sweep::load_sweep(source(file)).points.empty());
  }
}

TEST_CASE("every variant of every study passes its audit and keeps its asserts", "[scenario]") {
  const std::vector<std::string> files = files_of("study");
  CHECK(files.size() >= 2);
  for (const std::string& file : files) {
    INFO(file);
    report::Study study = report::load_study(source(file));
    const report::Comparison comparison = report::compare(study, {.threads = 2, .out = {}});
    CHECK(comparison.variants.size() == study.variants.size());
    for (const report::VariantResult& variant : comparison.variants) {
      INFO(variant.name);
      CHECK(variant.summary.audit.passed);
      CHECK(variant.summary.asserts_passed());
    }
  }
}

TEST_CASE("the first scenario keeps its promise on an H100 and breaks it on an A100",
          "[scenario]") {
  const std::string file = "scenarios/quickstart.yaml";
  const Ran kept = run_file(file);
  REQUIRE(kept.summary.asserts.size() == 2);
  CHECK(kept.summary.asserts_passed());
  CHECK_FALSE(run_file(file, {"cluster.gpu=a100_sxm_80gb"}).summary.asserts_passed());
  CHECK_FALSE(run_file(file, {"traffic.chat.arrival.rate=20/s"}).summary.asserts_passed());
}

TEST_CASE("the examples of the README run", "[scenario]") {
  const std::string readme = "scenarios/README.md";
  const std::vector<std::string> scenarios = yaml_blocks(readme, "scenario");
  REQUIRE(scenarios.size() == 1);
  const Ran ran = run_scenario(parse_scenario(source(readme), scenarios.front()));
  CHECK(ran.summary.asserts_passed());
  const std::vector<std::string> studies = yaml_blocks(readme, "study");
  REQUIRE(studies.size() == 1);
  report::Study study = report::parse_study(source(readme), studies.front());
  const report::Comparison comparison = report::compare(study, {.threads = 2, .out = {}});
  CHECK(comparison.audits_passed());
  for (const report::ClaimResult& claim : comparison.claims) CHECK(claim.confirmed);
}
