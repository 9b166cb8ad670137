// What servers and load generators log, as traffic and as measurements of it.
#include "workloads/traffic/incident_log.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "tests/support/scratch.hpp"

using namespace tokenline;
using namespace tokenline::traffic;
using Catch::Contains;

namespace {

TimePoint at_ms(std::int64_t ms) { return TimePoint{} + std::chrono::milliseconds(ms); }
Duration ms(std::int64_t n) { return std::chrono::milliseconds(n); }

IncidentLog read(LogFormat format, const std::string& text, LogSelection selection = {}) {
  const Scratch folder;
  selection.file = folder.write("log", text);
  selection.format = format;
  return read_incident_log(selection);
}

std::string mistakes(LogFormat format, const std::string& text, LogSelection selection = {}) {
  try {
    (void)read(format, text, selection);
  } catch (const config::ConfigError& error) {
    return error.what();
  }
  return {};
}

const std::string line_end = ", GPU KV cache usage: 1.0%, Prefix cache hit rate: 0.0%\n";

std::string line(const std::string& time, const std::string& prompt, const std::string& output,
                 int running, int waiting) {
  return "(EngineCore pid=7) INFO 02-26 " + time +
         " [loggers.py:248] Engine 000: Avg prompt throughput: " + prompt +
         " tokens/s, Avg generation throughput: " + output +
         " tokens/s, Running: " + std::to_string(running) +
         " reqs, Waiting: " + std::to_string(waiting) + " reqs" + line_end;
}

std::string next_day(std::string text) { return text.replace(text.find("02-26"), 5, "02-27"); }

}  // namespace

TEST_CASE("an access log is sorted by arrival and counts from its first request", "[incident]") {
  const IncidentLog log = read(LogFormat::access_log,
                               "timestamp,prompt_tokens,output_tokens,ttft_s,e2el_ms,class\n"
                               "2026-01-31 23:59:59.5,300,11,0.25,1250,b\n"
                               "2026-01-31 23:59:58,200,1,,40,a\n"
                               "2026-02-01 00:00:00,100,5,0.1,,b\n");
  CHECK(log.classes == std::vector<std::string>{"a", "b"});
  REQUIRE(log.arrivals.size() == 3);
  CHECK(log.arrivals[0].when == at_ms(0));
  CHECK(log.arrivals[1].when == at_ms(1500));
  CHECK(log.arrivals[2].when == at_ms(2000));
  CHECK(log.arrivals[1].prompt_tokens == 300);
  CHECK(log.arrivals[1].output_tokens == 11);
  CHECK(log.arrivals[1].class_index == 1);
  const auto& observed = log.observed.requests;
  CHECK_FALSE(observed[0].ttft.has_value());
  CHECK(observed[0].e2el == ms(40));
  // (1250 - 250) ms over the ten tokens after the first.
  CHECK(observed[1].ttft == ms(250));
  CHECK(observed[1].tpot == ms(100));
  CHECK_FALSE(observed[2].tpot.has_value());
}

TEST_CASE("times of an access log may be of ISO 8601, with a zone in all rows or in none",
          "[incident]") {
  const std::string header = "timestamp,prompt_tokens,output_tokens,ttft_ms\n";
  const auto second_at = [&](const std::string& first, const std::string& second) {
    return read(LogFormat::access_log, header + first + ",10,3,5\n" + second + ",10,3,5\n")
        .arrivals[1]
        .when;
  };
  CHECK(second_at("2026-11-29T10:00:00.03Z", "2026-11-29T10:00:01.53Z") == at_ms(1500));
  CHECK(second_at("2026-11-29T10:00:00", "2026-11-29 10:00:01") == at_ms(1000));
  // Clocks are put back: an hour of local time comes twice.
  CHECK(second_at("2026-10-25T02:59:59+02:00", "2026-10-25T02:00:00+01:00") == at_ms(1000));
  CHECK_THAT(mistakes(LogFormat::access_log,
                      header + "2026-11-29T10:00:00Z,10,3,5\n" + "2026-11-29T10:00:01,10,3,5\n"),
             Contains("log:3:1: error: trace: '2026-11-29T10:00:01' has no time zone"));
  CHECK_THAT(mistakes(LogFormat::access_log, header + "1764410400.03,10,3,5\n"),
             Contains("hint: seconds of any clock stand in a column 'arrival_s'"));
  CHECK_THAT(mistakes(LogFormat::access_log,
                      "arrival_s,prompt_tokens,output_tokens,ttft_ms\n"
                      "2026-11-29T10:00:00.03Z,10,3,5\n"),
             Contains("hint: times by the calendar stand in a column 'timestamp'"));
}

