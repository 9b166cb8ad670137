#pragma once

#include <functional>
#include <iosfwd>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sim/report/summary.hpp"

namespace tokenline::report {

/// The user's mistake or the machine's refusal when writing results: not a directory of ours, no
/// permission, no space. what() names the path.
class OutputError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The marker of a run directory.
inline constexpr std::string_view run_marker = "summary.json";

/// Makes sure that `directory` can take results: creates it (and its parents) or finds it empty or
/// with a file `marker` that we wrote (a JSON object whose first key is "tokenline"): that earlier
/// result may be overwritten. Throws OutputError.
void claim_directory(const std::string& directory, std::string_view marker);

/// The same for a run of that scenario: an earlier run may be replaced where it was of a scenario
/// of the same name. Throws OutputError.
void claim_run_directory(const std::string& directory, const std::string& scenario);

/// The data files that a scenario reads (traces, lengths, a model or GPU given as a path), without
/// symbolic links.
[[nodiscard]] std::set<std::string> input_files(const Scenario& scenario);

/// Throws OutputError where one of `inputs` (input_files()) stands in `directory`, or a file that a
/// run writes there is a link to it: results could overwrite it.
void refuse_inputs(const std::string& directory, const std::set<std::string>& inputs);

/// The files that a run may write into a directory.
[[nodiscard]] std::vector<std::string> run_files(const std::string& directory);

/// Removes the report.html that an earlier run or study may have left there; any other file of that
/// name stays. Throws OutputError.
void remove_stale_report(const std::string& directory);

/// Writes a whole file. Throws OutputError.
void write_file(const std::string& path, std::string_view text);
/// The same for a file that `write` streams.
void write_file(const std::string& path, const std::function<void(std::ostream&)>& write);

/// A text and the file it goes to.
struct OutputFile {
  std::string path;
  std::string text;
};

/// Writes several files, or none: where one cannot be opened, those that were not there before are
/// removed again. Throws OutputError.
void write_files(std::span<const OutputFile> files);

/// Throws OutputError where two outputs are one file, where an output is one of the inputs or
/// stands in a folder that is one, and for an output without a name. Files are compared by
/// identity: links are seen through. An input that is not there is none.
void refuse_to_overwrite(std::span<const std::string> outputs, std::span<const std::string> inputs);

/// Writes config.yaml, summary.json and requests.csv into a claimed directory and removes
/// band.json, steps.csv, trace.json and report.html, which an earlier run may have left there.
/// Throws OutputError. config.yaml is the resolved scenario with its data files named relative to
/// the directory, so that it can be run from there.
void write_run(const std::string& directory, const Scenario& scenario, const RunResult& run,
               const Summary& summary);

/// The resolved scenario with its relative data files renamed for a file in `directory`.
[[nodiscard]] config::Node rebased(const Scenario& scenario, const std::string& directory);

}  // namespace tokenline::report
