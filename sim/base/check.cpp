#include "sim/base/check.hpp"

#include <string_view>

namespace tokenline {

void fail_check(const char* file, int line, const char* condition, const std::string& message) {
  std::string_view name(file);
  if (const auto slash = name.rfind('/'); slash != std::string_view::npos)
    name.remove_prefix(slash + 1);
  throw InternalError(fmt::format("{}:{}: {} ({})", name, line, message, condition));
}

}  // namespace tokenline
