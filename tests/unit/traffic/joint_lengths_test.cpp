// Prompt and output drawn together from measured requests.
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/random.hpp"
#include "tests/unit/traffic/support.hpp"
#include "workloads/traffic/lengths.hpp"
#include "workloads/traffic/sharegpt.hpp"

using namespace tokenline;
using namespace tokenline::traffic;
using namespace tokenline::traffic::testing;

namespace {

std::string drawn(const std::string& lengths, int requests = 4000) {
  return "traffic:\n  chat:\n    arrival: {process: poisson, rate: 35/s}\n    num_prompts: " +
         std::to_string(requests) + "\n    lengths: " + lengths + "\n";
}

/// Conversations of one prompt and one answer, each a text of that many letters.
std::string talks(const std::vector<std::pair<std::size_t, std::size_t>>& characters) {
  std::string json = "[";
  for (const auto& [prompt, answer] : characters)
    json += std::string(json.size() == 1 ? "" : ",\n") +
            R"({"id": "x", "conversations": [{"from": "human", "value": ")" +
            std::string(prompt, 'a') + R"("}, {"from": "gpt", "value": ")" +
            std::string(answer, 'b') + R"("}, {"from": "human", "value": "Thanks."}]})";
  return json + "]";
}

Trace read_talks(const std::string& json, double characters_per_token, bool leave_out = false) {
  const Scratch folder;
  config::Document document{config::Node{}};
  Trace trace = read_sharegpt(
      document, {.file = folder.write("t.json", json), .leave_out_unanswered = leave_out},
      characters_per_token);
  document.throw_if_errors();
  return trace;
}

}  // namespace

TEST_CASE("a pair is drawn whole: each row equally often, and nothing but rows", "[traffic]") {
  const auto rows = std::make_shared<const std::vector<TokenCounts>>(
      std::vector<TokenCounts>{{1, 100}, {20, 7}, {300, 9}, {4000, 1}});
  const RequestLengths lengths = JointLengths{rows};
  RandomStream random(7, "pairs", 0);
  std::map<std::int64_t, int> counts;
  constexpr int n = 40'000;
  for (int i = 0; i < n; ++i) {
    const TokenCounts pair = draw(lengths, random);
    ++counts[pair.prompt_tokens];
    const bool known = std::ranges::any_of(*rows, [&](const TokenCounts& row) {
      return row.prompt_tokens == pair.prompt_tokens && row.output_tokens == pair.output_tokens;
    });
    REQUIRE(known);
  }
  REQUIRE(counts.size() == 4);
  for (const auto& [prompt, count] : counts)
    REQUIRE(std::abs(count - n / 4) < 5.0 * std::sqrt(n * 0.25 * 0.75));
}

TEST_CASE("the correlation of the file is that of the requests", "[traffic]") {
  // Outputs that are exactly 10,000 less the prompt: correlation −1, which draws apart would lose.
  const Scratch folder;
  std::string pairs = "output_tokens,prompt_tokens\n";
  for (int prompt = 1; prompt <= 500; ++prompt)
    pairs += std::to_string(10'000 - prompt) + "," + std::to_string(prompt) + "\n";
  (void)folder.write("pairs.csv", pairs);
  const Traffic traffic = read(folder / "s.yaml", drawn("{file: pairs.csv, format: pairs}"));
  const auto arrivals = all_of(*traffic.sources.at(0));
  REQUIRE(arrivals.size() == 4000);
  for (const Arrival& arrival : arrivals)
    REQUIRE(arrival.prompt_tokens + arrival.output_tokens == 10'000);
  REQUIRE(traffic.longest.at(0).prompt_tokens == 500);
  REQUIRE(traffic.longest[0].total_tokens == 10'000);
  REQUIRE(traffic.longest[0].where.line == 2);
}

TEST_CASE("lengths are drawn from any trace, whatever its times", "[traffic]") {
  const Scratch folder;
  const std::vector<std::pair<std::string, std::string>> files{
      {"azure",
       "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6,21,4\n2023-11-17 18:15:46,"
       "21,4\n"},
      {"burstgpt",
       "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n9,GPT-4,21,4,25,API "
       "log\n"},
      {"csv", "arrival_s,prompt_tokens,output_tokens\n7,21,4\n"},
      {"mooncake", R"({"timestamp": 5, "input_length": 21, "output_length": 4, "hash_ids": [0]})"},
      {"splitwise",
       "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size"
       "\n0,2,0,1.5,1,21,4\n"},
      {"vidur", "arrived_at,num_prefill_tokens,num_decode_tokens\n3.25,21,4\n"},
      {"pairs", "prompt_tokens,output_tokens\n21,4\n"}};
  for (const auto& [format, text] : files) {
    (void)folder.write(format, text);
    INFO(format);
    const Traffic traffic =
        read(folder / "s.yaml", drawn("{file: " + format + ", format: " + format + "}", 5));
    REQUIRE(traffic.classes.at(0).name == "chat");
    const auto arrivals = all_of(*traffic.sources.at(0));
    REQUIRE(arrivals.size() == 5);
    for (const Arrival& arrival : arrivals) {
      CHECK(arrival.prompt_tokens == 21);
      CHECK(arrival.output_tokens == 4);
    }
  }
}

TEST_CASE("drawing pairs leaves the arrival times as they are", "[traffic]") {
  const Scratch folder;
  (void)folder.write("pairs.csv", "prompt_tokens,output_tokens\n21,4\n7,9\n");
  const auto joint = read(folder / "s.yaml", drawn("{file: pairs.csv, format: pairs}", 100));
  const auto apart = read("s.yaml",
                          "traffic:\n  chat:\n    arrival: {process: poisson, rate: 35/s}\n"
                          "    num_prompts: 100\n    prompt_tokens: 5\n    output_tokens: 5\n");
  const auto a = all_of(*joint.sources.at(0));
  const auto b = all_of(*apart.sources.at(0));
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) REQUIRE(a[i].when == b[i].when);
}

TEST_CASE("a text of n characters counts ⌈n / characters per token⌉ tokens", "[traffic]") {
  const Trace trace = read_talks(talks({{1, 4}, {5, 8}, {9, 400}}), 4.0);
  const std::vector<std::pair<std::int64_t, std::int64_t>> expected{{1, 1}, {2, 2}, {3, 100}};
  REQUIRE(trace.arrivals.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(trace.arrivals[i].prompt_tokens == expected[i].first);
    CHECK(trace.arrivals[i].output_tokens == expected[i].second);
  }
  REQUIRE(trace.longest_total == 103);
  REQUIRE(trace.longest_at.line == 3);
  // Characters, not bytes or escapes; what comes after the second message is not used.
  const Trace other = read_talks(
      "[{\"conversations\": [{\"value\": \"\xc3\xbc\xe2\x82\xac\"}, {\"value\": \"\\u20ac\\n\"},"
      " {\"from\": \"human\"}]}]",
      1.0);
  REQUIRE(other.arrivals.at(0).prompt_tokens == 2);
  REQUIRE(other.arrivals[0].output_tokens == 2);
}

TEST_CASE("conversations without a prompt and an answer are refused or left out and counted",
          "[traffic]") {
  const std::string json = R"([{"conversations": [{"value": "a"}, {"value": "b"}]},
 {"conversations": []},
 {"conversations": [{"value": "a"}]}, {"conversations": [{"value": ""}, {"value": "b"}]},
 {"conversations": [{"value": "a"}, {"value": ""}]}])";
  const Trace trace = read_talks(json, 4.0, true);
  REQUIRE(trace.arrivals.size() == 1);
  REQUIRE(trace.unanswered == 4);
  for (const char* place : {"t.json:2:2: error: ", "t.json:3:2: error: ", "t.json:3:39: error: ",
                            "t.json:4:2: error: trace: a conversation without a prompt and an "
                            "answer\n  hint: a request without an answer: 'unanswered: leave_out'"})
    REQUIRE_THROWS_WITH(read_talks(json, 4.0), Catch::Contains(place));
}

