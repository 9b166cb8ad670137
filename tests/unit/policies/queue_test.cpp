#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "sim/policies/policies.hpp"

using namespace tokenline;
using std::chrono::milliseconds;

namespace {

using Handles = std::vector<std::uint32_t>;

std::unique_ptr<RequestQueue> make_queue(const std::string& policy, const QueueSetup& setup) {
  return builtin_policies().queue.at(policy).make(setup);
}

/// The whole order as a scheduler sees it, which must be the order in which requests leave.
Handles order(RequestQueue& queue) {
  Handles seen;
  for (std::size_t i = 0; i < queue.size(); ++i) seen.push_back(queue.at(i));
  Handles left;
  while (queue.size() > 0) {
    left.push_back(queue.at(0));
    queue.pop();
  }
  CHECK(seen == left);
  return left;
}

/// The n-th request, of a class and with an answer of some length.
QueuedRequest request(std::uint32_t n, std::uint32_t class_index, std::int64_t output = 10) {
  return {.handle = n,
          .number = n,
          .class_index = class_index,
          .class_number = n,
          .arrival = TimePoint{} + milliseconds(n),
          .prompt_tokens = 100,
          .output_tokens = output};
}

}  // namespace

TEST_CASE("fcfs leaves the order to the engine, which keeps that of arrival", "[policies]") {
  CHECK(make_queue("fcfs", {}) == nullptr);
}

TEST_CASE("priority takes the smallest number first, and who came first among equals",
          "[policies]") {
  const auto queue = make_queue("priority", {.seed = 1,
                                             .classes = {{.name = "a", .priority = 1},
                                                         {.name = "b", .priority = -3},
                                                         {.name = "c", .priority = 1}}});
  for (const std::uint32_t c : {0U, 2U, 1U, 0U, 1U})
    queue->push(request(static_cast<std::uint32_t>(queue->size()), c));
  CHECK(order(*queue) == Handles{2, 4, 0, 1, 3});
}

TEST_CASE("earliest_deadline takes arrival + target, and classes without one last", "[policies]") {
  const auto queue = make_queue("earliest_deadline",
                                {.seed = 1,
                                 .classes = {{.name = "slow", .ttft_target = milliseconds(100)},
                                             {.name = "none"},
                                             {.name = "fast", .ttft_target = milliseconds(97)}}});
  queue->push(request(0, 1));
  queue->push(request(1, 0));  // 101 ms
  queue->push(request(2, 2));  // 99 ms
  queue->push(request(3, 1));
  queue->push(request(4, 2));  // 101 ms, after the other
  queue->push(request(5, 2));  // 102 ms
  CHECK(order(*queue) == Handles{2, 1, 4, 5, 0, 3});
}

TEST_CASE("shortest_job_first with a perfect predictor orders by the length of the answer",
          "[policies]") {
  const auto queue = make_queue("shortest_job_first", {.seed = 1, .classes = {{.name = "a"}}});
  for (const std::int64_t output : {30, 10, 20, 10})
    queue->push(request(static_cast<std::uint32_t>(queue->size()), 0, output));
  CHECK(order(*queue) == Handles{1, 3, 2, 0});
}

