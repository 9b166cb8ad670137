#include "tools/validate/operators.hpp"

#include <fmt/format.h>

#include "calib/operators.hpp"
#include "hwmodels/gpu.hpp"

namespace tokenline::validate {

Comparison compare_operators(const std::string& folder, const std::string& gpu) {
  constexpr double microseconds = 1e6;
  const hw::Gpu device = hw::load_gpu(gpu);
  Comparison comparison{
      .title = fmt::format("Kernel times on {}: {}", gpu, folder), .rows = {}, .figures = {}};
  for (const calib::OperatorRow& call : calib::price_operators(device, folder)) {
    Row row{.group = fmt::format("{} {} {}", gpu, call.table, call.dtype),
            .metric = "time",
            .unit = "us",
            .label = call.shape,
            .measured = call.measured.value() * microseconds,
            .predicted = {},
            .refused = call.refused};
    if (call.predicted) row.predicted = call.predicted->value() * microseconds;
    comparison.rows.push_back(std::move(row));
  }
  return comparison;
}

}  // namespace tokenline::validate
