#include "sim/report/advice.hpp"
#include "sim/report/parallel.hpp"
#include "tools/cli/arguments.hpp"
#include "tools/cli/commands.hpp"

namespace tokenline::cli {
namespace {

Usage advise_usage() {
  return {
      .synopsis = "advise SCENARIO [options]",
      .about =
          "Holds ten production rules against a scenario: whether each is obeyed, broken or\n"
          "does not apply, on what evidence, and what following a broken one gives here. Every\n"
          "override is simulated with the same requests; one that brings nothing says so.",
      .positional = "SCENARIO",
      .options = {{"set", "PATH=VALUE", "Override a key, e.g. engine.block_size=32; repeatable.",
                   true},
                  {"seed", "N", "Seed of every random draw; the same as --set seed=N.", false},
                  {"json", "", "Print one JSON object with everything.", false}},
      .epilogue =
          "Rules and their sources: sim/report/README.md. The scenario's asserts are not\n"
          "checked. A rule that is broken is no failure: the exit code is 0.\n" +
          std::string(exit_codes())};
}

}  // namespace

Outcome advise_command(const std::vector<std::string>& words) {
  const auto arguments = parse(advise_usage(), words);
  if (!arguments) return {success, help_text(advise_usage())};
  ScenarioOptions options{.overrides = arguments->values("set")};
  if (const auto seed = arguments->value("seed")) options.overrides.push_back("seed=" + *seed);
  const report::Advice advice =
      report::advise(arguments->positional(), options, report::hardware_threads());
  return {advice.audits_passed() ? success : our_bug,
          arguments->has("json") ? report::advice_json(advice) : report::advice_text(advice)};
}

}  // namespace tokenline::cli
