// The plan as one HTML page.
#include <array>

#include "sim/report/html_report.hpp"
#include "sim/report/report_json.hpp"
#include "tools/plan/plan.hpp"

namespace tokenline::plan {

std::string plan_report(const Result& result) {
  const std::array<std::pair<std::string_view, std::string>, 2> members{
      {{"kind", "\"plan\""}, {"plan", report::compact_json(plan_json(result))}}};
  return report::report_page(report::object_json(members));
}

}  // namespace tokenline::plan
