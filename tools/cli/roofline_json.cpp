#include <nlohmann/json.hpp>

#include "sim/report/version.hpp"
#include "tools/cli/roofline_report.hpp"

namespace tokenline::cli {
namespace {

using Json = nlohmann::ordered_json;

Json optional(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

/// FLOPs per byte; null where no byte is counted.
Json intensity(const hw::Price& price) {
  return price.bytes.value() == 0.0 ? Json() : Json((price.flops / price.bytes).value());
}

Json priced(const hw::Price& price) {
  return {{"flops", price.flops.value()},
          {"bytes", price.bytes.value()},
          {"flops_per_byte", intensity(price)},
          {"time_us", price.time.value() * 1e6}};
}

Json row(const hw::Gpu& gpu, const hw::OperatorPrice& row) {
  Json object{{"operator", row.name}, {"kind", name(row.kind)}, {"times", row.count}};
  object.update(priced(row.price));
  const Seconds least = hw::datasheet_time(gpu, row);
  object["datasheet_time_us"] = least.value() == 0.0 ? Json() : Json(least.value() * 1e6);
  object["bound"] = name(hw::bound(gpu, row));
  object["off_grid_us"] = row.price.off_grid.total().value() * 1e6;
  return object;
}

Json knee(const hw::Knee& knee) {
  return {{"closed_form_tokens", optional(knee.closed_form)},
          {"priced_tokens", optional(knee.priced)}};
}

Json batch(const BatchPoint& point) {
  Json object{{"batch", point.batch}};
  object.update(priced(point.step));
  object["products_flops_per_byte"] = intensity(point.products);
  object["products_bound"] = name(point.bound);
  object["kv_bytes"] = point.kv.value();
  return object;
}

Json decode(const hw::DecodeArithmetic& decode) {
  return {{"flops_per_token", decode.flops_per_token.value()},
          {"weight_bytes_per_token", decode.weights.value()},
          {"weight_bytes", decode.all_weights.value()},
          {"kv_bytes_per_sequence", decode.kv.value()},
          {"attention_flops_per_sequence", decode.attention.value()},
          {"kv_equals_weights_batch", decode.kv_equals_weights},
          {"limit_flops_per_byte", decode.limit.value()},
          {"fitting_batch", decode.fitting}};
}

Json step(const RooflineStep& step) {
  if (step.decodes())
    return {{"phase", "decode"}, {"batch", step.batch}, {"context_tokens", step.context}};
  return {{"phase", "prefill"},
          {"batch", step.batch},
          {"prompt_tokens", step.prompt_tokens},
          {"past_tokens", step.past_tokens}};
}

}  // namespace

std::string roofline_json(const RooflineReport& report) {
  const hw::StepSetup& setup = report.cost.setup();
  Json object{{"tokenline", report::version()},
              {"model", setup.model.name},
              {"gpu", setup.gpu.name},
              {"tensor_parallel_size", setup.parallelism.tensor},
              {"step", step(report.step)},
              {"ridge_flops_per_byte", hw::ridge(setup.gpu, setup.gpu.peak_16bit).value()},
              {"operators", Json::array()},
              {"total", priced(report.total)},
              {"products_knee", knee(report.products)}};
  object["total"]["off_grid_us"] = report.total.off_grid.total().value() * 1e6;
  for (const hw::OperatorPrice& each : report.rows)
    object["operators"].push_back(row(setup.gpu, each));
  if (report.cost.operators().experts)
    object["experts_knee"] = {{"closed_form_tokens", optional(report.experts)}};
  if (!report.decode) return object.dump(2) + '\n';
  object["decode"] = decode(*report.decode);
  for (const BatchPoint& point : report.batches) object["batches"].push_back(batch(point));
  return object.dump(2) + '\n';
}

}  // namespace tokenline::cli
