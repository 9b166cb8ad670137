// The measurements in calib/data/e2e: all are read, all predictions stay below their ceilings.
#include <catch2/catch.hpp>

#include "tools/validate/all.hpp"
#include "tools/validate/errors.hpp"

using namespace tokenline::validate;

TEST_CASE("every shipped measurement is predicted within its ceiling, or refused as before",
          "[validation]") {
  const auto checks = compare_all(TOKENLINE_SOURCE_DIR "/calib/data", 2);
  const Verdict verdict = judge(checks, shipped_ceilings());
  INFO(verdict.text);
  CHECK(verdict.passed);
  for (const Check& check : checks) {
    INFO(check.name);
    CHECK_FALSE(check.comparison.rows.empty());
  }
}
