#include <nlohmann/json.hpp>

#include "sim/report/run_directory.hpp"
#include "tests/scenario/support.hpp"

using namespace tokenline;
using namespace tokenline::scenario_test;

namespace {

/// The summary without what changes with every release or new key.
std::string expected_summary(const report::Summary& summary) {
  auto json = nlohmann::ordered_json::parse(report::summary_json(summary));
  json.erase("tokenline");
  json.erase("config_sha256");
  return json.dump(2) + "\n";
}

std::vector<std::string> cases() {
  std::vector<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(source("tests/golden")))
    if (entry.is_directory()) folders.push_back(entry.path().string());
  std::ranges::sort(folders);
  return folders;
}

/// Holds a text against the approved file, or approves it.
void approve_or_compare(const std::string& file, const std::string& text) {
  INFO(file << ": after a wanted change, run this test with TOKENLINE_APPROVE=1");
  const char* approve = std::getenv("TOKENLINE_APPROVE");
  if (approve != nullptr && std::string_view(approve) == "1") report::write_file(file, text);
  REQUIRE(std::filesystem::exists(file));
  CHECK(difference(config::read_file(file), text) == "");
}

}  // namespace

TEST_CASE("golden cases give the approved summary and the approved requests", "[golden]") {
  REQUIRE(cases().size() >= 2);
  for (const std::string& folder : cases()) {
    const Ran ran = run_scenario(load_scenario(folder + "/scenario.yaml"));
    approve_or_compare(folder + "/summary.json", expected_summary(ran.summary));
    approve_or_compare(folder + "/requests.csv", ran.requests_csv);
  }
}

TEST_CASE("beside every golden case stands a law that has a test", "[golden]") {
  for (const std::string& folder : cases()) {
    INFO(folder);
    const std::string why = config::read_file(folder + "/WHY.md");
    const auto begin = why.find("`tests/");
    REQUIRE(begin != std::string::npos);
    const std::string test = why.substr(begin + 1, why.find('`', begin + 1) - begin - 1);
    INFO(test);
    CHECK(std::filesystem::exists(source(test)));
  }
}
