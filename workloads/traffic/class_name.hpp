#pragma once

#include <string>
#include <string_view>

namespace tokenline::traffic {

/// Why a class cannot have this name, as a message for the user; empty if it can. Names are ASCII
/// letters, digits, '_' and '-', since they stand in paths of overrides and in CSV fields; `all` is
/// the sum of the classes in every output.
[[nodiscard]] std::string class_name_problem(std::string_view name);

}  // namespace tokenline::traffic
