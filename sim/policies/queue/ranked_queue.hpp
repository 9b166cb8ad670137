#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <iterator>
#include <set>

#include "sim/policies/queue/queue.hpp"

namespace tokenline {

/// A queue ordered by a number that each request has when it comes: the smallest first, the first
/// to arrive among equals.
template <class Rank>
class RankedQueue : public RequestQueue {
 public:
  void push(const QueuedRequest& request) final {
    waiting_.insert({rank(request), request.number, pushes_++, request.handle});
    rewind();
  }
  [[nodiscard]] std::size_t size() const final { return waiting_.size(); }
  [[nodiscard]] std::uint32_t at(std::size_t i) final {
    // A scheduler asks for one after the other.
    if (i < place_) rewind();
    cursor_ = std::next(cursor_, static_cast<std::ptrdiff_t>(i - place_));
    place_ = i;
    return cursor_->handle;
  }
  void pop() final {
    waiting_.erase(waiting_.begin());
    rewind();
  }
  void remove(std::uint32_t handle) final {
    waiting_.erase(std::ranges::find(waiting_, handle, &Waiting::handle));
    rewind();
  }
  void clear() final {
    waiting_.clear();
    rewind();
  }

 private:
  struct Waiting {
    Rank rank;
    std::uint64_t number;
    std::uint64_t push;  ///< Among attempts of one request the first goes first.
    std::uint32_t handle;
    auto operator<=>(const Waiting&) const = default;
  };

  [[nodiscard]] virtual Rank rank(const QueuedRequest& request) const = 0;
  void rewind() {
    cursor_ = waiting_.begin();
    place_ = 0;
  }

  std::set<Waiting> waiting_;
  std::uint64_t pushes_ = 0;
  typename std::set<Waiting>::iterator cursor_ = waiting_.begin();
  std::size_t place_ = 0;  ///< Of the cursor.
};

}  // namespace tokenline
