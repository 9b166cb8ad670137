#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/report/assertions.hpp"
#include "sim/report/comparison.hpp"
#include "sim/report/console.hpp"
#include "sim/report/parallel.hpp"
#include "sim/report/run_directory.hpp"
#include "sim/report/steps_csv.hpp"
#include "tools/python/arrays.hpp"
#include "tools/python/bindings.hpp"
#include "tools/python/interruptible.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tokenline::python {
namespace {

/// What Python shows of a scenario that was read.
struct ScenarioInfo {
  std::string name;
  std::string description;
  std::uint64_t seed = 0;
  std::string yaml;
};

/// A run with everything that may be asked of it.
struct Result {
  Result() = default;
  // Why said: nanobind asks, and the members that forbid it answer wrongly.
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;

  Scenario scenario;  ///< Its traffic is used up.
  RunResult run;
  report::Summary summary;
  std::optional<report::RunLog> log;

  void write(const std::string& directory) const {
    report::claim_directory(directory, report::run_marker);
    report::refuse_inputs(directory, report::input_files(scenario));
    report::write_run(directory, scenario, run, summary);
    if (log)
      report::write_file(directory + "/steps.csv",
                         [&](std::ostream& file) { report::write_steps_csv(file, *log, run); });
  }
};

struct ComparisonResult {
  std::string json;
  std::string text;
  bool refused = false;
  bool asserts_passed = false;
};

std::string text_of(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

ScenarioInfo check(const std::string& file, const nb::bytes& text,
                   const std::vector<std::string>& overrides, const std::string& folder) {
  return interruptible([&, yaml = text_of(text)](const std::stop_token&) {
    const Scenario scenario = parse_scenario(file, yaml, {.overrides = overrides});
    static_cast<void>(report::read_conditions(scenario));
    return ScenarioInfo{.name = scenario.name,
                        .description = scenario.description,
                        .seed = scenario.seed,
                        .yaml = config::emit_yaml(report::rebased(scenario, folder))};
  });
}

std::unique_ptr<Result> simulate(const std::string& file, const nb::bytes& text,
                                 const std::vector<std::string>& overrides, bool steps) {
  return interruptible([&, yaml = text_of(text)](const std::stop_token& stop) {
    auto result = std::make_unique<Result>();
    Scenario& scenario = result->scenario;
    scenario = parse_scenario(file, yaml, {.overrides = overrides});
    const auto conditions = report::read_conditions(scenario);
    if (steps) result->log.emplace();
    result->run = run(scenario, probes(scenario.observed), steps ? &*result->log : nullptr, stop);
    result->summary = report::summarize(scenario, result->run);
    TOKENLINE_CHECK(result->summary.audit.passed, "{}",
                    report::audit_verdict(result->summary.audit));
    result->summary.asserts = report::check(conditions, result->summary);
    return result;
  });
}

nb::dict steps_of(const Result& result) {
  if (!result.log) throw nb::value_error("steps are kept by run(..., steps=True)");
  return arrays(step_columns(*result.log, result.run));
}

ComparisonResult compare_study(const std::string& file, const nb::bytes& text,
                               std::optional<std::size_t> threads, bool ignore_fidelity,
                               const std::optional<std::string>& out) {
  return interruptible([&, yaml = text_of(text)](const std::stop_token& stop) {
    report::Study study = report::parse_study(file, yaml);
    const report::Comparison comparison =
        report::compare(study, {.threads = threads.value_or(report::hardware_threads()),
                                .ignore_fidelity = ignore_fidelity,
                                .out = out,
                                .stop = stop});
    TOKENLINE_CHECK(comparison.audits_passed(), "a variant fails its audit");
    return ComparisonResult{.json = report::comparison_json(comparison),
                            .text = report::comparison_text(comparison),
                            .refused = comparison.refused,
                            .asserts_passed = comparison.asserts_passed()};
  });
}

}  // namespace

void bind_run(nb::module_& m) {
  nb::class_<ScenarioInfo>(m, "ScenarioInfo", "What a scenario that was read says of itself.")
      .def_ro("name", &ScenarioInfo::name)
      .def_ro("description", &ScenarioInfo::description)
      .def_ro("seed", &ScenarioInfo::seed)
      .def_ro("yaml", &ScenarioInfo::yaml);
  nb::class_<Result>(m, "Result", "A finished run.")
      .def("summary_json", [](const Result& r) { return report::summary_json(r.summary); })
      .def("text", [](const Result& r) { return report::console_text(r.summary); })
      .def_prop_ro("asserts_passed", [](const Result& r) { return r.summary.asserts_passed(); })
      .def("requests", [](const Result& r) { return arrays(request_columns(r.run)); })
      .def("steps", steps_of)
      .def("write", &Result::write, "directory"_a, nb::call_guard<nb::gil_scoped_release>());
  nb::class_<ComparisonResult>(m, "ComparisonResult", "A study after its runs.")
      .def_ro("json", &ComparisonResult::json)
      .def_ro("text", &ComparisonResult::text)
      .def_ro("refused", &ComparisonResult::refused)
      .def_ro("asserts_passed", &ComparisonResult::asserts_passed);
  m.def("check", check, "file"_a, "text"_a, "overrides"_a, "folder"_a,
        "Reads a scenario; its data files are named as from `folder` in the YAML.");
  m.def("run", simulate, "file"_a, "text"_a, "overrides"_a, "steps"_a, "Simulates a scenario.");
  m.def("compare", compare_study, "file"_a, "text"_a, "threads"_a.none(), "ignore_fidelity"_a,
        "out"_a.none(), "Runs the variants of a study.");
}

}  // namespace tokenline::python
