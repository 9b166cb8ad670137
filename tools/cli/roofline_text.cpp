#include <fmt/format.h>

#include "sim/base/integer.hpp"
#include "sim/report/figures.hpp"
#include "sim/report/text_table.hpp"
#include "tools/cli/roofline_report.hpp"

namespace tokenline::cli {
namespace {

using report::figure_text;
using report::TextTable;

std::string percent_text(double part) { return figure_text(100.0 * part); }

/// FLOPs per byte; nothing where no byte or no FLOP is counted.
std::string intensity_text(const hw::Price& price) {
  if (price.bytes.value() == 0.0 || price.flops.value() == 0.0) return "-";
  return figure_text((price.flops / price.bytes).value());
}

std::string amount(double value, double unit) {
  return value == 0.0 ? "-" : figure_text(value / unit);
}

/// FLOPs, bytes and their ratio.
std::vector<std::string> work(const hw::Price& price) {
  return {amount(price.flops.value(), 1e9), amount(price.bytes.value(), 1e6),
          intensity_text(price)};
}

std::string operator_table(const RooflineReport& report) {
  const hw::Gpu& gpu = report.cost.setup().gpu;
  TextTable table(1);
  table.row({"", "", "", "", "", "", "datasheet", "priced", "", "datasheet"});
  table.row({"operator", "times", "GFLOP", "MB", "FLOP/B", "bound", "us", "us", "% of step",
             "% of priced"});
  Seconds datasheet;
  for (const hw::OperatorPrice& row : report.rows) {
    const Seconds least = hw::datasheet_time(gpu, row);
    datasheet += least;
    std::vector<std::string> cells{row.name, fmt::format("{}", row.count)};
    for (std::string& cell : work(row.price)) cells.push_back(std::move(cell));
    cells.emplace_back(name(hw::bound(gpu, row)));
    cells.push_back(amount(least.value(), 1e-6));
    cells.push_back(amount(row.price.time.value(), 1e-6));
    cells.push_back(percent_text(row.price.time / report.total.time));
    cells.push_back(least.value() == 0.0 ? "-" : percent_text(least / row.price.time));
    table.row(std::move(cells));
  }
  std::vector<std::string> cells{"step", ""};
  for (std::string& cell : work(report.total)) cells.push_back(std::move(cell));
  cells.insert(cells.end(),
               {"", amount(datasheet.value(), 1e-6), amount(report.total.time.value(), 1e-6), "100",
                percent_text(datasheet / report.total.time)});
  table.row(std::move(cells));
  return table.text();
}

std::string batch_table(const RooflineReport& report) {
  const hw::Gpu& gpu = report.cost.setup().gpu;
  TextTable table(0);
  table.row(
      {"", "step", "output", "step", "products", "products", "KV, % of", "% of 16-", "% of", ""});
  table.row(
      {"batch", "ms", "tok/s", "FLOP/B", "FLOP/B", "bound", "bytes", "bit peak", "bandwidth", ""});
  for (const BatchPoint& point : report.batches) {
    const Seconds time = point.step.time;
    table.row({fmt::format("{}", point.batch), figure_text(time.value() * 1e3),
               figure_text(real(point.batch) / time.value()), intensity_text(point.step),
               intensity_text(point.products), std::string(name(point.bound)),
               percent_text(point.kv / point.step.bytes),
               percent_text(point.step.flops / time / gpu.peak_16bit),
               percent_text(point.step.bytes / time / gpu.bandwidth),
               point.batch > report.decode->fitting ? "does not fit HBM" : ""});
  }
  return table.text();
}

std::string knee_cell(const std::optional<double>& closed_form) {
  return closed_form ? figure_text(closed_form) : "never";
}

/// What a decode step comes to by hand, beside the priced one.
std::string decode_arithmetic(const RooflineReport& report) {
  const hw::Gpu& gpu = report.cost.setup().gpu;
  const hw::DecodeArithmetic& decode = *report.decode;
  const hw::Price& one = report.batches.front().step;
  const Seconds least = decode.weights / gpu.bandwidth;
  const double ridge = hw::ridge(gpu, gpu.peak_16bit).value();
  const auto peak_share = [&](Flops flops, Seconds time) {
    return percent_text(flops / time / gpu.peak_16bit);
  };
  TextTable table(1);
  table.row({"", "by hand", "priced"});
  table.row({"one token: GFLOP of its products, and of the step",
             figure_text(decode.flops_per_token.value() / 1e9),
             figure_text(one.flops.value() / 1e9)});
  table.row({"one token: GB of weights, and of the step", figure_text(decode.weights.value() / 1e9),
             figure_text(one.bytes.value() / 1e9)});
  table.row({"one token: FLOP/B", figure_text((decode.flops_per_token / decode.weights).value()),
             intensity_text(one)});
  table.row({"one token: ridge over that",
             figure_text(ridge / (decode.flops_per_token / decode.weights).value()),
             figure_text(ridge / (one.flops / one.bytes).value())});
  table.row({"one token: ms, weights / bandwidth by hand", figure_text(least.value() * 1e3),
             figure_text(one.time.value() * 1e3)});
  table.row({"one token: % of peak", peak_share(decode.flops_per_token, least),
             peak_share(one.flops, one.time)});
  table.row({"dense products compute bound from batch", knee_cell(report.products.closed_form),
             figure_text(report.products.priced)});
  if (report.cost.operators().experts)
    table.row({"experts compute bound from batch", knee_cell(report.experts), ""});
  table.row({"KV as large as the weights at batch", figure_text(decode.kv_equals_weights), ""});
  table.row({"FLOP/B of the step that no batch exceeds", figure_text(decode.limit.value()), ""});
  table.row(
      {"largest batch whose KV fits beside the weights", fmt::format("{}", decode.fitting), ""});
  return table.text();
}

std::string prefill_arithmetic(const RooflineReport& report) {
  const hw::Gpu& gpu = report.cost.setup().gpu;
  Flops products;
  Flops attention;
  for (const hw::OperatorPrice& row : report.rows)
    (row.kind == hw::OperatorKind::prefill_attention ? attention : products) += row.price.flops;
  return fmt::format(
      "{} TFLOP of products and {} of attention in {} ms: {} % of the 16-bit peak.\n"
      "Dense products are compute bound from {} tokens in a step by hand, {} as priced.\n",
      figure_text(products.value() / 1e12), figure_text(attention.value() / 1e12),
      figure_text(report.total.time.value() * 1e3),
      percent_text(report.total.flops / report.total.time / gpu.peak_16bit),
      knee_cell(report.products.closed_form), figure_text(report.products.priced));
}

}  // namespace

std::string roofline_title(const RooflineReport& report) {
  const hw::StepSetup& setup = report.cost.setup();
  const RooflineStep& step = report.step;
  const auto many = [&](const char* what) {
    return fmt::format("{} {}{}", step.batch, what, step.batch == 1 ? "" : "s");
  };
  const std::string replica = fmt::format("{} on {}, tensor_parallel_size {}", setup.model.name,
                                          setup.gpu.name, setup.parallelism.tensor);
  if (step.decodes())
    return fmt::format("{}: decode of {}, {} tokens of KV each", replica, many("sequence"),
                       step.context);
  return fmt::format("{}: prefill of {}, {} tokens each after {}", replica, many("prompt"),
                     step.prompt_tokens, step.past_tokens);
}

std::string roofline_text(const RooflineReport& report) {
  const hw::Gpu& gpu = report.cost.setup().gpu;
  std::string text = fmt::format(
      "{}\nPer GPU. Datasheet: {} TFLOP/s at 16 bit, {} TB/s: ridge at {} FLOP/B\n\n{}"
      "{} % of the time is priced outside the measured grid.\n\n",
      roofline_title(report), figure_text(gpu.peak_16bit.value() / 1e12),
      figure_text(gpu.bandwidth.value() / 1e12),
      figure_text(hw::ridge(gpu, gpu.peak_16bit).value()), operator_table(report),
      percent_text(report.total.off_grid.total() / report.total.time));
  if (!report.step.decodes()) return text + prefill_arithmetic(report);
  return text + batch_table(report) + '\n' + decode_arithmetic(report);
}

}  // namespace tokenline::cli