TEST_CASE("columns that a replay does not need are named, and slips of the pen are refused",
          "[incident]") {
  const IncidentLog log = read(LogFormat::access_log,
                               "ip,arrival_s,prompt_tokens_total,prompt_tokens,output_tokens,"
                               "ttft_ms,tpot_s,status\n"
                               "10.0.0.1,1,40,30,20,5,0.01,200\n");
  CHECK(log.ignored_columns ==
        std::vector<std::string>{"ip", "prompt_tokens_total", "tpot_s", "status"});
  REQUIRE(log.arrivals.size() == 1);
  CHECK(log.arrivals[0].prompt_tokens == 30);
  // A run's own requests.csv says nothing that would be missed.
  CHECK(read(LogFormat::access_log,
             "request_id,arrival_s,prompt_tokens,output_tokens,ttft_ms,ttft_own_prefill_ms\n"
             "0,1,30,20,5,4\n")
            .ignored_columns.empty());
  CHECK_THAT(mistakes(LogFormat::access_log,
                      "arrival_s,prompt_tokens,output_tokens,ttft_ms,e2e_ms\n1,30,20,5,9\n"),
             Contains("log:1:47: error: trace: unknown column 'e2e_ms'") &&
                 Contains("did you mean 'e2el_ms'? Rename it, or take it out"));
}

TEST_CASE("rows without an answer are mistakes, or are left out and counted", "[incident]") {
  const std::string text =
      "arrival_s,prompt_tokens,output_tokens,ttft_ms\n1,10,0,\n2,10,3,5.5\n3,10,0,\n";
  CHECK_THAT(mistakes(LogFormat::access_log, text), Contains("log:2:6: error: trace: 0 tokens"));
  const IncidentLog log =
      read(LogFormat::access_log, text, {.file = {}, .leave_out_unanswered = true});
  CHECK(log.left_out == 2);
  REQUIRE(log.arrivals.size() == 1);
  CHECK(log.arrivals[0].when == at_ms(0));
  CHECK(log.observed.requests[0].ttft == Duration(5'500'000));
  CHECK(log.classes == std::vector<std::string>{"requests"});
}

TEST_CASE("an access log that cannot be understood is refused at its place", "[incident]") {
  const auto refuses = [](const std::string& text, const std::string& message) {
    CHECK_THAT(mistakes(LogFormat::access_log, text), Contains(message));
  };
  refuses("arrival_s,prompt_tokens,output_tokens\n1,2,3\n", "no latency was observed");
  refuses("prompt_tokens,output_tokens,ttft_ms\n2,3,4\n", "no time: arrival_s or timestamp");
  refuses("arrival_s,prompt_tokens,ttft_ms\n1,2,3\n", "column 'output_tokens' is missing");
  refuses("arrival_s,prompt_tokens,output_tokens,ttft_ms,ttft_s\n1,2,3,4,5\n",
          "ttft_ms and ttft_s stand for the same");
  refuses("arrival_s,prompt_token,output_tokens,ttft_ms\n1,2,3,4\n",
          "did you mean 'prompt_tokens'?");
  refuses("arrival_s,prompt_tokens,output_tokens,ttft_ms\n1,2,3,fast\n",
          "log:2:7: error: trace: 'fast' is no number of milliseconds");
  refuses("arrival_s,prompt_tokens,output_tokens,ttft_ms,e2el_ms\n1,2,3,50,40\n",
          "the first token comes after the last");
  refuses("arrival_s,prompt_tokens,output_tokens,ttft_ms\n1,2,3\n", "is the file cut short?");
}

TEST_CASE("a result of vllm bench gives arrivals, TTFT, and E2E as TTFT plus the gaps",
          "[incident]") {
  const IncidentLog log = read(
      LogFormat::vllm_bench,
      R"({"date": "20260120", "request_rate": 2.0, "input_lens": [20, 10], "output_lens": [3, 2],
          "start_times": [353400.5, 353400.0], "ttfts": [0.1, 0.2], "itls": [[0.05, 0.05], [0.1]],
          "generated_texts": ["", ""], "errors": ["", ""]})");
  REQUIRE(log.arrivals.size() == 2);
  CHECK(log.arrivals[0].prompt_tokens == 10);
  CHECK(log.arrivals[1].when == at_ms(500));
  CHECK(log.observed.requests[0].e2el == ms(300));
  CHECK(log.observed.requests[1].ttft == ms(100));
  CHECK(log.observed.requests[1].e2el == ms(200));
  CHECK(log.observed.requests[1].tpot == ms(50));
  CHECK(log.assumed.empty());
}

TEST_CASE("without start times only a benchmark that sends all at once can be replayed",
          "[incident]") {
  const std::string rest = R"("input_lens": [20, 10], "output_lens": [1, 1], "ttfts": [0.1, 0.2]})";
  const IncidentLog log =
      read(LogFormat::vllm_bench, R"({"request_rate": "inf", "max_concurrency": null, )" + rest);
  CHECK(log.arrivals[1].when == at_ms(0));
  CHECK(log.assumed.size() == 1);
  for (const std::string head :
       {R"({"request_rate": 4.0, )", R"({"request_rate": "inf", "max_concurrency": 8, )"})
    CHECK_THAT(mistakes(LogFormat::vllm_bench, head + rest),
               Contains("there are no 'start_times'") && Contains("32667"));
}

