#include "workloads/traffic/trace.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "sim/base/random.hpp"
#include "tests/unit/traffic/support.hpp"

using namespace tokenline;
using namespace tokenline::traffic;
using namespace tokenline::traffic::testing;

namespace {

struct Mistake {
  TraceFormat format;
  std::string text;
  std::string report;  ///< A line that must be in the report.
};

const std::string csv_header = "arrival_s,prompt_tokens,output_tokens\n";
const std::string azure_header = "TIMESTAMP,ContextTokens,GeneratedTokens\n";

}  // namespace

TEST_CASE("every mistake of a trace is reported at its line and column", "[traffic]") {
  using enum TraceFormat;
  const std::vector<Mistake> cases{
      {csv, "", "t.csv:1:1: error: trace: the file is empty"},
      {csv, "\xef\xbb\xbf", "t.csv:1:1: error: trace: the file is empty"},
      {csv, csv_header, "t.csv:1:1: error: trace: a header without rows"},
      {csv, "arrival_s,prompt_tokens\n0,1\n",
       "t.csv:1:1: error: trace: column 'output_tokens' is missing"},
      {csv, "arrival_s,prompt_tokens,outputs_tokens\n0,1,1\n",
       "t.csv:1:25: error: trace: unknown column 'outputs_tokens'\n"
       "  hint: did you mean 'output_tokens'?"},
      {csv, "arrival_s,prompt_tokens,arrival_s,output_tokens\n0,1,0,1\n",
       "t.csv:1:25: error: trace: column 'arrival_s' is given twice"},
      {csv, csv_header + "0,1,1\n1,5\n",
       "t.csv:3:1: error: trace: 2 fields, where the header has 3\n  hint: is the file cut short?"},
      {csv, csv_header + "0,1,1,9\n", "t.csv:2:1: error: trace: 4 fields, where the header has 3"},
      {csv, csv_header + "0,1,1\n\n1,1,1\n", "t.csv:3:1: error: trace: an empty line"},
      {csv, csv_header + "0,1,1\n\n", "t.csv:3:1: error: trace: an empty line"},
      {csv, csv_header + "0,12x,1\n",
       "t.csv:2:3: error: trace: expected a whole number of tokens, got '12x'"},
      {csv, csv_header + "0,1.5,1\n",
       "t.csv:2:3: error: trace: expected a whole number of tokens, got '1.5'"},
      {csv, csv_header + "0,1e3,1\n",
       "t.csv:2:3: error: trace: expected a whole number of tokens, got '1e3'"},
      {csv, csv_header + "0,,1\n",
       "t.csv:2:3: error: trace: expected a whole number of tokens, got ''"},
      {csv, csv_header + "0, 1,1\n",
       "t.csv:2:3: error: trace: expected a whole number of tokens, got ' 1'"},
      {csv, csv_header + "0,nan,1\n",
       "t.csv:2:3: error: trace: expected a whole number of tokens, got 'nan'"},
      {csv, csv_header + "0,0,1\n", "t.csv:2:3: error: trace: 0 tokens: a request has 1 to"},
      {csv, csv_header + "0,1,0\n", "t.csv:2:5: error: trace: 0 tokens: a request has 1 to"},
      {csv, csv_header + "0,-7,1\n", "t.csv:2:3: error: trace: -7 tokens: a request has 1 to"},
      {csv, csv_header + "0,99999999999999999999,1\n", "99999999999999999999 tokens: a request"},
      {csv, csv_header + "nan,1,1\n",
       "t.csv:2:1: error: trace: expected seconds in decimal digits, got 'nan'"},
      {csv, csv_header + "-1.5,1,1\n", "t.csv:2:1: error: trace: '-1.5' is negative"},
      {csv, csv_header + "0.1234567891,1,1\n", "t.csv:2:1: error: trace: '0.1234567891' has more"},
      {csv, csv_header + "9300000000,1,1\n", "beyond the simulated clock"},
      {csv, csv_header + "2.5,1,1\n2.25,1,1\n",
       "t.csv:3:1: error: trace: '2.25' is earlier than '2.5' of line 2\n"
       "  hint: sort the rows by time"},
      {csv, csv_header + "0,\"1\",1\n", "t.csv:2:3: error: trace: a quoted field"},
      {csv, csv_header + "0,1,\xff\n", "t.csv:2:5: error: trace: "},
      {csv, csv_header + std::string("0,1\0,1\n", 7), "t.csv:2:4: error: trace: "},
      {csv, "arrival_s,prompt_tokens,output_tokens,class\n0,1,1,a b\n",
       "t.csv:2:7: error: trace: class name 'a b' has other characters"},
      {csv, "arrival_s,prompt_tokens,output_tokens,class\n0,1,1,all\n",
       "t.csv:2:7: error: trace: 'all' is the sum of the classes"},
      {csv, "arrival_s,prompt_tokens,output_tokens,class\n0,1,1,\n",
       "t.csv:2:7: error: trace: a class needs a name"},
      {azure, azure_header, "t.csv:1:1: error: trace: a header without rows"},
      {azure, csv_header + "0,1,1\n", "t.csv:1:1: error: trace: column 'TIMESTAMP' is missing"},
      {azure, "TIMESTAMP,ContextTokens,GeneratedTokens,class\n",
       "t.csv:1:41: error: trace: unknown column 'class'"},
      {azure, azure_header + "12.5,1,1\n", "t.csv:2:1: error: trace: expected a time such as"},
      {azure, azure_header + "2023-02-30 00:00:00.0,1,1\n",
       "t.csv:2:1: error: trace: '2023-02-30 00:00:00.0' is not in the calendar"},
      {azure, azure_header + "2023-11-16 18:15:46.6805900,374,0\n",
       "t.csv:2:33: error: trace: 0 tokens: a request has 1 to"},
      {azure, azure_header + "2023-11-16 18:15:46.2,1,1\n2023-11-16 18:15:46.1,1,1\n",
       "'2023-11-16 18:15:46.1' is earlier than '2023-11-16 18:15:46.2' of line 2"},
  };
  for (const auto& [format, text, report] : cases) {
    INFO(text);
    const std::string found = trace_mistakes(format, text);
    INFO(found);
    CHECK(found.find(report) != std::string::npos);
  }
}

