#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tokenline {

/// What a router may know of a replica at the moment a request arrives.
struct ReplicaView {
  std::int64_t outstanding = 0;  ///< Requests sent to it that have not ended: waiting and running.
};

/// Chooses the replica for one request. Contract: `replicas` are those that can take requests (all,
/// when none can) and never empty; the result is an index into it; views are valid only during the
/// call; a router schedules nothing.
class Router {
 public:
  virtual ~Router() = default;
  [[nodiscard]] virtual std::size_t route(std::span<const ReplicaView> replicas) = 0;
};

}  // namespace tokenline
