#include "tools/validate/operators.hpp"

#include <fmt/format.h>

#include <cmath>

#include "calib/operators.hpp"
#include "hwmodels/gpu.hpp"
#include "sim/config/numbers.hpp"

namespace tokenline::validate {
namespace {

/// The number that the table states: seconds and back are off by a rounding, which fifteen digits
/// do not show.
double in_microseconds(Seconds time) {
  return config::parse_real(fmt::format("{:.15g}", time.value() * 1e6)).value;
}

}  // namespace

Comparison compare_operators(const std::string& folder, const std::string& gpu) {
  const hw::Gpu device = hw::load_gpu(gpu);
  Comparison comparison{
      .title = fmt::format("Kernel times on {}: {}", gpu, folder), .rows = {}, .figures = {}};
  for (const calib::OperatorRow& call : calib::price_operators(device, folder)) {
    Row row{.group = fmt::format("{} {}{}{}", gpu, call.table, call.dtype.empty() ? "" : " ",
                                 call.dtype),
            .metric = "time",
            .unit = "us",
            .label = call.shape,
            .measured = in_microseconds(call.measured),
            .predicted = {},
            .refused = call.refused};
    if (call.predicted) {
      const double price = call.predicted->value() * 1e6;
      if (std::isfinite(price) && price > 0.0)
        row.predicted = price;
      else
        row.refused = fmt::format("{} prices it as {} us", gpu, price);
    }
    comparison.rows.push_back(std::move(row));
  }
  return comparison;
}

}  // namespace tokenline::validate