TEST_CASE("a missing trace is a mistake at its first line", "[traffic]") {
  config::Document document{config::Node{}};
  (void)read_trace(document, {"/no/such/trace.csv", TraceFormat::csv});
  REQUIRE_THROWS_WITH(document.throw_if_errors(),
                      Catch::StartsWith("/no/such/trace.csv:1:1: error: trace: "));
}

TEST_CASE("a row's mistakes come out together, and none hides the next row's", "[traffic]") {
  const std::string report = trace_mistakes(TraceFormat::csv, csv_header + "x,y,0\n1,1,z\n");
  for (const auto* place : {"t.csv:2:1", "t.csv:2:3", "t.csv:2:5", "t.csv:3:5"})
    REQUIRE(report.find(place) != std::string::npos);
}

TEST_CASE("at most 20 mistakes of a file are listed, the others counted", "[traffic]") {
  std::string text = csv_header;
  for (int i = 0; i < 120; ++i) text += fmt::format("{},0,1\n", i);
  const std::string report = trace_mistakes(TraceFormat::csv, text);
  REQUIRE(report.find("t.csv:21:") != std::string::npos);
  REQUIRE(report.find("t.csv:22:") == std::string::npos);
  REQUIRE(report.find("and 100 more") != std::string::npos);
  REQUIRE(trace_mistakes(TraceFormat::csv, csv_header + "0,0,1\n").find("more") ==
          std::string::npos);
}

TEST_CASE("azure times count from the first row, exactly", "[traffic]") {
  const Trace trace = read_trace_text({{}, TraceFormat::azure, 1.0, {}, 100},
                                      azure_header +
                                          "2023-12-31 23:59:59.9999999,374,44\r\n"
                                          "2023-12-31 23:59:59.9999999,1,2\r\n"
                                          "2024-01-01 00:00:00.000000001,396,109");
  REQUIRE(times(trace) == std::vector<std::int64_t>{0, 0, 101});
  REQUIRE(trace.arrivals[2].prompt_tokens == 396);
  REQUIRE(trace.arrivals[2].output_tokens == 109);
  REQUIRE(trace.classes.empty());
}

