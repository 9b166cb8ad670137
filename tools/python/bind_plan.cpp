#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstddef>
#include <optional>
#include <string>

#include "sim/base/check.hpp"
#include "sim/report/parallel.hpp"
#include "tools/plan/plan.hpp"
#include "tools/python/bindings.hpp"
#include "tools/python/interruptible.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tokenline::python {
namespace {

struct PlanResult {
  std::string json;
  std::string text;
  std::optional<std::string> winner;  ///< As a scenario.
};

PlanResult solve(const std::string& file, const nb::bytes& text, std::optional<std::size_t> threads,
                 const std::string& folder) {
  return interruptible(
      [&, yaml = std::string(text.c_str(), text.size())](const std::stop_token& stop) {
        const plan::Result result =
            plan::solve(plan::parse_plan(file, yaml),
                        {.threads = threads.value_or(report::hardware_threads()), .stop = stop});
        TOKENLINE_CHECK(result.audits_passed, "a simulation of the plan fails its audit");
        PlanResult solved{
            .json = plan::plan_json(result), .text = plan::plan_text(result), .winner = {}};
        if (result.winner) solved.winner = plan::winner_yaml(result, folder);
        return solved;
      });
}

}  // namespace

void bind_plan(nb::module_& m) {
  nb::class_<PlanResult>(m, "PlanResult", "A plan after its search.")
      .def_ro("json", &PlanResult::json)
      .def_ro("text", &PlanResult::text)
      .def_ro("winner", &PlanResult::winner);
  m.def("plan", solve, "file"_a, "text"_a, "threads"_a.none(), "folder"_a,
        "Searches for the cheapest fleet; the winner names its files as from `folder`.");
}

}  // namespace tokenline::python
