#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "sim/policies/policies.hpp"

using namespace tokenline;
using std::chrono::milliseconds;

namespace {

std::unique_ptr<AdmissionControl> make_admission(const std::string& policy,
                                                 const AdmissionSetup& setup) {
  return builtin_policies().admission.at(policy).make(setup);
}

std::vector<ReplicaView> with_waiting(const std::vector<std::int64_t>& counts) {
  std::vector<ReplicaView> replicas;
  for (const std::int64_t count : counts) replicas.push_back({.waiting = count});
  return replicas;
}

AdmissionRequest at(int milliseconds_, std::int64_t prompt = 1) {
  return {.now = TimePoint{} + milliseconds(milliseconds_), .prompt_tokens = prompt};
}

}  // namespace

TEST_CASE("unlimited asks nobody", "[policies]") {
  CHECK(make_admission("unlimited", {}) == nullptr);
}

TEST_CASE("bounded_queue in all counts what waits on all replicas", "[policies]") {
  const auto door = make_admission("bounded_queue", {.max_waiting = 10});
  CHECK(door->admits(at(0), with_waiting({9, 0})));
  CHECK_FALSE(door->admits(at(0), with_waiting({9, 1})));
  CHECK(door->has_room({.waiting = 1000}));
}

TEST_CASE("bounded_queue per replica closes full replicas, and the door when all are full",
          "[policies]") {
  const auto door = make_admission("bounded_queue", {.max_waiting_per_replica = 3});
  CHECK(door->has_room({.waiting = 2}));
  CHECK_FALSE(door->has_room({.waiting = 3}));
  CHECK(door->admits(at(0), with_waiting({3, 2})));
  CHECK_FALSE(door->admits(at(0), with_waiting({3, 4})));
}

TEST_CASE("token_bucket admits its burst at once, then one request each 1 / rate", "[policies]") {
  const auto door =
      make_admission("token_bucket", {.bucket_rate = PerSecond(10.0), .bucket_burst = 3});
  for (int i = 0; i < 3; ++i) CHECK(door->admits(at(0), {}));
  CHECK_FALSE(door->admits(at(0), {}));
  CHECK_FALSE(door->admits(at(99), {}));
  // 0.1 s are exactly one: no rounding, however often it is asked.
  for (int i = 1; i < 1000; ++i) {
    CHECK(door->admits(at(100 * i), {}));
    CHECK_FALSE(door->admits(at(100 * i + 99), {}));
  }
  // After a lull the burst, and no more.
  for (int i = 0; i < 3; ++i) CHECK(door->admits(at(10'000'000), {}));
  CHECK_FALSE(door->admits(at(10'000'000), {}));
}

TEST_CASE("token_bucket of prompt tokens lets a short prompt pass that a long one may not",
          "[policies]") {
  const auto door = make_admission(
      "token_bucket",
      {.bucket_counts_tokens = true, .bucket_rate = PerSecond(1000.0), .bucket_burst = 500});
  CHECK(door->admits(at(0, 400), {}));
  CHECK_FALSE(door->admits(at(0, 101), {}));  // A refusal takes nothing.
  CHECK(door->admits(at(0, 100), {}));
  CHECK_FALSE(door->admits(at(49, 50), {}));
  CHECK(door->admits(at(50, 50), {}));
}

TEST_CASE("shed_by_class refuses one priority after the other as the queue grows, never the first",
          "[policies]") {
  const auto door =
      make_admission("shed_by_class", {.shed_above = 10, .priorities = {5, -1, 5, 2}});
  const auto admits = [&](std::uint32_t class_index, std::int64_t waiting) {
    return door->admits({.now = {}, .class_index = class_index}, with_waiting({waiting, 0}));
  };
  for (const std::uint32_t least_urgent : {0U, 2U}) {
    CHECK(admits(least_urgent, 9));
    CHECK_FALSE(admits(least_urgent, 10));
  }
  CHECK(admits(3, 19));
  CHECK_FALSE(admits(3, 20));
  CHECK(admits(1, 1'000'000));
}
