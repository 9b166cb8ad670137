#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tokenline::cli {

/// A command line that cannot be meant. what() is the message, with a hint where there is one.
class UsageError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// One option of a command.
struct Option {
  std::string name;        ///< "seed", or "output,o" with a short form.
  std::string value_name;  ///< "N"; empty for a switch.
  std::string help;
  bool repeatable = false;
};

/// What a command accepts, and its `--help`.
struct Usage {
  std::string synopsis;  ///< "run SCENARIO [options]"
  std::string about;     ///< Paragraphs before the options.
  /// Name of the one argument without a dash; ends in "…" where there may be several; empty when
  /// there is none.
  std::string positional;
  std::vector<Option> options;
  std::string epilogue;  ///< Units, exit codes, examples.
};

/// A parsed command line.
class Arguments {
 public:
  [[nodiscard]] bool has(const std::string& option) const { return values_.contains(option); }
  [[nodiscard]] std::optional<std::string> value(const std::string& option) const;
  [[nodiscard]] std::vector<std::string> values(const std::string& option) const;
  /// Throws UsageError when the option was not given.
  [[nodiscard]] std::string required(const std::string& option) const;
  /// The whole number given, `standard` without one. Throws UsageError where it is none or outside
  /// `low` to `high`.
  [[nodiscard]] std::int64_t integer(const std::string& option, std::int64_t standard,
                                     std::int64_t low, std::int64_t high) const;
  /// The word given, the first of `choices` without one. Throws UsageError for any other.
  [[nodiscard]] std::string word(const std::string& option,
                                 const std::vector<std::string>& choices) const;
  [[nodiscard]] const std::string& positional() const { return positionals_.front(); }
  [[nodiscard]] const std::vector<std::string>& positionals() const { return positionals_; }

 private:
  friend std::optional<Arguments> parse(const Usage& usage, const std::vector<std::string>& words);
  std::map<std::string, std::vector<std::string>> values_;
  std::vector<std::string> positionals_;
};

/// Parses the words after the command's name. Empty when they ask for `--help`. Throws UsageError
/// with a did-you-mean; options cannot be abbreviated.
[[nodiscard]] std::optional<Arguments> parse(const Usage& usage,
                                             const std::vector<std::string>& words);

[[nodiscard]] std::string help_text(const Usage& usage);

/// "unknown command 'rnu'", with a hint.
[[nodiscard]] std::string unknown(std::string_view what, const std::string& word,
                                  const std::vector<std::string>& known);

}  // namespace tokenline::cli
