// What was measured of a scenario's traffic, as a file.
#include "workloads/traffic/observed.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "tests/support/scratch.hpp"

using namespace tokenline;
using namespace tokenline::traffic;
using Catch::Contains;

namespace {

Observed read(const std::string& text) {
  const Scratch folder;
  const std::string file = folder.write("observed.csv", text);
  config::Document document(config::parse_yaml("s.yaml", "{}"));
  Observed observed = read_observed(document, file);
  document.throw_if_errors();
  return observed;
}

}  // namespace

TEST_CASE("measurements read back as they are written", "[observed]") {
  for (const std::string text :
       {"arrival_s,class,ttft_ms,tpot_ms,e2el_ms\n0.000000000,a,1.500000,,20.000001\n"
        "0.250000000,b,,3.000000,\n",
        "arrival_s,e2el_ms\n1.000000000,7.250000\n1.000000000,\n",
        "time_s,running,waiting\n0.000000000,3,0\n10.000000000,4,17\n"})
    CHECK(observed_csv(read(text)) == text);
}

TEST_CASE("milliseconds are read to the nanosecond", "[observed]") {
  CHECK(parse_milliseconds("1.5") == Duration(1'500'000));
  CHECK(parse_milliseconds("0.000001") == Duration(1));
  CHECK(parse_milliseconds("12345.678901") == Duration(12'345'678'901));
  CHECK(parse_milliseconds("33.333333333333336") == Duration(33'333'333));
  for (const char* text : {"", "-1", "fast", "nan", "1,5"})
    CHECK_FALSE(parse_milliseconds(text).has_value());
}

TEST_CASE("measurements that cannot be meant are refused at their place", "[observed]") {
  const auto refuses = [](const std::string& text, const std::string& message) {
    CHECK_THROWS_WITH(read(text), Contains(message));
  };
  refuses("arrival_s,class\n1,a\n", "no latency: ttft_ms, tpot_ms or e2el_ms");
  refuses("class,ttft_ms\na,1\n", "column 'arrival_s' is missing");
  refuses("arrival_s,ttft_s\n1,1\n", "did you mean 'ttft_ms'?");
  refuses("arrival_s,ttft_ms,ttft_ms\n1,1,1\n", "column 'ttft_ms' is given twice");
  refuses("time_s,running\n1,1\n", "column 'waiting' is missing");
  refuses("arrival_s,ttft_ms\n2,1\n1,1\n", "observed.csv:3:1: error: trace: '1' is earlier");
  refuses("arrival_s,ttft_ms\n2,-1\n", "observed.csv:2:3: error: trace: '-1' is no number");
  refuses("time_s,running,waiting\n1,1,-1\n", "expected a whole number of requests, got '-1'");
  refuses("arrival_s,ttft_ms\n2\n", "is the file cut short?");
  refuses("arrival_s,ttft_ms\n", "a header without rows");
}
