#include "sim/base/quantity.hpp"

#include <catch2/catch.hpp>
#include <type_traits>

using namespace tokenline;
using namespace tokenline::literals;

namespace {

template <class A, class B>
concept Addable = requires(A a, B b) { a + b; };
template <class A, class B>
concept Comparable = requires(A a, B b) { a < b; };

}  // namespace

TEST_CASE("dimensions multiply by adding exponents and divide by subtracting them") {
  STATIC_REQUIRE(std::is_same_v<decltype(Bytes(1.0) / Seconds(1.0)), BytesPerSecond>);
  STATIC_REQUIRE(std::is_same_v<decltype(Bytes(1.0) / BytesPerSecond(1.0)), Seconds>);
  STATIC_REQUIRE(std::is_same_v<decltype(Flops(1.0) / FlopsPerSecond(1.0)), Seconds>);
  STATIC_REQUIRE(std::is_same_v<decltype(Flops(1.0) / Bytes(1.0)), FlopsPerByte>);
  STATIC_REQUIRE(std::is_same_v<decltype(FlopsPerSecond(1.0) / BytesPerSecond(1.0)), FlopsPerByte>);
  STATIC_REQUIRE(std::is_same_v<decltype(BytesPerSecond(1.0) * Seconds(1.0)), Bytes>);
  STATIC_REQUIRE(std::is_same_v<decltype(FlopsPerByte(1.0) * Bytes(1.0)), Flops>);
  STATIC_REQUIRE(std::is_same_v<decltype(Seconds(1.0) / Seconds(1.0)), double>);
}

TEST_CASE("amounts of different dimension neither add nor compare") {
  STATIC_REQUIRE(Addable<Seconds, Seconds>);
  STATIC_REQUIRE_FALSE(Addable<Seconds, Bytes>);
  STATIC_REQUIRE_FALSE(Addable<Flops, FlopsPerSecond>);
  STATIC_REQUIRE_FALSE(Addable<Seconds, double>);
  STATIC_REQUIRE(Comparable<Bytes, Bytes>);
  STATIC_REQUIRE_FALSE(Comparable<Bytes, Flops>);
}

TEST_CASE("a plain number becomes an amount only explicitly, and an amount never a number") {
  STATIC_REQUIRE(std::is_constructible_v<Seconds, double>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<double, Seconds>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<Seconds, double>);
}

TEST_CASE("arithmetic is that of the base units") {
  Bytes total;
  CHECK(total == Bytes(0.0));
  total += Bytes(3.0);
  total -= Bytes(1.0);
  CHECK(total == Bytes(2.0));
  CHECK(Bytes(3.0) + Bytes(1.0) - Bytes(2.0) == Bytes(2.0));
  CHECK(2.0 * Bytes(3.0) == Bytes(3.0) * 2.0);
  CHECK(Bytes(6.0) / 2.0 == Bytes(3.0));
  CHECK(Bytes(6.0) / Bytes(2.0) == 3.0);
  CHECK(Bytes(1.0) < Bytes(2.0));
}

TEST_CASE("reading 140 GB at 2 TB/s takes 70 ms") {
  CHECK((Bytes(140e9) / BytesPerSecond(2e12)).value() == Approx((70.0_ms).value()).epsilon(1e-15));
}

TEST_CASE("the time literals differ by factors of a thousand") {
  CHECK((1.0_s).value() == 1.0);
  CHECK((1.0_ms).value() == 1e-3);
  CHECK((1.0_us).value() == 1e-6);
}
