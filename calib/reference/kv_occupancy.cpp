#include "calib/reference/kv_occupancy.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <vector>

#include "calib/reference/paged_pool.hpp"
#include "sim/base/check.hpp"
#include "sim/base/integer.hpp"

namespace tokenline::reference {
namespace {

/// A running request: its number, and how many of its tokens are stored.
struct Running {
  std::size_t request = 0;
  std::int64_t stored = 0;
};

/// Memory handed out in runs of places.
class ContiguousMemory {
 public:
  ContiguousMemory(std::int64_t places, KvLayout layout, std::int64_t longest)
      : places_(places), layout_(layout), longest_(longest) {}

  bool admit(std::size_t request, const KvDemand& demand) {
    const std::int64_t size = reservation(demand);
    const auto begin = first_hole(size);
    if (begin) runs_[*begin] = {request, size};
    return begin.has_value();
  }
  [[nodiscard]] static bool grow(std::size_t /*request*/) { return true; }
  void release(std::size_t request) {
    std::erase_if(runs_, [&](const auto& run) { return run.second.request == request; });
  }
  [[nodiscard]] std::int64_t handed_out() const {
    std::int64_t sum = 0;
    for (const auto& [begin, run] : runs_) sum += run.size;
    return sum;
  }
  /// Free places in holes that `demand` does not fit into.
  [[nodiscard]] std::int64_t useless(const KvDemand& demand) const {
    std::int64_t sum = 0;
    each_hole([&](std::int64_t /*begin*/, std::int64_t size) {
      if (size < reservation(demand)) sum += size;
    });
    return sum;
  }

 private:
  struct Run {
    std::size_t request = 0;
    std::int64_t size = 0;
  };

  [[nodiscard]] std::int64_t reservation(const KvDemand& demand) const {
    if (layout_ == KvLayout::longest) return longest_;
    const std::int64_t tokens = demand.final_tokens();
    if (layout_ == KvLayout::exact) return tokens;
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(tokens)));
  }
  template <class Visit>
  void each_hole(const Visit& visit) const {
    std::int64_t end = 0;
    for (const auto& [begin, run] : runs_) {
      if (begin > end) visit(end, begin - end);
      end = begin + run.size;
    }
    if (places_ > end) visit(end, places_ - end);
  }
  [[nodiscard]] std::optional<std::int64_t> first_hole(std::int64_t size) const {
    std::optional<std::int64_t> found;
    each_hole([&](std::int64_t begin, std::int64_t hole) {
      if (!found && hole >= size) found = begin;
    });
    return found;
  }

  std::int64_t places_;
  KvLayout layout_;
  std::int64_t longest_;
  std::map<std::int64_t, Run> runs_;  ///< By the place where they begin.
};

/// Memory handed out in blocks.
class PagedMemory {
 public:
  PagedMemory(std::int64_t places, std::int64_t block_size)
      : pool_(places / block_size, block_size), block_size_(block_size) {}

  bool admit(std::size_t request, const KvDemand& demand) {
    return pool_.append(id(request), demand.prompt);
  }
  [[nodiscard]] bool grow(std::size_t request) { return pool_.append(id(request), 1); }
  void release(std::size_t request) { pool_.release(id(request)); }
  [[nodiscard]] std::int64_t handed_out() const { return pool_.used() * block_size_; }
  /// Any block serves any request.
  [[nodiscard]] static std::int64_t useless(const KvDemand& /*demand*/) { return 0; }

 private:
  static std::int64_t id(std::size_t request) { return static_cast<std::int64_t>(request); }
  PagedPool pool_;
  std::int64_t block_size_;
};

template <class Memory>
class Service {
 public:
  Service(std::span<const KvDemand> requests, Memory memory, std::int64_t places)
      : requests_(requests), memory_(std::move(memory)), places_(places) {
    for (std::size_t i = requests.size(); i > 0; --i) waiting_.push_back(i - 1);
  }

  KvOccupancy run() {
    while (!waiting_.empty() || !running_.empty()) {
      admit();
      TOKENLINE_CHECK(!running_.empty(), "a request of {} tokens fits in no {} places",
                      requests_[waiting_.back()].final_tokens(), places_);
      if (!waiting_.empty()) sample();
      step();
    }
    if (samples_ > 0)
      for (double* sum :
           {&means_.stored, &means_.internal, &means_.external, &means_.free, &means_.running})
        *sum /= real(samples_);
    return means_;
  }

 private:
  void admit() {
    while (!waiting_.empty() && memory_.admit(waiting_.back(), requests_[waiting_.back()])) {
      running_.push_back({waiting_.back(), requests_[waiting_.back()].prompt});
      waiting_.pop_back();
    }
  }

  void sample() {
    std::int64_t stored = 0;
    for (const Running& each : running_) stored += each.stored;
    const std::int64_t handed_out = memory_.handed_out();
    const std::int64_t useless = memory_.useless(requests_[waiting_.back()]);
    means_.stored += real(stored);
    means_.internal += real(handed_out - stored);
    means_.external += real(useless);
    means_.free += real(places_ - handed_out - useless);
    means_.running += real(static_cast<std::int64_t>(running_.size()));
    ++samples_;
  }

  /// Every running request stores a token, oldest first; those that have all of theirs leave.
  void step() {
    ++means_.steps;
    for (std::size_t i = 0; i < running_.size();) {
      if (!memory_.grow(running_[i].request)) {
        preempt();
        continue;
      }
      ++running_[i++].stored;
    }
    std::erase_if(running_, [&](const Running& each) {
      const bool done = each.stored == requests_[each.request].final_tokens();
      if (done) memory_.release(each.request);
      return done;
    });
  }

  /// The newest goes back to the head of the queue.
  void preempt() {
    ++means_.preemptions;
    memory_.release(running_.back().request);
    waiting_.push_back(running_.back().request);
    running_.pop_back();
  }

  std::span<const KvDemand> requests_;
  Memory memory_;
  std::int64_t places_;
  std::vector<std::size_t> waiting_;  ///< The next is the last.
  std::vector<Running> running_;      ///< In the order of admission.
  KvOccupancy means_;
  std::int64_t samples_ = 0;
};

}  // namespace

KvOccupancy kv_occupancy(std::span<const KvDemand> requests, KvLayout layout, std::int64_t places,
                         std::int64_t longest, std::int64_t block_size) {
  if (layout == KvLayout::paged)
    return Service(requests, PagedMemory(places, block_size), places).run();
  return Service(requests, ContiguousMemory(places, layout, longest), places).run();
}

}  // namespace tokenline::reference
