#include "tools/cli/arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>

#include "sim/config/diagnostic.hpp"
#include "sim/config/numbers.hpp"

namespace tokenline::cli {
namespace {

namespace po = boost::program_options;

std::string long_name(const Option& option) { return option.name.substr(0, option.name.find(',')); }

po::options_description described(const Usage& usage) {
  po::options_description all("Options");
  for (const Option& option : usage.options) {
    if (option.value_name.empty()) {
      all.add_options()(option.name.c_str(), option.help.c_str());
      continue;
    }
    auto* value = po::value<std::vector<std::string>>()->value_name(option.value_name);
    if (option.repeatable) value->composing();
    all.add_options()(option.name.c_str(), value, option.help.c_str());
  }
  all.add_options()("help,h", "Print this text.");
  return all;
}

std::vector<std::string> dashed_names(const Usage& usage) {
  std::vector<std::string> names{"--help"};
  for (const Option& option : usage.options) names.push_back("--" + long_name(option));
  return names;
}

po::parsed_options parsed(const Usage& usage, const po::options_description& all,
                          const std::vector<std::string>& words) {
  try {
    const auto style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    return po::command_line_parser(words).options(all).style(style).run();
  } catch (const po::unknown_option& e) {
    throw UsageError(unknown("option", e.get_option_name(), dashed_names(usage)));
  } catch (const po::error& e) {
    throw UsageError(e.what());
  }
}

}  // namespace

std::optional<std::string> Arguments::value(const std::string& option) const {
  const auto found = values_.find(option);
  if (found == values_.end()) return std::nullopt;
  return found->second.back();
}

std::vector<std::string> Arguments::values(const std::string& option) const {
  const auto found = values_.find(option);
  return found == values_.end() ? std::vector<std::string>{} : found->second;
}

std::string Arguments::required(const std::string& option) const {
  const auto given = value(option);
  if (!given) throw UsageError(fmt::format("option '--{}' is missing", option));
  return *given;
}

std::int64_t Arguments::integer(const std::string& option, std::int64_t standard, std::int64_t low,
                                std::int64_t high) const {
  const auto given = value(option);
  if (!given) return standard;
  const auto number = config::parse_integer(*given);
  if (!number.ok() || number.value < low || number.value > high)
    throw UsageError(
        fmt::format("--{} {}: expected a whole number from {} to {}", option, *given, low, high));
  return number.value;
}

std::string Arguments::word(const std::string& option,
                            const std::vector<std::string>& choices) const {
  const std::string given = value(option).value_or(choices.front());
  if (std::ranges::find(choices, given) == choices.end())
    throw UsageError(unknown("--" + option, given, choices));
  return given;
}

std::optional<Arguments> parse(const Usage& usage, const std::vector<std::string>& words) {
  const auto all = described(usage);
  Arguments arguments;
  std::vector<std::string> free_words;
  for (const auto& option : parsed(usage, all, words).options) {
    if (option.string_key == "help") return std::nullopt;
    if (option.position_key >= 0) {
      free_words.insert(free_words.end(), option.value.begin(), option.value.end());
      continue;
    }
    const auto declared = std::ranges::find(usage.options, option.string_key, long_name);
    auto& values = arguments.values_[option.string_key];
    if (!values.empty() && !declared->repeatable)
      throw UsageError(fmt::format("option '--{}' is given twice", option.string_key));
    values.insert(values.end(), option.value.begin(), option.value.end());
    if (declared->value_name.empty()) values.emplace_back();
  }
  const std::size_t wanted = usage.positional.empty() ? 0 : 1;
  const bool several = usage.positional.ends_with("…");
  if (free_words.size() < wanted)
    throw UsageError(fmt::format("{} is missing: tokenline {}", usage.positional, usage.synopsis));
  if (free_words.size() > wanted && !several)
    throw UsageError(
        fmt::format("unexpected argument '{}': tokenline {}", free_words[wanted], usage.synopsis));
  arguments.positionals_ = std::move(free_words);
  return arguments;
}

std::string help_text(const Usage& usage) {
  std::ostringstream options;
  options << described(usage);
  return fmt::format("usage: tokenline {}\n\n{}\n\n{}{}{}", usage.synopsis, usage.about,
                     options.str(), usage.epilogue.empty() ? "" : "\n", usage.epilogue);
}

std::string unknown(std::string_view what, const std::string& word,
                    const std::vector<std::string>& known) {
  return fmt::format("unknown {} '{}'\n  hint: {}", what, word, config::suggestion(word, known));
}

}  // namespace tokenline::cli
