#include <fmt/format.h>

#include <algorithm>

#include "sim/base/integer.hpp"
#include "sim/report/run_directory.hpp"
#include "tools/cli/arguments.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/roofline_report.hpp"

namespace tokenline::cli {
namespace {

constexpr std::int64_t most_tokens = 262'144;  ///< Of one step: its table holds a price for each.
constexpr std::int64_t most_context = 10'000'000;
constexpr std::int64_t largest_batch = 4096;  ///< Of the table over batches.

Usage roofline_usage() {
  return {
      .synopsis = "roofline MODEL --gpu NAME [options]",
      .about =
          "Prices one step of a model by operator, with the cost functions of a run: FLOPs and\n"
          "bytes of HBM as executed on one GPU, their ratio, which of tensor cores and HBM the\n"
          "datasheet says is exhausted first, and the time, beside that of the datasheet alone:\n"
          "max(FLOPs / peak, bytes / bandwidth). A decode step also over batches, with the batch\n"
          "from which products are compute bound (the knee) in closed form and as priced.\n"
          "MODEL is a name of `tokenline list models` or the path of a config.json.",
      .positional = "MODEL",
      .options =
          {{"gpu", "NAME", "A name of `tokenline list gpus`, or the FILE.yaml of one.", false},
           {"tp", "N", "tensor_parallel_size, in one node; 1 by default.", false},
           {"batch", "N", "Sequences that decode, or prompts; 1 by default.", false},
           {"context", "TOKENS", "KV that each decode reads, its own included; 2048 by default.",
            false},
           {"prompt-tokens", "N", "A prefill step instead, of prompts of so many tokens.", false},
           {"past-tokens", "N", "Tokens of each prompt whose KV is there already.", false},
           {"quantization", "NAME",
            "Precision of the weights: auto (of the checkpoint), bfloat16, fp8, fp8_block, mxfp4.",
            false},
           {"kv-cache-dtype", "NAME", "auto (16 bit) or fp8.", false},
           {"prefill-attention", "NAME", "auto (fa3 on Hopper, else fa2), naive, fa1, fa2, fa3.",
            false},
           {"decode-attention", "NAME", "flash_decoding or plain.", false},
           {"svg", "FILE", "Draw operators under the roofs of the datasheet.", false},
           {"json", "", "Print one JSON object with everything.", false}},
      .epilogue =
          "Times leave out host work. Bytes count what crosses HBM when nothing stays in "
          "caches:\nsmall tensors that do make a streaming kernel faster than its "
          "datasheet.\n" +
          std::string(exit_codes())};
}

models::Architecture model_of(const std::string& name) {
  const std::vector<std::string> known = models::model_names();
  const bool path = name.find('/') != std::string::npos || name.ends_with(".json");
  if (!path && std::ranges::find(known, name) == known.end())
    throw UsageError(unknown("model", name, known));
  return models::load_model(name);
}

hw::Gpu gpu_of(const std::string& name) {
  if (name.ends_with(".yaml")) return hw::load_gpu(name);
  const auto found = hw::catalog_name(name);
  if (!found) throw UsageError(unknown("GPU", name, hw::gpu_names()));
  return hw::load_gpu(*found);
}

RooflineStep step_of(const Arguments& arguments) {
  RooflineStep step;
  step.batch = arguments.integer("batch", 1, 1, most_tokens);
  if (!arguments.has("prompt-tokens")) {
    if (arguments.has("past-tokens"))
      throw UsageError("--past-tokens is of a prefill step\n  hint: with --prompt-tokens");
    step.context = arguments.integer("context", 2048, 1, most_context);
    return step;
  }
  if (arguments.has("context"))
    throw UsageError(
        "--context is of decodes, and --prompt-tokens asks for a prefill step\n"
        "  hint: --past-tokens is the KV before a prompt");
  step.prompt_tokens = arguments.integer("prompt-tokens", 1, 1, most_tokens);
  step.past_tokens = arguments.integer("past-tokens", 0, 0, most_context);
  if (step.batch * step.prompt_tokens > most_tokens)
    throw UsageError(fmt::format("{} prompts of {} tokens: a step holds at most {} tokens",
                                 step.batch, step.prompt_tokens, most_tokens));
  return step;
}

void read_precisions(const Arguments& arguments, hw::StepSetup& setup) {
  using models::Precision;
  std::vector<std::string> words{"auto"};
  const std::vector all{Precision::bfloat16, Precision::fp8, Precision::fp8_block,
                        Precision::mxfp4};
  for (const Precision precision : all) words.emplace_back(models::name(precision));
  const std::string word = arguments.word("quantization", words);
  for (const Precision precision : all)
    if (word == models::name(precision)) setup.model.quantization = precision;
  setup.kv_element = arguments.word("kv-cache-dtype", {"auto", "fp8"}) == "fp8" ? 1 : 2;
}

void read_kernels(const Arguments& arguments, hw::StepSetup& setup) {
  using hw::PrefillKernel;
  std::vector<std::string> words{"auto"};
  const std::vector all{PrefillKernel::naive, PrefillKernel::fa1, PrefillKernel::fa2,
                        PrefillKernel::fa3};
  for (const PrefillKernel kernel : all) words.emplace_back(hw::name(kernel));
  const std::string word = arguments.word("prefill-attention", words);
  setup.prefill_kernel = hw::usual_prefill(setup.gpu.generation);
  for (const PrefillKernel kernel : all)
    if (word == hw::name(kernel)) setup.prefill_kernel = kernel;
  if (arguments.word("decode-attention", {"flash_decoding", "plain"}) == "plain")
    setup.decode_kernel = hw::DecodeKernel::plain;
}

hw::StepSetup setup_of(const Arguments& arguments, const RooflineStep& step) {
  hw::StepSetup setup;
  setup.model = model_of(arguments.positional());
  setup.gpu = gpu_of(arguments.required("gpu"));
  setup.parallelism.tensor = arguments.integer("tp", 1, 1, 1024);
  read_precisions(arguments, setup);
  read_kernels(arguments, setup);
  const std::int64_t decodes = std::max(step.batch, largest_batch);
  setup.max_sequences = decodes;
  setup.max_tokens = std::max(decodes, step.batch * step.prompt_tokens);
  if (const std::string refusal = hw::StepCost::first_refusal(setup); !refusal.empty())
    throw UsageError(refusal);
  return setup;
}

/// The steps of `batch` sequences like those of `step`.
class Shape {
 public:
  Shape(const RooflineStep& step, std::int64_t batch) : step_(step), batch_(batch) {
    if (!step.decodes())
      chunks_.assign(static_cast<std::size_t>(batch), {step.prompt_tokens, step.past_tokens});
  }
  [[nodiscard]] hw::StepShape view() const {
    if (!step_.decodes()) return {.chunks = chunks_, .sampled = batch_};
    return {.decode_sequences = batch_,
            .decode_context = batch_ * step_.context,
            .chunks = {},
            .sampled = batch_};
  }

