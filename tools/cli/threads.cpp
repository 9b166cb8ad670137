#include "tools/cli/threads.hpp"

#include "sim/report/parallel.hpp"

namespace tokenline::cli {

std::size_t threads(const Arguments& arguments) {
  if (!arguments.has("threads")) return report::hardware_threads();
  return static_cast<std::size_t>(arguments.integer("threads", 1, 1, 1024));
}

}  // namespace tokenline::cli
