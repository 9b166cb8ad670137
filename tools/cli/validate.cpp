#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "hwmodels/gpu.hpp"
#include "sim/config/node.hpp"
#include "sim/config/numbers.hpp"
#include "sim/report/parallel.hpp"
#include "sim/report/run_directory.hpp"
#include "tools/cli/arguments.hpp"
#include "tools/cli/commands.hpp"
#include "tools/validate/all.hpp"
#include "tools/validate/attention.hpp"
#include "tools/validate/operators.hpp"
#include "tools/validate/output.hpp"
#include "tools/validate/protocol.hpp"
#include "tools/validate/requests.hpp"
#include "tools/validate/silicon.hpp"
#include "tools/validate/throughput.hpp"

namespace tokenline::cli {
namespace {

/// What every comparison accepts.
std::vector<Option> with_common(std::vector<Option> own) {
  own.insert(
      own.end(),
      {{"csv", "FILE", "Write every row, predicted beside measured.", false},
       {"json", "FILE", "Write everything as one JSON object.", false},
       {"max-mean-ape", "PERCENT",
        "Exit code 1, and which metric it was, when the mean error of a metric exceeds it or "
        "nothing was predicted.",
        false}});
  return own;
}

/// One subcommand: `validate silicon FILE`.
struct Subcommand {
  std::string_view name;
  std::string_view summary;
  Usage usage;
  validate::Comparison (*compare)(const Arguments& arguments);
};

std::vector<std::pair<std::string, std::string>> conditions(const Arguments& arguments) {
  std::vector<std::string> known;
  for (const std::string_view column : validate::silicon_columns()) known.emplace_back(column);
  std::vector<std::pair<std::string, std::string>> where;
  for (const std::string& list : arguments.values("where")) {
    std::string_view rest = list;
    for (bool more = true; more;) {
      const auto comma = rest.find(',');
      const std::string_view item = rest.substr(0, comma);
      more = comma != std::string_view::npos;
      if (more) rest.remove_prefix(comma + 1);
      const auto equals = item.find('=');
      if (equals == std::string_view::npos)
        throw UsageError(fmt::format("--where '{}': expected column=value", list));
      const std::string column(item.substr(0, equals));
      if (std::ranges::find(known, column) == known.end())
        throw UsageError(unknown("column", column, known));
      where.emplace_back(column, item.substr(equals + 1));
    }
  }
  return where;
}

std::vector<std::string> protocol_names() {
  std::vector<std::string> names;
  for (const validate::Protocol& protocol : validate::protocols())
    names.emplace_back(protocol.name);
  return names;
}

validate::Comparison silicon(const Arguments& arguments) {
  validate::SiliconOptions options{.where = conditions(arguments),
                                   .protocol = arguments.value("protocol").value_or(""),
                                   .threads = report::hardware_threads()};
  const std::vector<std::string> names = protocol_names();
  if (!options.protocol.empty() && std::ranges::find(names, options.protocol) == names.end())
    throw UsageError(unknown("protocol", options.protocol, names));
  return validate::compare_silicon(arguments.positional(), options);
}

validate::Comparison requests(const Arguments& arguments) {
  return validate::compare_requests(arguments.positional(), arguments.value("run"));
}

validate::Comparison throughput(const Arguments& arguments) {
  return validate::compare_throughput(arguments.positional(), report::hardware_threads());
}

validate::Comparison operators(const Arguments& arguments) {
  const std::string gpu = arguments.required("gpu");
  if (!gpu.ends_with(".yaml") && !hw::catalog_name(gpu))
    throw UsageError(unknown("GPU", gpu, hw::gpu_names()));
  return validate::compare_operators(arguments.positional(), gpu);
}

validate::Comparison attention(const Arguments& arguments) {
  return validate::compare_attention(arguments.positional());
}

std::vector<Subcommand> subcommands() {
  return {
      {"silicon", "mean TTFT and TPOT of servers under a closed loop of clients",
       Usage{.synopsis = "validate silicon FILE.csv [options]",
             .about = "Simulates every row of a file of closed-loop runs and compares the means.",
             .positional = "FILE.csv",
             .options = with_common(
                 {{"where", "COLUMN=VALUE,…",
                   "Only the rows that have these values; models and GPUs by any of their names.",
                   true},
                  {"protocol", "NAME",
                   fmt::format("The client for every row: {}. Otherwise each row has its source's.",
                               fmt::join(protocol_names(), ", ")),
                   false}}),
             .epilogue = "The columns are in tools/validate/README.md; gpu may be the FILE.yaml of "
                         "one of your own.\n" +
                         std::string(exit_codes())},
       silicon},
      {"requests", "recorded requests, replayed through the engine that served them",
       Usage{.synopsis = "validate requests PATH [options]",
             .about = "Replays recorded arrivals and lengths and compares the quantiles of TTFT, "
                      "TPOT and\n"
                      "E2E. PATH is a folder with run.json, requests.csv and perhaps "
                      "timeseries.csv, or a\n"
                      "CSV file of runs of OPT-13B on one A100.",
             .positional = "PATH",
             .options = with_common({{"run", "NAME", "Only the run of this name.", false}}),
             .epilogue = "The columns and keys are in tools/validate/README.md.\n" +
                         std::string(exit_codes())},
       requests},
      {"throughput", "output tokens per second with every request queued at the start",
       Usage{.synopsis = "validate throughput FILE.csv [options]",
             .about = "Simulates every row of a file of maximum throughputs and compares them.",
             .positional = "FILE.csv",
             .options = with_common({}),
             .epilogue =
                 "The columns are in tools/validate/README.md.\n" + std::string(exit_codes())},
       throughput},
      {"operators", "measured kernel times, priced one by one",
       Usage{.synopsis = "validate operators DIR --gpu NAME [options]",
             .about = "Prices every kernel call that the tables of a folder hold.",
             .positional = "DIR",
             .options = with_common(
                 {{"gpu", "NAME", "The GPU that was measured, or the FILE.yaml of one.", false}}),
             .epilogue = std::string(exit_codes())},
       operators},
      {"attention", "TFLOP/s of attention kernels as published",
       Usage{.synopsis = "validate attention FILE.csv [options]",
             .about = "Prices the shapes of the FlashAttention papers and compares the speeds.",
             .positional = "FILE.csv",
             .options = with_common({}),
             .epilogue = std::string(exit_codes())},
       attention}};
}

Usage usage_of_all() {
  return {.synopsis = "validate all [options]",
          .about =
              "Compares with everything measured that the source tree holds. Exit code 1 when an "
              "error or\na number of refusals exceeds its ceiling (tools/validate/ceilings.yaml).",
          .positional = "",
          .options = {{"data", "DIR",
                       "The measurements; calib/data of the current directory by default.", false},
                      {"ceilings", "FILE", "Other ceilings than those built in.", false}},
          .epilogue = std::string(exit_codes())};
}

Outcome execute_all(const std::vector<std::string>& words) {
  const Usage usage = usage_of_all();
  const auto arguments = parse(usage, words);
  if (!arguments) return {success, help_text(usage)};
  const auto file = arguments->value("ceilings");
  const auto ceilings = file ? validate::parse_ceilings(*file, config::read_file(*file))
                             : validate::shipped_ceilings();
  const std::string data = arguments->value("data").value_or("calib/data");
  if (!std::filesystem::is_directory(data))
    throw UsageError(fmt::format("--data '{}': no such folder{}", data,
                                 arguments->has("data")
                                     ? ""
                                     : "\n  hint: the default is meant for the root of the source "
                                       "tree"));
  const auto checks = validate::compare_all(data, report::hardware_threads());
  const validate::Verdict verdict = validate::judge(checks, ceilings);
  return {verdict.passed ? success : assert_failed, verdict.text};
}

double ceiling(const std::string& text) {
  const auto number = config::parse_real(text);
  if (!number.ok() || number.value < 0.0)
    throw UsageError(fmt::format("--max-mean-ape {}: expected a number of percent", text));
  return number.value;
}

/// What is compared, and the GPU where it is a file.
void refuse_to_overwrite_inputs(const Arguments& arguments, const std::optional<std::string>& csv,
                                const std::optional<std::string>& json) {
  std::vector<std::string> outputs;
  for (const auto& output : {csv, json})
    if (output) outputs.push_back(*output);
  std::vector<std::string> inputs{arguments.positional()};
  if (const auto gpu = arguments.value("gpu"); gpu && !hw::catalog_name(*gpu))
    inputs.push_back(*gpu);
  report::refuse_to_overwrite(outputs, inputs);
}

Outcome execute(const Subcommand& command, const std::vector<std::string>& words) {
  const auto arguments = parse(command.usage, words);
  if (!arguments) return {success, help_text(command.usage)};
  const auto most = arguments->value("max-mean-ape");
  const double limit = most ? ceiling(*most) : 0.0;
  const auto csv = arguments->value("csv");
  const auto json = arguments->value("json");
  refuse_to_overwrite_inputs(*arguments, csv, json);
  const validate::Comparison comparison = command.compare(*arguments);
  if (comparison.rows.empty()) throw UsageError("no row is left to compare");
  std::vector<report::OutputFile> files;
  if (csv) files.push_back({*csv, validate::csv(comparison)});
  if (json) files.push_back({*json, validate::json(comparison)});
  report::write_files(files);
  const auto violations =
      most ? validate::violations(comparison, limit) : std::vector<std::string>();
  return {violations.empty() ? success : assert_failed, validate::text(comparison, violations)};
}

std::string validate_overview() {
  std::string out =
      "usage: tokenline validate WHAT PATH [options]\n\n"
      "Compares predictions with measurements of real servers and kernels.\n\n";
  for (const Subcommand& command : subcommands())
    out += fmt::format("  {:<10} {}\n", command.name, command.summary);
  out += fmt::format("  {:<10} {}\n", "all", "everything the source tree holds, against ceilings");
  return out + "\n`tokenline validate WHAT --help` explains one.\n" + std::string(exit_codes());
}

}  // namespace

Outcome validate_command(const std::vector<std::string>& words) {
  if (words.empty()) throw UsageError("what to validate is missing\n" + validate_overview());
  const std::string& name = words.front();
  if (name == "--help" || name == "-h") return {success, validate_overview()};
  if (name == "all") return execute_all({words.begin() + 1, words.end()});
  std::vector<std::string> known{"--help", "all"};
  for (const Subcommand& command : subcommands()) {
    if (command.name == name) return execute(command, {words.begin() + 1, words.end()});
    known.emplace_back(command.name);
  }
  throw UsageError(unknown("comparison", name, known));
}

}  // namespace tokenline::cli
