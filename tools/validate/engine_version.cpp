#include "tools/validate/engine_version.hpp"

#include <fmt/format.h>

#include <regex>

#include "sim/base/check.hpp"

namespace tokenline::validate {

std::optional<EngineVersion> parse_version(std::string_view text) {
  static const std::regex pattern(
      R"((\d{1,4})\.(\d{1,4})(\.\d{1,4})*((rc|a|b)\d{1,4})?(\.post\d{1,4})?(\.dev\d{1,6})?)");
  // NVIDIA's container for gpt-oss of August 2025, from the branch that became 1.1.
  if (text == "gpt-oss-dev") return EngineVersion{1, 1};
  // std::regex recurses with the length of the text.
  constexpr std::size_t longest = 64;
  if (text.size() > longest) return std::nullopt;
  std::match_results<std::string_view::const_iterator> match;
  if (!std::regex_match(text.begin(), text.end(), match, pattern)) return std::nullopt;
  return EngineVersion{std::stoi(match[1]), std::stoi(match[2])};
}

std::string version_mistake(std::string_view engine, std::string_view version) {
  if (version.empty() || parse_version(version)) return "";
  return fmt::format("'{}' is no version of {}", version, engine);
}

std::string preset_of_engine(const std::string& engine, std::string_view version) {
  if (engine != "vllm") return engine;
  if (version.empty()) return "vllm-v1";
  const auto number = parse_version(version);
  TOKENLINE_CHECK(number, "'{}' is no version", version);
  // Engine V1 is the default from 0.8.0 on, asynchronous scheduling from 0.14.0 on.
  constexpr EngineVersion first_v1{0, 8};
  constexpr EngineVersion first_async{0, 14};
  if (*number < first_v1) return "vllm-v0";
  return *number < first_async ? "vllm-v1" : "vllm-v1-async";
}

}  // namespace tokenline::validate