TEST_CASE("a result of vllm bench that lacks something is refused", "[incident]") {
  const auto refuses = [](const std::string& text, const std::string& message) {
    CHECK_THAT(mistakes(LogFormat::vllm_bench, text), Contains(message));
  };
  refuses("[1]", "expected one JSON object");
  refuses("{", "not JSON");
  refuses(R"({"request_rate": "inf"})", "there is no list 'input_lens'");
  refuses(R"({"request_rate": "inf", "input_lens": [5, 5], "output_lens": [1], "ttfts": [1, 2]})",
          "'output_lens' has 1 items, where input_lens has 2");
  refuses(R"({"start_times": [-1], "input_lens": [5], "output_lens": [1], "ttfts": [1]})",
          "start_times[0]: expected seconds, got -1");
  refuses(R"({"start_times": [1], "input_lens": [5], "output_lens": [0], "ttfts": [0]})",
          "--unanswered leave_out");
  refuses(
      R"({"start_times": [1], "input_lens": [5], "output_lens": [3], "ttfts": [1], "errors": ["boom"]})",
      "--unanswered leave_out");
}

TEST_CASE("lines of a server's log become arrivals that their rates and queues imply",
          "[incident]") {
  // Three requests are there at first. Then 100 tokens/s for 10 s are 5 prompts of 200, the queue
  // staying; then 5 more, and the queue grows by 2. Answers are 50/100 of a prompt.
  const IncidentLog log = read(LogFormat::vllm_log,
                               "INFO 02-26 23:59:40 [api_server.py:1] Starting\n\n" +
                                   line("23:59:50", "999.0", "999.0", 2, 1) +
                                   next_day(line("00:00:00", "100.0", "50.0", 4, 1)) +
                                   next_day(line("00:00:10", "100.0", "50.0", 4, 3)),
                               {.file = {}, .class_name = "chat", .prompt_tokens = 200});
  REQUIRE(log.arrivals.size() == 15);
  CHECK(log.classes == std::vector<std::string>{"chat"});
  for (std::size_t i = 0; i < 3; ++i) CHECK(log.arrivals[i].when == at_ms(0));
  for (std::size_t i = 0; i < 5; ++i)
    CHECK(log.arrivals[3 + i].when == at_ms(2000 * static_cast<std::int64_t>(i + 1)));
  CHECK(log.arrivals[14].when == at_ms(20'000));
  for (const Arrival& arrival : log.arrivals) {
    CHECK(arrival.prompt_tokens == 200);
    CHECK(arrival.output_tokens == 100);
  }
  REQUIRE(log.observed.queue.size() == 3);
  CHECK(log.observed.queue[2].when == at_ms(20'000));
  CHECK(log.observed.queue[2].running == 4);
  CHECK(log.observed.queue[2].waiting == 3);
  CHECK(log.assumed.size() == 3);
}

TEST_CASE("a server is silent while it is idle, and nothing arrives then", "[incident]") {
  const IncidentLog log =
      read(LogFormat::vllm_log,
           line("10:00:00", "0.0", "0.0", 0, 0) + line("10:00:10", "10.0", "10.0", 1, 0) +
               line("10:05:00", "10.0", "10.0", 1, 0),
           {.file = {}, .prompt_tokens = 100});
  REQUIRE(log.arrivals.size() == 2);
  CHECK(log.arrivals[0].when == at_ms(10'000));
  CHECK(log.arrivals[1].when == at_ms(300'000));
}

TEST_CASE("a server's log that says too little is refused", "[incident]") {
  const auto refuses = [](const std::string& text, const std::string& message) {
    CHECK_THAT(mistakes(LogFormat::vllm_log, text, {.file = {}, .prompt_tokens = 100}),
               Contains(message));
  };
  const std::string first = line("10:00:00", "1.0", "1.0", 0, 0);
  refuses("nothing\n", "0 lines with 'Avg prompt throughput:'");
  refuses(first + first, "log:2:1: error: trace: the line is not later");
  refuses(first + "Avg prompt throughput: 3\n", "no time like");
  std::string other = line("10:00:10", "1.0", "1.0", 0, 0);
  other.replace(other.find("Engine 000"), 10, "Engine 001");
  refuses(first + other, "import one engine at a time");
  CHECK_THAT(mistakes(LogFormat::vllm_log, first + line("10:00:10", "1.0", "1.0", 0, 0)),
             Contains("give the mean with --prompt-tokens"));
}
