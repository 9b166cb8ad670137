#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/diagnostic.hpp"

namespace tokenline::vllm {

/// The keys of a scenario in the making, each with the flag it comes from, and what is said beside
/// them.
class Keys {
 public:
  /// Gives `path` ("engine.max_num_seqs") a value, as YAML; an earlier one is replaced.
  void set(const std::string& path, const std::string& value, const std::string& from);
  [[nodiscard]] std::optional<std::string> value(std::string_view path) const;
  /// Where a key, or the nearest one around it, comes from; empty where none was given.
  [[nodiscard]] std::string origin(std::string_view path) const;

  /// Something that the commands ask for and nothing here does.
  void unmodelled(const std::string& flag, const std::string& why);
  /// Something that a reader of the scenario should know.
  void note(const std::string& sentence) { notes_.push_back(sentence); }
  /// A mistake in the commands.
  void mistake(config::Diagnostic diagnostic) { mistakes_.push_back(std::move(diagnostic)); }

  [[nodiscard]] const std::vector<std::string>& unmodelled() const { return unmodelled_; }
  /// Throws ConfigError with every mistake.
  void throw_if_mistakes() const;
  /// The scenario, with a comment behind each key, notes and what is not modelled in front.
  [[nodiscard]] std::string yaml(const std::string& title) const;

 private:
  struct Entry {
    std::string path;
    std::string value;
    std::string from;
  };

  std::vector<Entry> entries_;
  std::vector<std::string> unmodelled_;
  std::vector<std::string> notes_;
  std::vector<config::Diagnostic> mistakes_;
};

}  // namespace tokenline::vllm
