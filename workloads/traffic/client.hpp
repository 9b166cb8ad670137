#pragma once

#include <cstdint>
#include <optional>

#include "sim/base/time.hpp"

namespace tokenline::traffic {

/// How many retries the clients of a class may send: gRPC's retry throttling (gRFC A6). A count
/// starts at `max_tokens`; a failed attempt takes 1 from it, an answered request gives
/// `token_ratio` back, and nothing is sent again while no more than half of `max_tokens` is left.
struct RetryBudget {
  double max_tokens = 0.0;
  double token_ratio = 0.0;
};

/// How long the clients of a class wait for an answer, and how often they ask again.
struct Client {
  std::optional<Duration> timeout;       ///< Of an attempt: from sending it to its last token.
  std::optional<Duration> ttft_timeout;  ///< Of an attempt: from sending it to its first token.
  /// Whether the server learns that the client has gone, and stops.
  bool abort_on_timeout = true;
  std::int64_t attempts = 1;  ///< Of a request at most.
  /// The n-th pause is min(max_backoff, backoff · 2^(n-1)) · (1 - jitter · U(0, 1)).
  Duration backoff{};
  Duration max_backoff{};
  double jitter = 0.0;
  std::optional<RetryBudget> budget;

  /// Waits for as long as it takes, once.
  [[nodiscard]] bool patient() const { return !timeout && !ttft_timeout && attempts == 1; }
};

}  // namespace tokenline::traffic
