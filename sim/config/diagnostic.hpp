#pragma once

#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tokenline::config {

/// A place in an input file; lines and columns count from 1.
struct Location {
  std::string file;
  int line = 1;
  int column = 1;
};

/// One mistake of the user's: where, on which path ("engine.block_size"), what, and what to do.
struct Diagnostic {
  Location where;
  std::string path;
  std::string message;
  std::string hint;
};

/// Every mistake of an input at once: by file in the order of their first mistake, then in the
/// order of the text. what() is the finished report: `file:line:column: error: path: message` (the
/// path left out where there is none) and `  hint: …` lines.
class ConfigError : public std::runtime_error {
 public:
  explicit ConfigError(std::vector<Diagnostic> diagnostics);
  explicit ConfigError(Diagnostic diagnostic);
  [[nodiscard]] std::span<const Diagnostic> diagnostics() const { return diagnostics_; }

 private:
  std::vector<Diagnostic> diagnostics_;
};

/// Gathers the mistakes of several inputs, so that all of them come out at once.
class Mistakes {
 public:
  /// Calls `read` and keeps the mistakes that it throws as a ConfigError.
  template <class Read>
  void gather(const Read& read) {
    try {
      read();
    } catch (const ConfigError& e) {
      all_.insert(all_.end(), e.diagnostics().begin(), e.diagnostics().end());
    }
  }
  /// Throws ConfigError with all that was kept; returns if there was nothing.
  void throw_if_any() const {
    if (!all_.empty()) throw ConfigError(all_);
  }

 private:
  std::vector<Diagnostic> all_;
};

/// The closest candidate within an edit distance (insert, delete, replace: 1 each) of
/// max(1, word.size()/3), the first of equals, if any: the one did-you-mean of the project.
[[nodiscard]] std::optional<std::string> closest(std::string_view word,
                                                 std::span<const std::string> candidates);

/// "did you mean 'x'?" where a candidate is close, otherwise "one of: a, b, c"; empty when there
/// are no candidates.
[[nodiscard]] std::string suggestion(std::string_view word,
                                     std::span<const std::string> candidates);

}  // namespace tokenline::config
