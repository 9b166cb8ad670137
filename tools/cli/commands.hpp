#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tokenline::cli {

/// Exit codes of every command.
enum ExitCode : int {
  success = 0,
  assert_failed = 1,  ///< A condition does not hold: an assert of the scenario, a ceiling.
  bad_input = 2,      ///< A file, an option or an output that is wrong.
  our_bug = 70,       ///< A broken invariant, or an audit that failed.
};

/// What a command leaves: its exit code, the text for standard output, and what a user should know
/// beside it, whole lines for standard error.
struct Outcome {
  int exit_code = success;
  std::string output;
  std::string notes{};
};

/// One command: a file of this folder and a line in commands().
struct Command {
  std::string_view name;
  std::string_view summary;
  Outcome (*execute)(const std::vector<std::string>& words);
};

[[nodiscard]] std::span<const Command> commands();

/// The end of every `--help`.
[[nodiscard]] std::string_view exit_codes();

Outcome run_command(const std::vector<std::string>& words);
Outcome why_command(const std::vector<std::string>& words);
Outcome compare_command(const std::vector<std::string>& words);
Outcome sweep_command(const std::vector<std::string>& words);
Outcome merge_command(const std::vector<std::string>& words);
Outcome shrink_command(const std::vector<std::string>& words);
Outcome from_vllm_command(const std::vector<std::string>& words);
Outcome to_vllm_command(const std::vector<std::string>& words);
Outcome incident_command(const std::vector<std::string>& words);
Outcome advise_command(const std::vector<std::string>& words);
Outcome plan_command(const std::vector<std::string>& words);
Outcome list_command(const std::vector<std::string>& words);
Outcome describe_command(const std::vector<std::string>& words);
Outcome roofline_command(const std::vector<std::string>& words);
Outcome lab_command(const std::vector<std::string>& words);
Outcome calibrate_command(const std::vector<std::string>& words);
Outcome validate_command(const std::vector<std::string>& words);

}  // namespace tokenline::cli
