#include "sim/engine/token_gaps.hpp"

#include <catch2/catch.hpp>

using namespace tokenline;

namespace {
TimePoint at(std::int64_t ms) { return TimePoint{} + std::chrono::milliseconds(ms); }
}  // namespace

TEST_CASE("each sequence's gap runs from its own last token", "[gaps]") {
  TokenGaps gaps(2);
  std::vector<stats::Histogram> out(2);
  gaps.started(at(10), 0);
  gaps.started(at(30), 1);  // prefilled later; no decode step in between
  gaps.decoded(at(50), out);
  CHECK(out[0].count() == 1);
  CHECK(out[0].mean()->value() == Approx(0.040));
  CHECK(out[1].mean()->value() == Approx(0.020));
  gaps.decoded(at(55), out);
  CHECK(out[0].mean()->value() == Approx((0.040 + 0.005) / 2));
  CHECK(out[1].mean()->value() == Approx((0.020 + 0.005) / 2));
}

TEST_CASE("a sequence that stopped leaves no gap behind", "[gaps]") {
  TokenGaps gaps(1);
  std::vector<stats::Histogram> out(1);
  gaps.started(at(0), 0);
  gaps.decoded(at(10), out);
  gaps.started(at(15), 0);
  gaps.started(at(20), 0);
  gaps.stopped(at(15), 0, false);  // preempted before its first decode step
  gaps.stopped(at(0), 0, true);    // finished; its last token left with the step at 10 ms
  gaps.decoded(at(30), out);
  CHECK(out[0].count() == 2);
  CHECK(out[0].mean()->value() == Approx(0.010));  // 10 - 0, 30 - 20
}