TEST_CASE(
    "a predictor of sigma s puts an answer e times as long first as often as two of its errors "
    "differ by 1",
    "[policies]") {
  // ln(error) is normal, so that of two requests the longer one is first with Φ(−1 / (s √2)).
  const double sigma = 0.8;
  const double expected = 0.5 * std::erfc(1.0 / (2.0 * sigma));
  int inverted = 0;
  constexpr int pairs = 20'000;
  const auto queue =
      make_queue("shortest_job_first",
                 {.seed = 7, .classes = {{.name = "a"}}, .length_prediction_sigma = sigma});
  for (std::uint32_t i = 0; i < pairs; ++i) {
    queue->push(request(2 * i, 0, 100'000));
    queue->push(request(2 * i + 1, 0, 271'828));
    inverted += queue->at(0) % 2 == 1;
    queue->clear();
  }
  CHECK(inverted / double{pairs} == Approx(expected).margin(0.01));
}

TEST_CASE("the prediction of a request depends on the seed, its class and its number alone",
          "[policies]") {
  const QueueSetup setup{.seed = 7, .classes = {{.name = "a"}}, .length_prediction_sigma = 2.0};
  const auto once = make_queue("shortest_job_first", setup);
  const auto again = make_queue("shortest_job_first", setup);
  for (std::uint32_t i = 0; i < 50; ++i) once->push(request(i, 0));
  for (std::uint32_t i = 50; i-- > 0;) again->push(request(i, 0));
  const Handles first = order(*once);
  CHECK(first == order(*again));
  QueueSetup other = setup;
  other.seed = 8;
  const auto different = make_queue("shortest_job_first", other);
  for (std::uint32_t i = 0; i < 50; ++i) different->push(request(i, 0));
  CHECK(first != order(*different));
}

TEST_CASE("fair_share takes the class that was given least, prompts counted at once",
          "[policies]") {
  const auto queue =
      make_queue("fair_share", {.seed = 1, .classes = {{.name = "a"}, {.name = "b"}}});
  for (std::uint32_t i = 0; i < 3; ++i) queue->push(request(i, 0));  // 100 tokens each
  for (std::uint32_t i = 3; i < 6; ++i) queue->push(request(i, 1));
  CHECK(order(*queue) == Handles{0, 3, 1, 4, 2, 5});
}

TEST_CASE("fair_share charges an output token as two of input", "[policies]") {
  const auto queue =
      make_queue("fair_share", {.seed = 1, .classes = {{.name = "a"}, {.name = "b"}}});
  CHECK(queue->counts_service());
  for (std::uint32_t i = 0; i < 4; ++i) queue->push(request(i, i % 2));
  queue->served(0, 99);
  CHECK(queue->at(0) == 1);
  CHECK(queue->at(1) == 3);  // 100 < 198
  queue->served(1, 50);      // 100 + 100 after its first request, against 198
  CHECK(order(*queue) == Handles{1, 0, 3, 2});
}

TEST_CASE("a class that comes back from idle has not saved up what it did not ask for",
          "[policies]") {
  const auto queue =
      make_queue("fair_share", {.seed = 1, .classes = {{.name = "a"}, {.name = "b"}}});
  for (std::uint32_t i = 0; i < 10; ++i) queue->push(request(i, 0));
  for (int i = 0; i < 5; ++i) queue->pop();  // The count of a: 500.
  for (std::uint32_t i = 10; i < 13; ++i) queue->push(request(i, 1));
  // b begins at 500 too, instead of going first three times.
  CHECK(order(*queue) == Handles{5, 10, 6, 11, 7, 12, 8, 9});
}

TEST_CASE("in an empty queue a class begins at the count of the one that left it last",
          "[policies]") {
  const auto queue =
      make_queue("fair_share", {.seed = 1, .classes = {{.name = "a"}, {.name = "b"}}});
  queue->push(request(0, 0));
  queue->pop();                // a: 100.
  queue->push(request(1, 1));  // b: 100 too.
  queue->push(request(2, 0));
  queue->push(request(3, 1));
  // Without the lift b would go twice.
  CHECK(order(*queue) == Handles{1, 2, 3});
  queue->push(request(4, 1));
  queue->clear();  // Forgotten, with the counts.
  CHECK(queue->size() == 0);
}

TEST_CASE("a request that gives up leaves its queue, and the others keep their order",
          "[policies]") {
  for (const std::string policy :
       {"priority", "earliest_deadline", "shortest_job_first", "fair_share"}) {
    CAPTURE(policy);
    const QueueSetup setup{.seed = 1, .classes = {{.name = "a"}, {.name = "b"}}};
    Handles expected;
    for (const bool leaves : {false, true}) {
      const auto queue = make_queue(policy, setup);
      for (std::uint32_t n = 0; n < 8; ++n) queue->push(request(n, 0, n % 3 + 1));
      (void)queue->at(5);  // What it has worked out so far is of no use afterwards.
      if (leaves) queue->remove(4);
      CHECK(queue->size() == (leaves ? 7 : 8));
      const Handles all = order(*queue);
      if (!leaves)
        std::ranges::copy_if(all, std::back_inserter(expected), [](auto h) { return h != 4; });
      else
        CHECK(all == expected);
    }
  }
}
