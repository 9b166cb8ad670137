#include "calib/calibrate.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "sim/report/run_directory.hpp"
#include "tools/cli/arguments.hpp"
#include "tools/cli/commands.hpp"

namespace tokenline::cli {
namespace {

Usage usage() {
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

/// The entry must not replace what it is fitted to.
void refuse_to_overwrite(const std::string& output, const std::optional<std::string>& operators,
                         const std::string& datasheet) {
  namespace fs = std::filesystem;
  const auto resolved = [](const std::string& path) {
    return fs::weakly_canonical(fs::absolute(path));
  };
  const fs::path written = resolved(output);
  if (written == resolved(datasheet) ||
      (operators && written.parent_path() == resolved(*operators)))
    throw report::OutputError(
        fmt::format("{}: would overwrite an input; name another file", output));
}

}  // namespace

Outcome calibrate_command(const std::vector<std::string>& words) {
  const auto arguments = parse(usage(), words);
  if (!arguments) return {success, help_text(usage())};
  const std::string gpu = arguments->required("gpu");
  const auto operators = arguments->value("operators");
  const std::string datasheet = arguments->required("datasheet");
  const std::string output = arguments->required("output");
  refuse_to_overwrite(output, operators, datasheet);
  report::write_file(output, calib::calibrate_to_yaml(gpu, operators, datasheet));
  return {};
}

}  // namespace tokenline::cli
