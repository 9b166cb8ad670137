#pragma once

#include <string>
#include <vector>

namespace tokenline::bad_input {

/// A correct file of tests/unit/cli/bad_input with one passage changed, and what must be said of
/// it.
struct Mistake {
  std::string what;
  std::string passage;              ///< Occurs once in the file; empty: the whole file.
  std::string becomes;              ///< What stands in its place.
  std::vector<std::string> errors;  ///< How the lines of the mistakes begin: all of them, in order.
  std::string hint = "";            ///< Part of the report besides; empty: not looked at.
};

}  // namespace tokenline::bad_input
