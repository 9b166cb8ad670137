#pragma once

#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

#include "sim/config/node.hpp"
#include "tests/support/scratch.hpp"

namespace tokenline {

/// What a command left.
struct Ran {
  int exit_code = 0;
  std::string out;
  std::string err;
};

/// The built tool, quoted, for a shell.
inline const std::string tool = "'" TOKENLINE_BINARY "' ";

/// Runs a shell command in the scratch folder.
inline Ran shell(const Scratch& scratch, const std::string& command) {
  const std::string all = "cd '" + scratch.path() + "' && { " + command + "; } >'" +
                          scratch / "stdout" + "' 2>'" + scratch / "stderr" + "'";
  const int status = std::system(all.c_str());
  REQUIRE(WIFEXITED(status));
  return {WEXITSTATUS(status), config::read_file(scratch / "stdout"),
          config::read_file(scratch / "stderr")};
}

/// Runs `tokenline <arguments>` there.
inline Ran execute(const Scratch& scratch, const std::string& arguments) {
  return shell(scratch, tool + arguments);
}

}  // namespace tokenline
