#include "sim/base/check.hpp"

#include <catch2/catch.hpp>
#include <string>

using namespace tokenline;

TEST_CASE("a condition that holds is evaluated once, and its message never") {
  int conditions = 0;
  int messages = 0;
  TOKENLINE_CHECK(++conditions == 1, "{}", ++messages);
  CHECK(conditions == 1);
  CHECK(messages == 0);
}

TEST_CASE("a broken condition names file, line, condition and message") {
  const int free_blocks = -1;
  const int line = __LINE__ + 2;
  try {
    TOKENLINE_CHECK(free_blocks >= 0, "{} blocks free", free_blocks);
    FAIL("no exception");
  } catch (const InternalError& error) {
    CHECK(std::string(error.what()) ==
          fmt::format("check_test.cpp:{}: -1 blocks free (free_blocks >= 0)", line));
  }
}

TEST_CASE("a check is one statement, also between if and else") {
  bool reached = false;
  if (reached)
    TOKENLINE_CHECK(false, "not taken");
  else
    reached = true;
  CHECK(reached);
}

TEST_CASE("a broken invariant is a logic error, so no handler of runtime errors hides it") {
  CHECK_THROWS_AS(fail_check("a/b.cpp", 1, "x", "y"), std::logic_error);
}
