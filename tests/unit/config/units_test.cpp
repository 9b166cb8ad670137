#include "sim/config/units.hpp"

#include <catch2/catch.hpp>

#include "sim/config/numbers.hpp"
#include "sim/config/reader.hpp"

using namespace tokenline;
using namespace tokenline::config;

TEST_CASE("a quantity is the double nearest to its decimal value in base units", "[config]") {
  CHECK(parse_seconds("512 ms")->value() == 0.512);
  CHECK(parse_seconds("0.3ms")->value() == 0.0003);
  CHECK(parse_seconds("7 us")->value() == 7e-6);
  CHECK(parse_seconds("3 ns")->value() == 3e-9);
  CHECK(parse_seconds("1.5 min")->value() == 90.0);
  CHECK(parse_seconds("2 h")->value() == 7200.0);
  CHECK(parse_bytes("80 GB")->value() == 80e9);
  CHECK(parse_bytes("80 GiB")->value() == 80.0 * 1024 * 1024 * 1024);
  CHECK(parse_bytes("1 kB")->value() == 1000.0);
  CHECK(parse_bytes("16_384 B")->value() == 16384.0);
  CHECK(parse_bandwidth("3.35 TB/s")->value() == 3.35e12);
  CHECK(parse_bandwidth("2 MiB/s")->value() == 2.0 * 1024 * 1024);
  CHECK(parse_flop_rate("989 TFLOP/s")->value() == 989e12);
  CHECK(parse_rate("35/s")->value() == 35.0);
  CHECK(parse_rate("35 /s")->value() == 35.0);
  CHECK(parse_rate("90/min")->value() == 1.5);
  CHECK(parse_rate("1.98 GHz")->value() == 1.98e9);
  CHECK(parse_power("700 W")->value() == 700.0);
  CHECK(parse_power("1.2 kW")->value() == 1200.0);
  CHECK(parse_seconds("1e3 ms")->value() == 1.0);
  CHECK(parse_seconds("-1 s")->value() == -1.0);
}

TEST_CASE("zero needs no unit, every other number does", "[config]") {
  CHECK(parse_seconds("0")->value() == 0.0);
  CHECK(parse_bytes("0.0")->value() == 0.0);
  CHECK_FALSE(parse_seconds("1"));
  CHECK_FALSE(parse_rate("35"));
}

TEST_CASE("a quantity is a number and a unit of its own kind, nothing else", "[config]") {
  for (const auto* text :
       {"", "s", "5 GB", "5 S", "5 m s", "five s", "1,5 s", "0x5 s", "05 s", "nan s", "inf s",
        "1e999 s", "1e308 h", "5 s s", "5e s", "1_ s", "--1 s", "1 s\n"})
    CHECK_FALSE(parse_seconds(text));
  for (const auto* text : {"1 gb", "1 KB", "1 s", "1 GB/s"}) CHECK_FALSE(parse_bytes(text));
  for (const auto* text : {"1 Gb/s", "1 Gbit/s", "1 GB"}) CHECK_FALSE(parse_bandwidth(text));
}

TEST_CASE("an amount is printed in the largest unit it reaches", "[config]") {
  CHECK(format_amount(time_dimension, 0.0005) == "500 us");
  CHECK(format_amount(time_dimension, 1.0) == "1 s");
  CHECK(format_amount(time_dimension, 3600.0) == "3600 s");
  CHECK(format_amount(time_dimension, 0.0) == "0");
  CHECK(format_amount(size_dimension, 80e9) == "80 GB");
  CHECK(format_amount(size_dimension, 1.0) == "1 B");
  CHECK(format_amount(rate_dimension, 35.0) == "35/s");
  CHECK(format_amount(flop_rate_dimension, 9.89e14) == "989 TFLOP/s");
}

TEST_CASE("integers are decimal digits with a sign and single underscores", "[config]") {
  CHECK(parse_integer("16_384").value == 16384);
  CHECK(parse_integer("-5").value == -5);
  CHECK(parse_integer("+5").value == 5);
  CHECK(parse_integer("0").ok());
  CHECK(parse_integer("9223372036854775807").value == std::numeric_limits<std::int64_t>::max());
  CHECK(parse_integer("9223372036854775808").trouble == std::errc::result_out_of_range);
  for (const auto* text : {"", "-", "_1", "1_", "1__0", "010", "00", "0_1", "0x10", "0o7", "1e3",
                           "1.0", "1 ", " 1", "+-1", "inf", "nan", "1a"})
    CHECK(parse_integer(text).trouble == std::errc::invalid_argument);
}

TEST_CASE("reals are finite decimals", "[config]") {
  CHECK(parse_real("0.5").value == 0.5);
  CHECK(parse_real(".5").value == 0.5);
  CHECK(parse_real("1e-3").value == 1e-3);
  CHECK(parse_real("-16_384.25").value == -16384.25);
  CHECK(parse_real("1e999").trouble == std::errc::result_out_of_range);
  for (const auto* text : {"", ".", "nan", "inf", "-inf", ".inf", ".nan", "infinity", "0x1p3",
                           "01.5", "1e", "1._5", "1,5"})
    CHECK(parse_real(text).trouble == std::errc::invalid_argument);
}

TEST_CASE("a near miss of an integer is told what to write", "[config]") {
  CHECK(integer_hint("010") == "write 10");
  CHECK(integer_hint("0x10") == "write 16");
  CHECK(integer_hint("1e6") == "write 1000000");
  CHECK(integer_hint("8.0") == "write 8");
  CHECK(integer_hint("8.5").empty());
  CHECK(integer_hint("abc").empty());
  CHECK(integer_hint("").empty());
  CHECK(integer_hint("1e300").empty());
}
