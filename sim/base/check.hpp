#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace tokenline {

/// Our bug, never the user's mistake: a broken invariant. The command line turns it into exit
/// code 70.
class InternalError : public std::logic_error {
  using std::logic_error::logic_error;
};

/// Throws InternalError naming the place and the broken condition.
[[noreturn]] void fail_check(const char* file, int line, const char* condition,
                             const std::string& message);

}  // namespace tokenline

/// Holds in release builds too. The message is a fmt format string; where simulated time is known
/// the caller puts it there.
#define TOKENLINE_CHECK(condition, ...)                                                    \
  do {                                                                                     \
    if (!(condition)) [[unlikely]]                                                         \
      ::tokenline::fail_check(__FILE__, __LINE__, #condition, ::fmt::format(__VA_ARGS__)); \
  } while (false)
