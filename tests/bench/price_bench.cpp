#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "hwmodels/step_cost.hpp"

using namespace tokenline;

namespace {

/// Llama-2-70B on eight H100s, with tables for steps of up to 16,640 tokens.
hw::StepSetup setup() {
  return {.model = models::load_model("llama-2-70b"),
          .gpu = hw::load_gpu("h100_sxm"),
          .tensor_parallel_size = 8,
          .prefill_kernel = hw::PrefillKernel::fa3,
          .decode_kernel = hw::DecodeKernel::flash_decoding,
          .max_tokens = 16'640,
          .max_sequences = 256};
}

void tables(benchmark::State& state) {
  const hw::StepSetup s = setup();
  for (auto _ : state) benchmark::DoNotOptimize(hw::StepCost(s));
}
BENCHMARK(tables)->Unit(benchmark::kMillisecond);

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
