#include "workloads/traffic/class_name.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tokenline::traffic {

std::string class_name_problem(std::string_view name) {
  if (name.empty()) return "a class needs a name";
  if (name == "all") return "'all' is the sum of the classes, not the name of one";
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  if (!std::ranges::all_of(name, plain))
    return fmt::format("class name '{}' has other characters than letters, digits, '_' and '-'",
                       name);
  return {};
}

}  // namespace tokenline::traffic
