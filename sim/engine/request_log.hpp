#pragma once

#include <boost/container/deque.hpp>
#include <cstdint>
#include <vector>

#include "sim/engine/request.hpp"
#include "sim/engine/sequence.hpp"
#include "sim/stats/histogram.hpp"

namespace tokenline {

/// Records stay where they are as more are added. Why not std::deque: a block of its would hold a
/// single record, an allocation each.
class RequestRecords
    : public boost::container::deque<
          RequestRecord, void,
          boost::container::deque_options<boost::container::block_size<256U>>::type> {
 public:
  RequestRecords() = default;
  RequestRecords(const RequestRecords&) = default;
  RequestRecords(RequestRecords&&) = default;
  ~RequestRecords() = default;
  RequestRecords& operator=(const RequestRecords&) = default;
  /// Why an exchange: to empty one that never held a record, Boost 1.74 computes with a null
  /// pointer.
  RequestRecords& operator=(RequestRecords&& other) noexcept {
    swap(other);
    return *this;
  }
};

/// What instances write: the records of all requests, by id, and the inter-token latencies of the
/// measured ones, by class.
struct RequestLog {
  RequestRecords records;
  std::vector<stats::Histogram> token_gaps;
  /// By request: prompt tokens that its last attempt found in the prefix cache when it first ran.
  /// Empty where requests do not begin alike.
  std::vector<std::int64_t> cached_tokens;
};

/// A piece of a prompt in a step that has begun.
struct ComputedPiece {
  std::uint32_t request = 0;
  std::int64_t first = 0;  ///< Its tokens: [first, last).
  std::int64_t last = 0;
  TimePoint begin{};  ///< When the GPU computes it, layer by layer.
  TimePoint end{};
};

/// What an instance tells its cluster.
class InstanceListener {
 public:
  virtual ~InstanceListener() = default;
  /// The request delivered its last token; its record is final.
  virtual void completed(std::uint32_t request) = 0;
  /// The instance crashed with the request in its queue or in its batch; `loss` is what becomes of
  /// it if it is not tried again.
  virtual void crashed(std::uint32_t request, Outcome loss) = 0;
  /// A crash ends the steps of a replica at `now`, which it has counted to their ends.
  virtual void cut_short(std::uint32_t instance, TimePoint now) = 0;
  /// A replica that only computes prompts has computed this one and emitted its first token. It
  /// keeps the blocks of `sequence` until it is told to forget it.
  virtual void prefilled(std::uint32_t request, SequenceId sequence) = 0;
  /// A replica that only computes prompts begins a piece of one, where KV leaves layer by layer.
  virtual void computing(const ComputedPiece& piece) = 0;
  /// A replica has blocks for the prompt of a request that it was told to expect, of which the
  /// first `found` tokens are there already.
  virtual void reserved(std::uint32_t request, std::int64_t found) = 0;
};

}  // namespace tokenline
