#include "sim/report/requests_csv.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/report/builders.hpp"

using namespace tokenline;
using namespace tokenline::report;
using namespace std::chrono_literals;

namespace {

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> fields;
  std::string field;
  for (const char c : line + ",")
    if (c == ',')
      fields.push_back(std::exchange(field, {}));
    else
      field += c;
  return fields;
}

/// The lines of requests.csv, cut at commas.
std::vector<std::vector<std::string>> rows(const RunResult& run) {
  std::ostringstream out;
  write_requests_csv(out, run);
  std::istringstream in(out.str());
  std::vector<std::vector<std::string>> all;
  for (std::string line; std::getline(in, line);) all.push_back(split(line));
  return all;
}

std::string field(const RunResult& run, std::size_t request, const std::string& column) {
  const auto all = rows(run);
  const auto at = std::find(all[0].begin(), all[0].end(), column);
  REQUIRE(at != all[0].end());
  return all.at(request + 1).at(static_cast<std::size_t>(at - all[0].begin()));
}

}  // namespace

TEST_CASE("requests.csv has the columns of a request and of its ledger", "[report]") {
  const auto header = rows(run_of({"chat"})).at(0);
  REQUIRE(header.size() == 15 + ttft_part_count + part_count);
  CHECK(header[0] == "request_id");
  CHECK(header[4] == "arrival_s");
  CHECK(header[15] == "ttft_wait_step_ms");
  CHECK(header.back() == "e2el_decode_stalled_ms");
}

TEST_CASE("times are exact decimals of nanoseconds, however large", "[report]") {
  RunResult run = run_of({"chat"});
  // 2^53 + 1 ns is no double.
  const Duration arrival((std::int64_t{1} << 53) + 1);
  run.log.records.push_back(
      completed({.arrival = arrival, .ttft = 1ns, .e2el = 1'000'001ns, .output_tokens = 2}));
  CHECK(field(run, 0, "arrival_s") == "9007199.254740993");
  CHECK(field(run, 0, "ttft_ms") == "0.000001");
  CHECK(field(run, 0, "e2el_ms") == "1.000001");
  CHECK(field(run, 0, "tpot_ms") == "1.000000");
  CHECK(field(run, 0, "first_token_s") == "9007199.254740994");
  CHECK(field(run, 0, "finish_s") == "9007199.255740994");
}

TEST_CASE("time per output token is rounded to the nanosecond, halves up", "[report]") {
  RunResult run = run_of({"chat"});
  const auto tpot = [&](Duration decode, std::int64_t output) {
    run.log.records = RequestRecords();
    run.log.records.push_back(
        completed({.ttft = 5ns, .e2el = 5ns + decode, .output_tokens = output}));
    return field(run, 0, "tpot_ms");
  };
  CHECK(tpot(3ns, 3) == "0.000002");
  CHECK(tpot(4ns, 4) == "0.000001");
  CHECK(tpot(5ns, 4) == "0.000002");
  CHECK(tpot(0ns, 1).empty());
}

TEST_CASE("a lost request has an end but neither latencies nor a ledger", "[report]") {
  RunResult run = run_of({"chat"});
  run.log.records.push_back(lost(1s, 2s));
  CHECK(field(run, 0, "outcome") == "lost_oom");
  CHECK(field(run, 0, "finish_s") == "3.000000000");
  CHECK(field(run, 0, "retries") == "2");
  for (const char* column : {"ttft_ms", "tpot_ms", "e2el_ms", "first_token_s", "ttft_restart_ms",
                             "e2el_decode_stalled_ms"})
    CHECK(field(run, 0, column).empty());
  CHECK(rows(run)[1].size() == rows(run)[0].size());
}

TEST_CASE("a rejected request has no instance, and ends when it arrives", "[report]") {
  RunResult run = run_of({"chat"});
  run.log.records.push_back(rejected(1s));
  CHECK(field(run, 0, "outcome") == "rejected");
  CHECK(field(run, 0, "instance").empty());
  CHECK(field(run, 0, "arrival_s") == "1.000000000");
  CHECK(field(run, 0, "finish_s") == "1.000000000");
  CHECK(field(run, 0, "e2el_ms").empty());
  CHECK(rows(run)[1].size() == rows(run)[0].size());
}

TEST_CASE("ledger columns sum to the latency", "[report]") {
  RunResult run = run_of({"chat"});
  run.log.records.push_back(completed({.ttft = 3ns, .e2el = 10ns}));
  CHECK(field(run, 0, "ttft_wait_kv_blocks_ms") == "0.000001");
  CHECK(field(run, 0, "ttft_own_prefill_ms") == "0.000002");
  CHECK(field(run, 0, "e2el_decode_floor_ms") == "0.000007");
}
