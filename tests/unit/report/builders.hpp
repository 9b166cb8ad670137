#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/engine/run.hpp"

namespace tokenline::report {

/// Runs made by hand, for tests of what is reported of them.
struct HandMade {
  Duration arrival{};
  Duration ttft{};
  Duration e2el{};
  std::int64_t prompt_tokens = 10;
  std::int64_t output_tokens = 11;
  std::uint32_t class_index = 0;
};

inline Duration ms(std::int64_t n) { return std::chrono::milliseconds(n); }

/// A completed request that waited for the KV blocks of others half of its TTFT, and decoded
/// alone.
inline RequestRecord completed(const HandMade& r) {
  RequestRecord record;
  record.arrival = TimePoint{} + r.arrival;
  record.first_token = record.arrival + r.ttft;
  record.finish = record.arrival + r.e2el;
  record.prompt_tokens = r.prompt_tokens;
  record.output_tokens = r.output_tokens;
  record.class_index = r.class_index;
  record.outcome = Outcome::completed;
  record.parts[Part::wait_kv_blocks] = r.ttft / 2;
  record.parts[Part::own_prefill] = r.ttft - r.ttft / 2;
  record.ttft_parts = TtftParts(record.parts);
  record.parts[Part::decode_floor] = r.e2el - r.ttft;
  return record;
}

inline RequestRecord lost(Duration arrival, Duration until, std::uint32_t class_index = 0) {
  RequestRecord record;
  record.arrival = TimePoint{} + arrival;
  record.finish = record.arrival + until;
  record.prompt_tokens = 10;
  record.output_tokens = 11;
  record.class_index = class_index;
  record.retries = 2;
  record.outcome = Outcome::lost_oom;
  return record;
}

/// A request that was refused at the door.
inline RequestRecord rejected(Duration arrival) {
  RequestRecord record;
  record.arrival = TimePoint{} + arrival;
  record.finish = record.arrival;
  record.prompt_tokens = 10;
  record.output_tokens = 11;
  record.outcome = Outcome::rejected;
  return record;
}

/// A run of these classes, without requests, on one replica.
inline RunResult run_of(const std::vector<std::string>& classes) {
  RunResult run;
  for (const std::string& name : classes) run.classes.push_back({name, {}});
  run.log.token_gaps.resize(classes.size());
  run.instances.push_back({.name = "replica-0",
                           .pool = {},
                           .whole = {},
                           .measured = {},
                           .measured_from = {},
                           .kv_blocks = 100});
  return run;
}

/// Text of a small scenario of the classes "chat" and "batch", which runs in milliseconds.
inline constexpr std::string_view small_scenario = R"(scenario: small
model: llama-3.1-8b
cluster: {gpu: h100_sxm}
engine: {max_model_len: 4096}
traffic:
  chat:
    arrival: {process: poisson, rate: 5/s}
    num_prompts: 40
    prompt_tokens: 200
    output_tokens: 20
    slo: {ttft: 1 s}
  batch:
    arrival: {process: constant, rate: 2/s}
    num_prompts: 10
    prompt_tokens: 1000
    output_tokens: 5
)";

}  // namespace tokenline::report
