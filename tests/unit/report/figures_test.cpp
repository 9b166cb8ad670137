#include "sim/report/figures.hpp"

#include <catch2/catch.hpp>
#include <limits>

#include "sim/base/check.hpp"

using namespace tokenline::report;

TEST_CASE("a number shows four significant digits and no exponent", "[report]") {
  CHECK(figure_text(0.012345) == "0.01235");
  CHECK(figure_text(0.5) == "0.5000");
  CHECK(figure_text(12.345678) == "12.35");
  CHECK(figure_text(9417.4) == "9417");
  CHECK(figure_text(1e7) == "10000000");
  CHECK(figure_text(-2.5) == "-2.500");
  CHECK(figure_text(0.0) == "0");
}

TEST_CASE("a count shows every digit and what is missing shows a dash", "[report]") {
  CHECK(figure_text(12'345'678.0, true) == "12345678");
  CHECK(figure_text(std::nullopt) == "-");
  CHECK(figure_text(std::nullopt, true) == "-");
}

TEST_CASE("a ratio to nothing is empty, not infinite", "[report]") {
  CHECK_FALSE(ratio(1.0, 0.0));
  CHECK_FALSE(ratio(0.0, 0.0));
  CHECK(ratio(1.0, 4.0) == 0.25);
}

TEST_CASE("a figure that is not a number is our bug", "[report]") {
  Figures figures;
  CHECK_THROWS_AS(figures.amount("x_ms", std::numeric_limits<double>::quiet_NaN()),
                  tokenline::InternalError);
  CHECK_THROWS_AS(figures.amount("x_ms", std::numeric_limits<double>::infinity()),
                  tokenline::InternalError);
}

TEST_CASE("units follow from names", "[report]") {
  CHECK(unit_of("p99_ttft_ms") == "ms");
  CHECK(unit_of("duration_s") == "s");
  CHECK(unit_of("output_throughput") == "tok/s");
  CHECK(unit_of("request_throughput") == "req/s");
  CHECK(unit_of("recomputed_tokens") == "tok");
  CHECK(unit_of("restarts").empty());
}
