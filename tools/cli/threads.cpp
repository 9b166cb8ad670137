#include "tools/cli/threads.hpp"

#include <fmt/format.h>

#include "sim/config/numbers.hpp"
#include "sim/report/parallel.hpp"

namespace tokenline::cli {

std::size_t threads(const Arguments& arguments) {
  const auto text = arguments.value("threads");
  if (!text) return report::hardware_threads();
  const auto number = config::parse_integer(*text);
  if (!number.ok() || number.value < 1 || number.value > 1024)
    throw UsageError(fmt::format("--threads {}: expected a whole number from 1 to 1024", *text));
  return static_cast<std::size_t>(number.value);
}

}  // namespace tokenline::cli
