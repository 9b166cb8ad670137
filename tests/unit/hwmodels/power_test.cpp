#include "hwmodels/power.hpp"

#include <catch2/catch.hpp>

#include "hwmodels/step_cost.hpp"

using namespace tokenline;
using namespace tokenline::hw;

namespace {

PowerModel model_of(const char* gpu) {
  return power_model(load_gpu(gpu), models::Precision::bfloat16).value();
}

}  // namespace

TEST_CASE("an idle GPU draws its idle power, and one bound by compute its limit", "[power]") {
  for (const std::string& name : gpu_names()) {
    INFO(name);
    const PowerModel model = model_of(name.c_str());
    CHECK(model.power({}, {}) == model.idle);
    CHECK(model.power(model.sustained, {}).value() == Approx(model.limit.value()));
    CHECK(model.power({}, model.bandwidth).value() == Approx(model.memory.value()));
    CHECK(model.power(model.sustained, model.bandwidth) == model.limit);
    CHECK(model.idle < model.memory);
    CHECK(model.memory < model.limit);
  }
}

TEST_CASE("energy is the integral of the power", "[power]") {
  const PowerModel model = model_of("h100_sxm");
  // Ten pieces of different work and an idle end, none at the limit.
  GpuWork all;
  double joules = 0.0;
  for (int i = 0; i < 10; ++i) {
    const Seconds time(0.1 * (i + 1));
    const FlopsPerSecond flops = 0.05 * i * model.sustained;
    const BytesPerSecond bytes = 0.08 * i * model.bandwidth;
    joules += (model.power(flops, bytes) * time).value();
    all.elapsed += time;
    all.busy += time;
    all.flops += flops * time;
    all.bytes += bytes * time;
  }
  all.elapsed += Seconds(2.0);
  joules += 2.0 * model.idle.value();
  CHECK(energy(model, all).value() == Approx(joules));
}

TEST_CASE("a GPU without a stated limit has no energy, and one without draws the usual shares",
          "[power]") {
  Gpu gpu = load_gpu("l40s");
  const PowerModel usual = power_model(gpu, models::Precision::bfloat16).value();
  CHECK_FALSE(usual.idle_measured);
  CHECK(usual.idle == usual_idle_share * gpu.power_limit);
  gpu.power_limit = {};
  CHECK_FALSE(power_model(gpu, models::Precision::bfloat16));
}

TEST_CASE("the draw of decodes on an H100 misses the measured one by what the README says",
          "[power]") {
  const StepSetup setup{.model = models::load_model("llama-3.1-8b"),
                        .gpu = load_gpu("h100_sxm"),
                        .parallelism = {},
                        .network = {},
                        .gpus = {},
                        .max_tokens = 128,
                        .max_sequences = 128};
  const StepCost cost(setup);
  const PowerModel model = model_of("h100_sxm");
  // Contexts of ML.ENERGY's chat: a short prompt and half of an answer of 717 tokens.
  const auto decode = [&](std::int64_t batch) {
    return cost.price(
        {.decode_sequences = batch, .decode_context = 500 * batch, .chunks = {}, .sampled = batch});
  };
  const auto watts = [&](const Price& step) {
    return model.power(step.flops / step.time, step.bytes / step.time).value();
  };
  // ML.ENERGY Benchmark v3.0 (arXiv 2601.22076): 300 W at batch 1, 600 W at batch 128; 0.12 J per
  // token at batch 64, prompts included.
  CHECK(watts(decode(1)) / 300.0 - 1.0 == Approx(-0.10).margin(0.02));
  CHECK(watts(decode(128)) / 600.0 - 1.0 == Approx(-0.31).margin(0.02));
  const Price step = decode(64);
  CHECK(watts(step) * step.time.value() / 64.0 / 0.12 - 1.0 == Approx(-0.59).margin(0.02));
}
