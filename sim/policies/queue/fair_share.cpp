#include <algorithm>
#include <deque>
#include <optional>
#include <tuple>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/policies/policies.hpp"

namespace tokenline {
namespace {

/// What a token costs a class: the paper's weights, after the usual prices of APIs.
constexpr std::int64_t input_weight = 1;
constexpr std::int64_t output_weight = 2;

/// The virtual token counter: each class is a client with a count of the service it was given, and
/// the one with the smallest count goes next, the longest waiting one among equals.
class FairShare final : public RequestQueue {
 public:
  explicit FairShare(std::size_t classes) : clients_(classes), preview_(classes) {}

  void push(const QueuedRequest& request) override {
    Client& client = clients_[request.class_index];
    if (client.waiting.empty()) lift(client);
    client.waiting.push_back(request);
    ++size_;
    order_.clear();
  }
  [[nodiscard]] std::size_t size() const override { return size_; }
  [[nodiscard]] std::uint32_t at(std::size_t i) override {
    if (order_.empty())
      for (std::size_t c = 0; c < clients_.size(); ++c) preview_[c] = {clients_[c].count, 0};
    while (order_.size() <= i) {
      const std::size_t next = smallest();
      const QueuedRequest& request = clients_[next].waiting[preview_[next].taken++];
      preview_[next].count += input_weight * request.prompt_tokens;
      order_.push_back(request.handle);
    }
    return order_[i];
  }
  void pop() override {
    for (std::size_t c = 0; c < clients_.size(); ++c) preview_[c] = {clients_[c].count, 0};
    const std::size_t next = smallest();
    Client& client = clients_[next];
    client.count += input_weight * client.waiting.front().prompt_tokens;
    client.waiting.pop_front();
    last_left_ = next;
    --size_;
    order_.clear();
  }
  void remove(std::uint32_t handle) override {
    for (Client& client : clients_)
      size_ -= std::erase_if(client.waiting,
                             [handle](const QueuedRequest& r) { return r.handle == handle; });
    order_.clear();
  }
  void clear() override { *this = FairShare(clients_.size()); }
  [[nodiscard]] bool counts_service() const override { return true; }
  void served(std::uint32_t class_index, std::int64_t tokens) override {
    clients_[class_index].count += output_weight * tokens;
    order_.clear();
  }

 private:
  struct Client {
    std::int64_t count = 0;
    std::deque<QueuedRequest> waiting;
  };
  /// A client after the first requests of the order have been admitted.
  struct Preview {
    std::int64_t count = 0;
    std::size_t taken = 0;
  };

  /// Nobody saves up service while it asks for none.
  void lift(Client& client) {
    std::optional<std::int64_t> least;
    for (const Client& other : clients_)
      if (!other.waiting.empty()) least = std::min(least.value_or(other.count), other.count);
    if (!least && last_left_) least = clients_[*last_left_].count;
    if (least) client.count = std::max(client.count, *least);
  }

  [[nodiscard]] std::size_t smallest() const {
    std::optional<std::size_t> best;
    const auto key = [this](std::size_t c) {
      return std::tuple(preview_[c].count, clients_[c].waiting[preview_[c].taken].number);
    };
    for (std::size_t c = 0; c < clients_.size(); ++c)
      if (preview_[c].taken < clients_[c].waiting.size() && (!best || key(c) < key(*best)))
        best = c;
    TOKENLINE_CHECK(best.has_value(), "a request asked of an empty queue");
    return *best;
  }

  std::vector<Client> clients_;  ///< By class.
  std::size_t size_ = 0;
  std::optional<std::size_t> last_left_;  ///< The client whose request was admitted last.
  std::vector<Preview> preview_;          ///< After `order_`.
  std::vector<std::uint32_t> order_;      ///< The first handles; empty when they are not known.
};

}  // namespace

void register_queue_fair_share(Policies& policies) {
  policies.queue.add(
      "fair_share",
      {.summary = "The class that was given the least service goes first: prompt tokens + 2 · "
                  "output tokens; a class that comes back from idle starts at the least count of "
                  "those that wait.",
       .source = "VTC (Sheng et al., Fairness in Serving Large Language Models, OSDI'24, "
                 "Algorithm 2)",
       .make = [](const QueueSetup& setup) {
         return std::make_unique<FairShare>(setup.classes.size());
       }});
}

}  // namespace tokenline
