#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "sim/base/time.hpp"

namespace tokenline {

/// What a router may know of a replica at the moment a request arrives.
struct ReplicaView {
  std::uint32_t index = 0;       ///< Which it is of all.
  std::int64_t outstanding = 0;  ///< Requests sent to it that have not ended: waiting and running.
  std::int64_t waiting = 0;      ///< Those in its queue.
  /// Tokens to prefill in its queue and in the prompt that it computes in pieces, but for those
  /// that a step has computed or is computing.
  std::int64_t queued_tokens = 0;
  std::int64_t used_blocks = 0;  ///< Of its KV pool.
  std::int64_t block_size = 1;   ///< Tokens of such a block.
  /// Tokens prefilled since it exists, and how long it took for that: the host's part of the steps
  /// that did it, and the mean of the stages of theirs.
  std::int64_t prefilled_tokens = 0;
  Duration prefill_time{};
  /// Tokens of the request's prompt that its prefix cache has, for routers that ask for them.
  std::int64_t cached_tokens = 0;
};

/// What a router may know of a request.
struct RouteRequest {
  std::uint64_t id = 0;  ///< Its place in the order of arrival, also when it comes again.
  std::int64_t prompt_tokens = 0;
  std::optional<std::uint64_t> session{};  ///< Its conversation, where it is a turn of one.
};

/// What a router is made of.
struct RouterSetup {
  std::uint64_t seed = 0;  ///< The scenario's.
};

/// Chooses the replica for one request. Contract: `replicas` are those that can take requests (all,
/// when none can) and never empty; the result is an index into it; views are valid only during the
/// call; a router schedules nothing, and draws from streams keyed by (seed, "router", request).
class Router {
 public:
  virtual ~Router() = default;
  /// Whether ReplicaView::cached_tokens is to be given.
  [[nodiscard]] virtual bool asks_for_prefixes() const { return false; }
  /// Whether RouteRequest::session is to be given.
  [[nodiscard]] virtual bool asks_for_sessions() const { return false; }
  [[nodiscard]] virtual std::size_t route(const RouteRequest& request,
                                          std::span<const ReplicaView> replicas) = 0;
};

}  // namespace tokenline