TEST_CASE("csv times are scenario times, not shifted, in any order of columns", "[traffic]") {
  const Trace trace =
      read_trace_text({{}, TraceFormat::csv, 1.0, {}, 100},
                      "\xef\xbb\xbfoutput_tokens,arrival_s,prompt_tokens\n7,5.25,9\n");
  REQUIRE(times(trace) == std::vector<std::int64_t>{5'250'000'000});
  REQUIRE(trace.arrivals[0].prompt_tokens == 9);
  REQUIRE(trace.arrivals[0].output_tokens == 7);
}

TEST_CASE("any whole nanosecond survives being written and read", "[traffic]") {
  RandomStream random(5, "nanoseconds", 0);
  std::string text = csv_header;
  std::vector<std::int64_t> expected;
  std::int64_t time = 0;
  for (int i = 0; i < 5000; ++i) {
    time += (std::int64_t{random()} << (i % 20)) + random() % 3;
    expected.push_back(time);
    text += fmt::format("{}.{:09},{},{}\n", time / 1'000'000'000, time % 1'000'000'000, i + 1, 1);
  }
  REQUIRE(times(read_trace_text({{}, TraceFormat::csv, 1.0, {}, 10'000}, text)) == expected);
}

TEST_CASE("a run's own requests.csv is a trace", "[traffic]") {
  const Trace trace = read_trace_text(
      {{}, TraceFormat::csv, 1.0, {}, 100},
      "request_id,class,instance,outcome,arrival_s,prompt_tokens,output_tokens,ttft_ms,tpot_ms,"
      "e2el_ms,first_token_s,finish_s,preemptions,retries,recomputed_tokens,ttft_queue_ms,"
      "e2el_decode_floor_ms\n"
      "0,pdf,node-0,completed,0.000000007,16384,100,1,2,3,4,5,0,0,0,1.5,2.5\n"
      "1,chat,node-ü,rejected,0.500000000,200,100,,,,,,0,0,0,,\n"
      "2,pdf,node-0,completed,0.500000000,16000,90,1,2,3,4,5,0,0,0,1.5,2.5\n");
  REQUIRE(times(trace) == std::vector<std::int64_t>{7, 500'000'000, 500'000'000});
  REQUIRE(trace.classes == std::vector<std::string>{"pdf", "chat"});
  REQUIRE(trace.arrivals[0].class_index == 0);
  REQUIRE(trace.arrivals[1].class_index == 1);
  REQUIRE(trace.arrivals[2].class_index == 0);
  REQUIRE(trace.longest_total == 16'484);
  REQUIRE(trace.longest_prompt == 16'384);
  REQUIRE(trace.longest_at.line == 2);
  REQUIRE(trace.longest_at.column == 36);
}

TEST_CASE("a class filter and a limit take the first rows of that class", "[traffic]") {
  const std::string text =
      "arrival_s,class,prompt_tokens,output_tokens\n"
      "0,a,1,1\n1,b,2,1\n2,a,3,1\n3,b,9999,1\n4,b,5,1\n";
  const Trace trace = read_trace_text({{}, TraceFormat::csv, 1.0, "b", 1}, text);
  REQUIRE(trace.arrivals.size() == 1);
  REQUIRE(trace.arrivals[0].prompt_tokens == 2);
  REQUIRE(trace.longest_prompt == 2);
  REQUIRE(trace.all_classes == std::vector<std::string>{"a", "b"});
}

TEST_CASE("a speedup divides times, rounded to the nearest nanosecond", "[traffic]") {
  const std::string text = csv_header + "0.000000003,1,1\n3600,1,1\n";
  REQUIRE(times(read_trace_text({{}, TraceFormat::csv, 2.0, {}, 9}, text)) ==
          std::vector<std::int64_t>{2, 1'800'000'000'000});
  REQUIRE(times(read_trace_text({{}, TraceFormat::csv, 0.5, {}, 9}, text)) ==
          std::vector<std::int64_t>{6, 7'200'000'000'000});
  REQUIRE_THROWS_WITH(
      read_trace_text({{}, TraceFormat::csv, 0.001, {}, 9}, csv_header + "9e9,1,1\n"),
      Catch::Contains("decimal digits"));
  REQUIRE_THROWS_WITH(
      read_trace_text({{}, TraceFormat::csv, 0.001, {}, 9}, csv_header + "9000000000,1,1\n"),
      Catch::Contains("beyond the simulated clock"));
}
