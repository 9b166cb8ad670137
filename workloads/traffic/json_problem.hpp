#pragma once

#include <string>
#include <string_view>

namespace tokenline::traffic {

/// What a JSON parser says is wrong, without its own account of the place: nlohmann-json begins
/// with "[json.exception…] parse error at line 1, column 16: ".
[[nodiscard]] inline std::string json_problem(std::string_view what) {
  const auto colon = what.find(": ");
  return "not JSON: " +
         std::string(colon == std::string_view::npos ? what : what.substr(colon + 2));
}

}  // namespace tokenline::traffic
