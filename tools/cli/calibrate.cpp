#include "calib/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calib/datasheet_form.hpp"
#include "hwmodels/gpu.hpp"
#include "sim/config/node.hpp"
#include "sim/report/run_directory.hpp"
#include "tools/cli/arguments.hpp"
#include "tools/cli/commands.hpp"

namespace tokenline::cli {
namespace {

Usage calibrate_usage() {
  return {
      .synopsis = "calibrate --gpu NAME [--operators DIR] --datasheet FILE -o FILE",
      .about =
          "Fits the kernel models of a GPU to measured kernel times and writes a catalog "
          "entry, which a\nscenario names as cluster.gpu. Kernels without measurements, all of "
          "them "
          "without --operators,\nare priced from the datasheet and usual efficiencies, and marked "
          "so.",
      .positional = "",
      .options = {{"gpu", "NAME", "Name of the entry.", false},
                  {"operators", "DIR", "Folder with gemm.csv, prefill_attention.csv, ….", false},
                  {"datasheet", "FILE", "YAML with what the manufacturer publishes.", false},
                  {"output,o", "FILE", "The entry to write.", false}},
      .epilogue = "calib/README.md lists the files and columns; times are microseconds.\n" +
                  std::string(exit_codes())};
}

/// The name stands in the entry's YAML and in scenarios as it is.
void check_name(const std::string& name) {
  constexpr std::size_t longest = 64;
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto may_follow = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  if (name.empty() || name.size() > longest || !is_letter(name[0]) ||
      !std::ranges::all_of(name, may_follow) || config::emit_scalar(name, false) != name)
    throw UsageError(fmt::format(
        "--gpu '{}': expected a name of letters, digits, '_' and '-' that begins with a letter "
        "and is no word of YAML\n  hint: as in h100_sxm",
        name));
}

/// What no scenario could read must not replace what one can: mistakes are of what was fitted.
void check_entry(const std::string& entry, const std::string& fitted) {
  try {
    static_cast<void>(hw::parse_gpu(fitted, entry));
  } catch (const config::ConfigError& e) {
    std::vector<config::Diagnostic> mistakes(e.diagnostics().begin(), e.diagnostics().end());
    for (config::Diagnostic& mistake : mistakes) {
      mistake.where = {fitted, 1, 1};
      mistake.hint = "what was measured gives no catalog entry; are times in microseconds?";
    }
    throw config::ConfigError(std::move(mistakes));
  }
}

}  // namespace

Outcome calibrate_command(const std::vector<std::string>& words) {
  const auto arguments = parse(calibrate_usage(), words);
  if (!arguments) return {success, help_text(calibrate_usage())};
  const std::string gpu = arguments->required("gpu");
  const auto operators = arguments->value("operators");
  const std::string datasheet = arguments->required("datasheet");
  const std::string output = arguments->required("output");
  check_name(gpu);
  std::vector<std::string> inputs{datasheet};
  if (operators) inputs.push_back(*operators);
  report::refuse_to_overwrite(std::vector{output}, inputs);
  calib::check_datasheet_form(datasheet);
  const std::string entry = calib::calibrate_to_yaml(gpu, operators, datasheet);
  check_entry(entry, operators.value_or(datasheet));
  report::write_files(std::vector{report::OutputFile{output, entry}});
  return {};
}

}  // namespace tokenline::cli