 private:
  const RooflineStep& step_;
  std::int64_t batch_;
  std::vector<hw::Chunk> chunks_;
};

BatchPoint batch_point(const hw::StepCost& cost, const RooflineStep& step, Bytes kv,
                       std::int64_t batch) {
  const Shape shape(step, batch);
  BatchPoint point;
  point.batch = batch;
  point.step = cost.price(shape.view());
  Seconds compute;
  for (const hw::OperatorPrice& row : cost.breakdown(shape.view())) {
    if (row.kind != hw::OperatorKind::gemm && row.kind != hw::OperatorKind::experts) continue;
    point.products += row.price;
    compute += row.price.flops / row.peak;
  }
  if (compute >= point.products.bytes / cost.setup().gpu.bandwidth)
    point.bound = hw::Bound::compute;
  point.kv = real(batch) * kv;
  return point;
}

std::vector<std::int64_t> batches(std::int64_t own) {
  std::vector<std::int64_t> all{own};
  for (std::int64_t batch = 1; batch <= largest_batch; batch *= 2)
    if (batch != own) all.push_back(batch);
  std::ranges::sort(all);
  return all;
}

/// The files of the model and of the GPU, where they are files.
std::vector<std::string> inputs(const Arguments& arguments) {
  return {arguments.positional(), arguments.required("gpu")};
}

}  // namespace

RooflineReport roofline_report(const hw::StepCost& cost, const RooflineStep& step) {
  const Shape shape(step, step.batch);
  RooflineReport report{cost,
                        step,
                        merged(cost.breakdown(shape.view())),
                        cost.price(shape.view()),
                        hw::product_knee(cost.setup(), cost.operators()),
                        {},
                        {},
                        {}};
  if (cost.operators().experts) report.experts = hw::expert_knee(cost.setup(), cost.operators());
  if (!step.decodes()) return report;
  report.decode = hw::decode_arithmetic(cost, step.context);
  for (const std::int64_t batch : batches(step.batch))
    report.batches.push_back(batch_point(cost, step, report.decode->kv, batch));
  return report;
}

Outcome roofline_command(const std::vector<std::string>& words) {
  const auto arguments = parse(roofline_usage(), words);
  if (!arguments) return {success, help_text(roofline_usage())};
  const RooflineStep step = step_of(*arguments);
  const hw::StepCost cost(setup_of(*arguments, step));
  const auto svg = arguments->value("svg");
  if (svg) report::refuse_to_overwrite(std::vector{*svg}, inputs(*arguments));
  const RooflineReport report = roofline_report(cost, step);
  if (svg) report::write_file(*svg, roofline_svg(report));
  return {success, arguments->has("json") ? roofline_json(report) : roofline_text(report)};
}

}  // namespace tokenline::cli
