#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/time.hpp"

namespace tokenline {

/// A request that waits to run for the first time.
struct QueuedRequest {
  std::uint32_t handle = 0;  ///< The engine's name for it.
  /// Its place in the order of arrival at the cluster; attempts of one request share it.
  std::uint64_t number = 0;
  std::uint32_t class_index = 0;
  std::uint64_t class_number = 0;  ///< Its place among the requests of its class.
  TimePoint arrival{};             ///< The first one, where it comes again.
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;  ///< Of use to a predictor alone: nobody knows it beforehand.
};

/// What a queue may know of a class of requests.
struct QueueClass {
  std::string name;
  std::int64_t priority = 0;
  std::optional<Duration> ttft_target = {};
};

/// What a queue is made of.
struct QueueSetup {
  std::uint64_t seed = 0;                ///< The scenario's.
  std::vector<QueueClass> classes = {};  ///< By class_index.
  double length_prediction_sigma = 0.0;
};

/// The requests that a scheduler may admit, in the order in which it shall. Contract: the order
/// changes by push(), pop(), remove() and served() alone, and pop() takes at(0); a push or pop is
/// O(log n) in the requests; random draws are keyed by the request. Preempted requests go before
/// all of it and are not in it. A policy without a queue of its own (null) keeps the order in which
/// requests come.
class RequestQueue {
 public:
  virtual ~RequestQueue() = default;
  /// The scheduler knows of a request from now on.
  virtual void push(const QueuedRequest& request) = 0;
  [[nodiscard]] virtual std::size_t size() const = 0;
  /// The handle of the request that is i-th if those before it are popped.
  [[nodiscard]] virtual std::uint32_t at(std::size_t i) = 0;
  /// The first one is admitted.
  virtual void pop() = 0;
  /// The request of that handle gives up, in the place where it stands. O(n).
  virtual void remove(std::uint32_t handle) = 0;
  /// The engine has crashed: nothing waits, and nothing is known.
  virtual void clear() = 0;
  /// Whether served() is to be told.
  [[nodiscard]] virtual bool counts_service() const { return false; }
  /// Requests of a class, admitted before, have been given output tokens.
  virtual void served(std::uint32_t /*class_index*/, std::int64_t /*tokens*/) {}
};

}  // namespace tokenline
