#include <benchmark/benchmark.h>

#include <cstdint>

#include "sim/base/random.hpp"
#include "sim/kernel/simulation.hpp"

using namespace tokenline;

namespace {

/// One event through the queue while `range` others wait.
void event_through_the_queue(benchmark::State& state) {
  Simulation sim;
  RandomStream random(42, "bench", 0);
  for (std::int64_t i = 0; i < state.range(0); ++i)
    sim.after(Duration(1 + random() % 1000), Phase::arrival, [] {});
  for (auto _ : state) {
    sim.after(Duration(1 + random() % 1000), Phase::arrival, [] {});
    sim.step();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(event_through_the_queue)->Arg(1)->Arg(1 << 10)->Arg(1 << 17);

/// One engine step that bypasses the queue while another event waits.
void step_past_the_queue(benchmark::State& state) {
  Simulation sim;
  sim.at(TimePoint::max(), Phase::arrival, [] {});
  for (auto _ : state)
    benchmark::DoNotOptimize(sim.try_advance(sim.now() + Duration(1), Phase::completion));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(step_past_the_queue);

/// The first two draws of a fresh stream: what the lengths of one request cost.
void stream_of_one_request(benchmark::State& state) {
  const auto purpose = RandomStream::hash("chat/lengths");
  std::uint64_t id = 0;
  for (auto _ : state) {
    RandomStream stream(42, purpose, id++);
    benchmark::DoNotOptimize(stream());
    benchmark::DoNotOptimize(stream());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(stream_of_one_request);

}  // namespace
