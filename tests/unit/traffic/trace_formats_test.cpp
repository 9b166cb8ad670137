// The formats in which others publish traces. Rows are ours; the spelling is theirs.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/unit/traffic/support.hpp"
#include "workloads/traffic/trace.hpp"

using namespace tokenline;
using namespace tokenline::traffic;
using namespace tokenline::traffic::testing;

namespace {

const std::string burstgpt =
    "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n";
const std::string splitwise =
    "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size\n";
const std::string vidur = "arrived_at,num_prefill_tokens,num_decode_tokens\n";

/// A line of Mooncake whose hashes fit its input.
std::string mooncake(std::int64_t timestamp, std::int64_t input, std::int64_t output) {
  std::string hashes = "0";
  for (std::int64_t block = 1; block < (input + 511) / 512; ++block)
    hashes += fmt::format(", {}", block);
  return fmt::format(
      R"({{"timestamp": {}, "input_length": {}, "output_length": {}, "hash_ids": [{}]}})"
      "\n",
      timestamp, input, output, hashes);
}

std::vector<std::pair<std::int64_t, std::int64_t>> tokens(const Trace& trace) {
  std::vector<std::pair<std::int64_t, std::int64_t>> all;
  for (const auto& arrival : trace.arrivals)
    all.emplace_back(arrival.prompt_tokens, arrival.output_tokens);
  return all;
}

using Tokens = std::vector<std::pair<std::int64_t, std::int64_t>>;
using Times = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("every format has one word, in the order of the enumerators", "[traffic]") {
  REQUIRE(trace_formats().size() == static_cast<std::size_t>(TraceFormat::vidur) + 1);
  REQUIRE(trace_formats()[static_cast<std::size_t>(TraceFormat::mooncake)] == "mooncake");
  REQUIRE(trace_formats().back() == "vidur");
}

TEST_CASE("a Mooncake line is a request at its millisecond, with one hash per begun block",
          "[traffic]") {
  const Trace trace = read_trace_text({.format = TraceFormat::mooncake},
                                      mooncake(0, 1, 1) + mooncake(3000, 512, 7) +
                                          mooncake(3000, 513, 8) + mooncake(3001, 6758, 500));
  REQUIRE(times(trace) == Times{0, 3'000'000'000, 3'000'000'000, 3'001'000'000});
  REQUIRE(tokens(trace) == Tokens{{1, 1}, {512, 7}, {513, 8}, {6758, 500}});
  REQUIRE(trace.longest_total == 7258);
  REQUIRE(trace.longest_at.line == 4);
  REQUIRE_FALSE(trace.has_class_column);
}

TEST_CASE("a Mooncake trace may start late and order its fields as it likes", "[traffic]") {
  const Trace trace =
      read_trace_text({.format = TraceFormat::mooncake, .speedup = 2.0},
                      R"({"hash_ids":[7],"output_length":2,"input_length":3,"timestamp":10})");
  REQUIRE(times(trace) == Times{5'000'000});
}

TEST_CASE("every mistake of a Mooncake line is reported at its field", "[traffic]") {
  const auto line = [](const std::string& time, const std::string& input, const std::string& output,
                       const std::string& hashes) {
    return R"({"timestamp": )" + time + R"(, "input_length": )" + input + R"(, "output_length": )" +
           output + R"(, "hash_ids": )" + hashes + "}\n";
  };
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "t.csv:1:1: error: trace: the file is empty"},
      {mooncake(0, 1, 1) + "\n", "t.csv:2:1: error: trace: an empty line"},
      {"{\"timestamp\": 0,\n", "t.csv:1:17: error: trace: not JSON: "},
      {"{\"timestamp\": 01}\n", "t.csv:1:16: error: trace: not JSON: "},
      {"[1]\n", "t.csv:1:1: error: trace: expected one JSON object per line"},
      {"{}\n",
       "t.csv:1:1: error: trace: field 'timestamp' is missing\n"
       "t.csv:1:1: error: trace: field 'input_length' is missing\n"
       "t.csv:1:1: error: trace: field 'output_length' is missing\n"
       "t.csv:1:1: error: trace: field 'hash_ids' is missing"},
      {R"({"timestamp": 0, "timestamp": 0, "input_length": 1, "output_length": 1, "hash_ids": [0]})",
       "t.csv:1:2: error: trace: field 'timestamp' is given twice"},
      {R"({"timestamp": 0, "inputlength": 1, "output_length": 1, "hash_ids": [0]})",
       "t.csv:1:18: error: trace: unknown field 'inputlength'\n"
       "  hint: did you mean 'input_length'?"},
      {line("0.5", "1", "1", "[0]"),
       "t.csv:1:2: error: trace: expected a whole number of "
       "milliseconds, got 0.5"},
      {line("-1", "1", "1", "[0]"), "t.csv:1:2: error: trace: -1 is out of range"},
      {line("9300000000000", "1", "1", "[0]"), "t.csv:1:2: error: trace: 9300000000000 is out of"},
      {line("0", "\"7\"", "1", "[0]"),
       "t.csv:1:18: error: trace: expected a whole number of tokens"},
      {line("0", "0", "1", "[]"), "t.csv:1:18: error: trace: 0 tokens: a request has 1 to"},
      {line("0", "99999999999999999999", "1", "[0]"), "t.csv:1:18: error: trace: expected a whole"},
      {line("0", "18446744073709551615", "1", "[0]"),
       "t.csv:1:18: error: trace: 184467440737095516"},
      {line("0", "1", "0", "[0]"), "t.csv:1:37: error: trace: 0 tokens: a request has 1 to"},
      {line("0", "1", "null", "[0]"),
       "t.csv:1:37: error: trace: expected a whole number of tokens"},
      {line("0", "513", "1", "[0]"),
       "t.csv:1:59: error: trace: 1 hashes, where 513 tokens begin 2 blocks of 512"},
      {line("0", "512", "1", "[0, 1]"),
       "t.csv:1:59: error: trace: 2 hashes, where 512 tokens begin 1 blocks of 512"},
      {line("0", "1", "1", "[0.5]"), "t.csv:1:57: error: trace: expected a list of whole numbers"},
      {line("0", "1", "1", "7"), "t.csv:1:57: error: trace: expected a list of whole numbers"},
      {mooncake(3000, 1, 1) + mooncake(2999, 1, 1),
       "t.csv:2:2: error: trace: '2999' is earlier than '3000' of line 1"},
  };
  for (const auto& [text, report] : cases) {
    INFO(text);
    const std::string found = trace_mistakes(TraceFormat::mooncake, text);
    INFO(found);
    CHECK(found.find(report) != std::string::npos);
  }
}

TEST_CASE("a BurstGPT row's model is its class, and its time counts from the first row",
          "[traffic]") {
  const std::string text = burstgpt +
                           "5,ChatGPT,472,18,490,Conversation log\n"
                           "45,ChatGPT,1087,230,1317,Conversation log\n"
                           "118,GPT-4,417,276,693,API log\n";
  const Trace trace = read_trace_text({.format = TraceFormat::burstgpt}, text);
  REQUIRE(times(trace) == Times{0, 40'000'000'000, 113'000'000'000});
  REQUIRE(tokens(trace) == Tokens{{472, 18}, {1087, 230}, {417, 276}});
  REQUIRE(trace.classes == std::vector<std::string>{"ChatGPT", "GPT-4"});
  // The release of 2025 has two more columns, and times with a decimal point.
  const Trace newer =
      read_trace_text({.format = TraceFormat::burstgpt},
                      "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response "
                      "tokens,Total tokens,Log Type\n"
                      "19440110.0,1722ac82-0a46,43,GPT-4,906,446,1352,Conversation log\n"
                      "19440161.5,d5983bf9-4b48,2,ChatGPT,36,29,65,Conversation log\n");
  REQUIRE(times(newer) == Times{0, 51'500'000'000});
  REQUIRE(newer.classes == std::vector<std::string>{"GPT-4", "ChatGPT"});
}

TEST_CASE("failed requests are mistakes until they are left out, and then counted", "[traffic]") {
  const std::string text = burstgpt +
                           "5,ChatGPT,472,18,490,Conversation log\n"
                           "6,ChatGPT,1087,0,1087,Conversation log\n"
                           "7,GPT-4,0,0,0,API log\n"
                           "8,ChatGPT,10,20,30,API log\n";
  const std::string report = trace_mistakes(TraceFormat::burstgpt, text);
  INFO(report);
  REQUIRE(report.find("t.csv:3:16: error: trace: 0 tokens") != std::string::npos);
  REQUIRE(report.find("'unanswered: leave_out' leaves such rows out") != std::string::npos);
  REQUIRE(report.find("t.csv:4:9: error: trace: 0 tokens") != std::string::npos);
  TraceSelection selection{.format = TraceFormat::burstgpt, .leave_out_unanswered = true};
  const Trace trace = read_trace_text(selection, text);
  REQUIRE(tokens(trace) == Tokens{{472, 18}, {10, 20}});
  REQUIRE(times(trace) == Times{0, 3'000'000'000});
  REQUIRE(trace.unanswered == 2);
  // What is counted is what the selection would have taken.
  selection.only = "ChatGPT";
  // Nor is a row of another class a mistake.
  REQUIRE(tokens(read_trace_text({.format = TraceFormat::burstgpt, .only = "GPT-3"},
                                 burstgpt + "6,ChatGPT,1087,0,1087,Conversation log\n"
                                            "8,GPT-3,10,20,30,API log\n")) == Tokens{{10, 20}});
  REQUIRE(read_trace_text(selection, text).unanswered == 1);
  selection.limit = 1;
  REQUIRE(read_trace_text(selection, text).unanswered == 0);
}

TEST_CASE("rows beyond the longest total are left out and counted, the bound itself is kept",
          "[traffic]") {
  const std::string text = vidur + "0.0,90,10\n1.0,90,11\n2.0,100,1\n3.0,1,1\n";
  const Trace trace =
      read_trace_text({.format = TraceFormat::vidur, .limit = 2, .max_total_tokens = 100}, text);
  REQUIRE(tokens(trace) == Tokens{{90, 10}, {1, 1}});
  REQUIRE(trace.too_long == 2);
  REQUIRE(trace.longest_total == 100);
}

TEST_CASE("Vidur times are rounded to the nearest nanosecond and stand as they are", "[traffic]") {
  const Trace trace = read_trace_text(
      {.format = TraceFormat::vidur},
      vidur + "0.0,374,44\n5.8926549999999995,91,16\n11.836632999999999,369,74\n11.9,1,2\n");
  REQUIRE(times(trace) == Times{0, 5'892'655'000, 11'836'633'000, 11'900'000'000});
  REQUIRE(tokens(trace) == Tokens{{374, 44}, {91, 16}, {369, 74}, {1, 2}});
}

TEST_CASE("a Splitwise row is one generated request", "[traffic]") {
  const Trace trace = read_trace_text({.format = TraceFormat::splitwise},
                                      splitwise + "0,2,0,0.011,1,2048,28\n1,2,0,1.5e-02,1,3,6\n");
  REQUIRE(times(trace) == Times{11'000'000, 15'000'000});
  REQUIRE(tokens(trace) == Tokens{{2048, 28}, {3, 6}});
  const std::string report =
      trace_mistakes(TraceFormat::splitwise, splitwise + "0,1,0,0.5,4,2048,28\n");
  INFO(report);
  REQUIRE(report.find("t.csv:2:3: error: trace: '1', where a row of one generated request has 2") !=
          std::string::npos);
  REQUIRE(report.find("t.csv:2:11: error: trace: '4', where a row") != std::string::npos);
}

TEST_CASE("a format does not take another's columns", "[traffic]") {
  using enum TraceFormat;
  const std::vector<std::pair<TraceFormat, std::string>> headers{
      {burstgpt, ::burstgpt}, {splitwise, ::splitwise}, {vidur, ::vidur}};
  for (const auto& [format, header] : headers)
    for (const auto& [other, row] : headers) {
      const bool same = format == other;
      const std::string report = trace_mistakes(format, row);
      INFO(report);
      CHECK((report.find("is missing") == std::string::npos) == same);
      CHECK((report.find("unknown column") == std::string::npos) == same);
    }
}

TEST_CASE("what a scenario leaves out of a trace is counted at its key", "[traffic]") {
  const Scratch folder;
  (void)folder.write("b.csv", burstgpt +
                                  "0,GPT-4,10,0,10,API log\n1,GPT-4,10,5,15,API log\n"
                                  "2,GPT-4,1000,5,1005,API log\n");
  const auto entry = [](const std::string& keys) {
    return "traffic:\n  b:\n    trace: {file: b.csv, format: burstgpt" + keys + "}\n";
  };
  const std::string scenario = folder / "s.yaml";
  const Traffic traffic = read(scenario, entry(", unanswered: leave_out, max_total_tokens: 15"));
  REQUIRE(traffic.left_out.size() == 2);
  REQUIRE(traffic.left_out[0].path == "traffic.b.trace.unanswered");
  REQUIRE(traffic.left_out[0].rows == 1);
  REQUIRE(traffic.left_out[1].path == "traffic.b.trace.max_total_tokens");
  REQUIRE(traffic.left_out[1].rows == 1);
  REQUIRE(traffic.classes.at(0).name == "GPT-4");
  const std::string none =
      mistakes(scenario, entry(", unanswered: leave_out, max_total_tokens: 9"));
  INFO(none);
  REQUIRE(none.find("traffic.b.trace.file: no row is left: 1 have no answer, 2 are too long") !=
          std::string::npos);
  REQUIRE(mistakes(scenario, entry("")).find("b.csv:2:12: error: trace: 0 tokens") !=
          std::string::npos);
}
