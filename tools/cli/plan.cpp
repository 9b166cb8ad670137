#include "tools/plan/plan.hpp"

#include <filesystem>

#include "sim/report/run_directory.hpp"
#include "tools/cli/arguments.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/threads.hpp"

namespace tokenline::cli {
namespace {

/// Marks a folder that `plan` may overwrite.
constexpr std::string_view plan_marker = "plan.json";

Usage plan_usage() {
  return {
      .synopsis = "plan PLAN [options]",
      .about =
          "Finds the cheapest fleet of a search space that meets every SLO of a plan: under the\n"
          "planned load, in bursts and without some of its replicas, with every seed.",
      .positional = "PLAN",
      .options = {{"json", "", "Print one JSON object with everything.", false},
                  {"out", "DIR", "Write plan.json and winner.yaml there.", false},
                  {"export", "FILE", "Write the winner as a scenario that `tokenline run` takes.",
                   false},
                  {"threads", "N", "Simulations at a time; all processors by default.", false},
                  {"brute-force", "",
                   "Simulate every size of every design with every seed, to check the search.",
                   false}},
      .epilogue =
          "The result is the same for any number of threads. Exit code 1 also where no fleet "
          "meets\nevery SLO: what comes closest is said. `tokenline describe plan` lists the "
          "keys of a plan.\n" +
          std::string(exit_codes())};
}

/// The base, the plan and the data files of the base.
std::vector<std::string> inputs_of(const plan::Plan& plan) {
  std::vector<std::string> inputs{plan.file, plan.base};
  for (const std::string& file : report::input_files(load_scenario(plan.base)))
    inputs.push_back(file);
  return inputs;
}

void write_plan(const plan::Result& result, const std::vector<std::string>& inputs,
                const std::optional<std::string>& out, const std::optional<std::string>& exported) {
  std::vector<report::OutputFile> files;
  if (out) files.push_back({*out + "/plan.json", plan::plan_json(result)});
  if (result.winner) {
    if (out) files.push_back({*out + "/winner.yaml", plan::winner_yaml(result, *out)});
    if (exported)
      files.push_back(
          {*exported,
           plan::winner_yaml(result, std::filesystem::path(*exported).parent_path().string())});
  }
  std::vector<std::string> outputs;
  for (const report::OutputFile& file : files) outputs.push_back(file.path);
  report::refuse_to_overwrite(outputs, inputs);
  report::write_files(files);
}

}  // namespace

Outcome plan_command(const std::vector<std::string>& words) {
  const auto arguments = parse(plan_usage(), words);
  if (!arguments) return {success, help_text(plan_usage())};
  const plan::Effort effort{.threads = threads(*arguments),
                            .brute_force = arguments->has("brute-force")};
  const plan::Plan wanted = plan::load_plan(arguments->positional());
  const auto out = arguments->value("out");
  const auto exported = arguments->value("export");
  const auto inputs = inputs_of(wanted);
  if (out) report::claim_directory(*out, plan_marker);
  if (exported) report::refuse_to_overwrite({{*exported}}, inputs);
  const plan::Result result = plan::solve(wanted, effort);
  write_plan(result, inputs, out, exported);
  Outcome outcome{success,
                  arguments->has("json") ? plan::plan_json(result) : plan::plan_text(result)};
  if (!result.audits_passed)
    outcome.exit_code = our_bug;
  else if (!result.winner)
    outcome.exit_code = assert_failed;
  return outcome;
}

}  // namespace tokenline::cli