TEST_CASE("what is no list of conversations is reported at its place", "[traffic]") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "t.json:1:1: error: trace: the file is empty"},
      {"{}", "t.json:1:1: error: trace: expected a list of conversations, each an object"},
      {"[1]", "t.json:1:1: error: trace: expected a list of conversations, each an object"},
      {"[{\"conversations\": [{\"value\": \"\xc3\xbc\"},\n  oops",
       "t.json:2:3: error: trace: not JSON"},
      {"[\n {\"id\": 1}]",
       "t.json:2:2: error: trace: a conversation without a list 'conversations'"},
      {"[{\"conversations\": [{\"value\": \"a\"}, {\"text\": \"b\"}]}]",
       "t.json:1:2: error: trace: a conversation whose first two messages have no text 'value'"},
      {"[{\"conversations\": [\"a\", {\"value\": \"b\"}]}]",
       "t.json:1:2: error: trace: a conversation whose first two messages have no text 'value'"}};
  for (const auto& [json, report] : cases) {
    INFO(json);
    CHECK_THROWS_WITH(read_talks(json, 4.0), Catch::Contains(report));
  }
}

TEST_CASE("every mistake of a class's joint lengths is reported at its place", "[traffic]") {
  const Scratch folder;
  (void)folder.write("pairs.csv", "prompt_tokens,output_tokens\n21,4\n0,9\n5\n");
  (void)folder.write("talks.json", talks({{9000, 1}}));
  const std::vector<std::pair<std::string, std::string>> cases{
      {"{file: pairs.csv, format: pairs}", "pairs.csv:3:1: error: trace: 0 tokens"},
      {"{file: pairs.csv, format: pairs}", "pairs.csv:4:1: error: trace: 1 fields, where the"},
      {"{file: pairs.csv, format: pair}", "did you mean 'pairs'?"},
      {"{file: none.csv, format: pairs}", "traffic.chat.lengths.file: there is no file"},
      {"{file: talks.json, format: sharegpt}",
       "traffic.chat.lengths.characters_per_token: required key is missing"},
      {"{file: talks.json, format: sharegpt, characters_per_token: 0}",
       "traffic.chat.lengths.characters_per_token: 0 is out of range"},
      {"{file: pairs.csv, format: pairs, characters_per_token: 4}",
       "characters_per_token: unknown"},
      {"{file: talks.json, format: sharegpt, characters_per_token: 4, max_total_tokens: 2048}",
       "traffic.chat.lengths.file: no row is left: 0 have no answer, 1 are too long"},
      {"{file: talks.json, format: sharegpt, characters_per_token: 4}\n    prompt_tokens: 5",
       "traffic.chat.prompt_tokens: unknown key"}};
  for (const auto& [lengths, report] : cases) {
    const std::string found = mistakes(folder / "s.yaml", drawn(lengths));
    INFO(lengths);
    INFO(found);
    CHECK(found.find(report) != std::string::npos);
  }
}
