#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "hwmodels/step_cost.hpp"
#include "sim/config/node.hpp"

using namespace tokenline;

namespace {

/// A model on eight H100s, with tables for steps of up to 16,640 tokens.
hw::StepSetup setup(const char* model = "llama-2-70b") {
  hw::StepSetup setup;
  setup.model = models::load_model(model);
  setup.gpu = hw::load_gpu("h100_sxm");
  setup.parallelism.tensor = 8;
  setup.prefill_kernel = hw::PrefillKernel::fa3;
  setup.max_tokens = 16'640;
  setup.max_sequences = 256;
  return setup;
}

void catalog_entry(benchmark::State& state) {
  const std::string text =
      config::read_file(TOKENLINE_SOURCE_DIR "/hwmodels/catalog/h100_sxm.yaml");
  for (auto _ : state) benchmark::DoNotOptimize(hw::parse_gpu("h100_sxm.yaml", text));
}
BENCHMARK(catalog_entry)->Unit(benchmark::kMillisecond);

void tables(benchmark::State& state, const char* model) {
  const hw::StepSetup s = setup(model);
  for (auto _ : state) benchmark::DoNotOptimize(hw::StepCost(s));
}
BENCHMARK_CAPTURE(tables, dense, "llama-2-70b")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(tables, experts, "mixtral-8x7b")->Unit(benchmark::kMillisecond);

/// A step of `range` decodes at 1000 tokens each.
void decode_step(benchmark::State& state) {
  const hw::StepCost cost(setup());
  const std::int64_t batch = state.range(0);
  std::int64_t context = 1000 * batch;
  for (auto _ : state)
    benchmark::DoNotOptimize(cost.price(
        {.decode_sequences = batch, .decode_context = ++context, .chunks = {}, .sampled = batch}));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(decode_step)->Arg(1)->Arg(256);

/// A step of 64 decodes and `range` chunks of 128 tokens.
void mixed_step(benchmark::State& state) {
  const hw::StepCost cost(setup());
  const auto pieces = static_cast<std::size_t>(state.range(0));
  const std::vector<hw::Chunk> chunks(pieces, {.new_tokens = 128, .past_tokens = 512});
  for (auto _ : state)
    benchmark::DoNotOptimize(cost.price({.decode_sequences = 64,
                                         .decode_context = 64'000,
                                         .chunks = chunks,
                                         .sampled = 64 + state.range(0)}));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(mixed_step)->Arg(1)->Arg(16);

}  // namespace
