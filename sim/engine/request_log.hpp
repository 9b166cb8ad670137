#pragma once

#include <boost/container/deque.hpp>
#include <cstdint>
#include <vector>

#include "sim/engine/request.hpp"
#include "sim/stats/histogram.hpp"

namespace tokenline {

/// Records stay where they are as more are added. Why not std::deque: a block of its would hold a
/// single record, an allocation each.
using RequestRecords = boost::container::deque<
    RequestRecord, void, boost::container::deque_options<boost::container::block_size<256U>>::type>;

/// What instances write: the records of all requests, by id, and the inter-token latencies of the
/// measured ones, by class.
struct RequestLog {
  RequestRecords records;
  std::vector<stats::Histogram> token_gaps;
  /// By request: prompt tokens that its last attempt found in the prefix cache when it first ran.
  /// Empty where requests do not begin alike.
  std::vector<std::int64_t> cached_tokens;
};

/// What an instance tells its cluster.
class InstanceListener {
 public:
  virtual ~InstanceListener() = default;
  /// The request delivered its last token; its record is final.
  virtual void completed(std::uint32_t request) = 0;
  /// The instance crashed with the request in its queue or in its batch.
  virtual void crashed(std::uint32_t request) = 0;
};

}  // namespace tokenline
