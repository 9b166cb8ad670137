// What requests begin with.
#include "workloads/traffic/content.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/traffic/support.hpp"

using namespace tokenline;
using namespace tokenline::traffic;
using namespace tokenline::traffic::testing;

namespace {

std::string requests(const std::string& rest) {
  return "traffic:\n  chat:\n    arrival: {process: poisson, rate: 5/s}\n    prompt_tokens: 10\n"
         "    output_tokens: 5\n" +
         rest;
}

}  // namespace

TEST_CASE("a shared prefix comes before the prompt, and one of its texts is as likely as another",
          "[traffic]") {
  const Traffic traffic = read(
      "s.yaml", requests("    num_prompts: 30000\n    shared_prefix: {tokens: 40, groups: 3}\n"));
  Source& source = *traffic.sources.at(0);
  CHECK(source.shares());
  std::map<std::uint64_t, int> counts;
  for (const Arrival& arrival : all_of(source)) {
    REQUIRE(arrival.prompt_tokens == 50);
    const Content content = source.content(arrival.session);
    REQUIRE(content.size() == 1);
    REQUIRE(content[0].tokens == 40);
    ++counts[content[0].id];
  }
  REQUIRE(counts.size() == 3);
  // Six deviations of a binomial count: sqrt(30000 · 1/3 · 2/3) = 82.
  for (const auto& [id, count] : counts) CHECK(count == Approx(10'000).margin(490));
  CHECK(traffic.longest.at(0).prompt_tokens == 50);
  CHECK(traffic.longest.at(0).total_tokens == 55);
}

TEST_CASE("classes share no texts, and without any a request is its own", "[traffic]") {
  const Traffic traffic =
      read("s.yaml", requests("    num_prompts: 1\n    shared_prefix: {tokens: 40}\n") +
                         "  other:\n    arrival: {process: closed_loop, max_concurrency: 2}\n"
                         "    num_prompts: 2\n    prompt_tokens: 10\n    output_tokens: 5\n"
                         "    shared_prefix: {tokens: 40}\n"
                         "  own:\n    arrival: {process: poisson, rate: 5/s}\n    num_prompts: 1\n"
                         "    prompt_tokens: 10\n    output_tokens: 5\n");
  CHECK(traffic.sources.at(0)->content(0) != traffic.sources.at(1)->content(0));
  CHECK(traffic.sources.at(1)->content(0) == traffic.sources.at(1)->content(1));
  CHECK_FALSE(traffic.sources.at(2)->shares());
  CHECK(traffic.sources.at(2)->content(0).empty());
}

TEST_CASE("a conversation is one text behind the prefix, and its context holds both", "[traffic]") {
  const std::string session =
      "    session: {turns: 2, think_time: 1 s, max_context: 70, num_sessions: 3}\n";
  const Traffic traffic = read("s.yaml", requests(session + "    shared_prefix: {tokens: 40}\n"));
  Source& source = *traffic.sources.at(0);
  const std::vector<Arrival> first = all_of(source);
  REQUIRE(first.size() == 3);
  CHECK(first[0].prompt_tokens == 50);
  CHECK(source.content(0).at(0) == source.content(1).at(0));
  CHECK(source.content(0).at(1).id != source.content(1).at(1).id);
  CHECK(source.content(0).at(1).tokens == ContentRun::endless);
  // 40 + 2 · (10 + 5) = 70.
  const auto second = source.finished({first[0].when, 0, true});
  REQUIRE(second);
  CHECK(second->prompt_tokens == 40 + 15 + 10);
  CHECK(traffic.longest.at(0).total_tokens == 70);
  CHECK_THAT(mistakes("s.yaml", requests(session + "    shared_prefix: {tokens: 56}\n")),
             Catch::Contains("a first prompt and its answer can have 71 tokens, more than 70"));
}

TEST_CASE("prompts of a Mooncake trace begin alike as far as their hashes do", "[traffic]") {
  const Scratch folder;
  (void)folder.write(
      "t.jsonl",
      "{\"timestamp\": 0, \"input_length\": 600, \"output_length\": 9, \"hash_ids\": [4, 7]}\n"
      "{\"timestamp\": 1, \"input_length\": 512, \"output_length\": 9, \"hash_ids\": [4]}\n");
  const Traffic traffic =
      read(folder / "s.yaml", "traffic:\n  t: {trace: {file: t.jsonl, format: mooncake}}\n");
  Source& source = *traffic.sources.at(0);
  const std::vector<Arrival> arrivals = all_of(source);
  CHECK(source.shares());
  const Content first = source.content(arrivals.at(0).session);
  const Content second = source.content(arrivals.at(1).session);
  REQUIRE(first.size() == 2);
  REQUIRE(second.size() == 1);
  CHECK(first[0] == second[0]);
  CHECK(first[0].tokens == 512);
  CHECK(first[1].tokens == 88);
  CHECK(first[1].id != first[0].id);
}

TEST_CASE("a shared prefix needs its length, and at least one text", "[traffic]") {
  CHECK_THAT(mistakes("s.yaml", requests("    num_prompts: 1\n    shared_prefix: {groups: 2}\n")),
             Catch::Contains("tokens"));
  CHECK_THAT(mistakes("s.yaml",
                      requests("    num_prompts: 1\n    shared_prefix: {tokens: 4, groups: 0}\n")),
             Catch::Contains("groups"));
}

TEST_CASE("a trace of ours says what its requests begin with", "[traffic]") {
  const Scratch folder;
  (void)folder.write(
      "t.csv",
      "arrival_s,class,prompt_tokens,output_tokens,begins_with\n0,a,900,5,7:500 8:*\n"
      "1,b,900,5,7:500\n2,a,900,5,\n");
  const Traffic traffic =
      read(folder / "s.yaml", "traffic:\n  all_of:\n    trace: {file: t.csv, format: csv}\n");
  Source& source = *traffic.sources.at(0);
  CHECK(source.shares());
  const auto arrivals = all_of(source);
  REQUIRE(arrivals.size() == 3);
  CHECK(source.content(arrivals[0].session) == Content{{7, 500}, {8, ContentRun::endless}});
  CHECK(source.content(arrivals[1].session) == Content{{7, 500}});
  CHECK(source.content(arrivals[2].session).empty());
}

TEST_CASE("a beginning reads as it is written, and nothing else does", "[traffic]") {
  for (const Content& content :
       {Content{}, Content{{0, 1}}, Content{{UINT64_MAX, 1'000'000'000}, {3, 4}},
        Content{{1, 2}, {3, ContentRun::endless}}})
    CHECK(parse_content(content_text(content)) == content);
  for (const char* text : {"7", "7:", ":5", "7:0", "7:-1", "7:5 ", " 7:5", "7:5  8:5", "7:* 8:5",
                           "18446744073709551616:5", "7:1000000001", "7:5x", "x:5"})
    CHECK_FALSE(parse_content(text).has_value());
  const Scratch folder;
  (void)folder.write("t.csv", "arrival_s,prompt_tokens,output_tokens,begins_with\n0,9,5,7-5\n");
  CHECK_THAT(mistakes(folder / "s.yaml", "traffic:\n  a:\n    trace: {file: t.csv, format: csv}\n"),
             Catch::Contains("t.csv:2:7: error: trace: '7-5' is no beginning") &&
                 Catch::Contains("runs of text:tokens"));
}
