#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sim/engine/run.hpp"

namespace tokenline::validate {

/// How a benchmark client loads a server in a closed loop, and over what it averages. Warm-up
/// requests are left out: they end before the first measured one is sent, and a simulated engine
/// needs none.
struct Protocol {
  std::string_view name;
  std::string_view source;
  double shortest_prompt = 1.0;  ///< Lengths are uniform from this share of the nominal one to it.
  double shortest_output = 0.8;
  std::int64_t requests_per_client = 10;
  std::int64_t skipped_per_client = 0;  ///< The first requests, left out of the means.
};

/// Every protocol that can be asked for.
[[nodiscard]] std::span<const Protocol> protocols();
/// One of them. The name must be known.
[[nodiscard]] const Protocol& protocol_named(std::string_view name);
/// Whether InferenceX runs this workload with this model.
[[nodiscard]] bool runs_in_inferencex(std::string_view model, std::int64_t prompt_tokens,
                                      std::int64_t output_tokens);
/// The one behind a published closed-loop run: README.md, *Protocols*.
[[nodiscard]] const Protocol& protocol_of(std::string_view model, std::int64_t prompt_tokens,
                                          std::int64_t output_tokens);

/// From a client's answer to its next request. The exact value matters little as long as it is
/// neither zero nor a whole step: between 1 us and 20 ms the mean TTFT of 15 runs of Qwen3-32B
/// moves by 4 % of itself, from 0 to 1 us by 16 %, since a request that is there at once never
/// waits for a step in flight (aiconfigurator docs/design/queueing_model.md, failure mode 13).
inline constexpr Duration turnaround = std::chrono::milliseconds(1);

/// The `traffic:` class of `clients` clients, as build() wants it.
[[nodiscard]] std::string closed_loop(const Protocol& protocol, std::int64_t clients,
                                      std::int64_t prompt_tokens, std::int64_t output_tokens);

/// Means over requests, milliseconds; 0 where there are none.
struct Latency {
  double ttft_ms = 0.0;
  double tpot_ms = 0.0;  ///< (E2E − TTFT) / (output − 1) of each request with more than one token.
  std::int64_t requests = 0;
  std::int64_t decoding = 0;  ///< Those with more than one token.
};

/// Of the completed requests from number `skipped` on, in the order of arrival.
[[nodiscard]] Latency mean_latency(const RunResult& run, std::int64_t skipped);

}  // namespace tokenline::validate
