#include "tools/sweep/merge.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "sim/report/run_directory.hpp"
#include "tools/cli/arguments.hpp"
#include "tools/cli/commands.hpp"

namespace tokenline::cli {
namespace {

Usage usage_of_merge() {
  return {.synopsis = "merge DIR… [-o FILE.csv] [--sqlite FILE.db] [options]",
          .about =
              "Makes one table of the results that `tokenline sweep` left in one or several "
              "folders: a row\nper point, with its values and every figure. The same bytes, "
              "whoever simulated which point.",
          .positional = "DIR…",
          .options = {{"output,o", "FILE", "The table as CSV.", false},
                      {"sqlite", "FILE", "The same as a database of SQLite.", false},
                      {"partial", "", "Points may be missing; they are named on standard error.",
                       false}},
          .epilogue = "Columns and tables: tools/sweep/README.md.\n" + std::string(exit_codes())};
}

}  // namespace

Outcome merge_command(const std::vector<std::string>& words) {
  const auto arguments = parse(usage_of_merge(), words);
  if (!arguments) return {success, help_text(usage_of_merge())};
  const auto csv = arguments->value("output");
  const auto database = arguments->value("sqlite");
  if (!csv && !database) throw UsageError("nothing to write: give --output, --sqlite or both");
  std::vector<std::string> outputs;
  for (const auto& output : {csv, database})
    if (output) outputs.push_back(*output);
  report::refuse_to_overwrite(outputs, arguments->positionals());

  const sweep::Merged merged = sweep::merge(arguments->positionals());
  const std::size_t missing = merged.missing().size();
  if (missing > 0) {
    std::fputs(sweep::missing_text(merged).c_str(), stderr);
    if (!arguments->has("partial"))
      throw UsageError("the sweep is not complete: run it again, or merge with --partial");
  }
  if (csv) report::write_file(*csv, sweep::results_csv(merged));
  if (database) sweep::write_sqlite(merged, *database);
  return {success, fmt::format("{}: {} of {} points in {}\n", merged.sweep.name,
                               merged.results.size() - missing, merged.results.size(),
                               fmt::join(outputs, " and "))};
}

}  // namespace tokenline::cli
