#include "tests/scenario/support.hpp"

using namespace tokenline;
using namespace tokenline::scenario_test;

TEST_CASE("after a spike naive retries keep a server busy with what nobody waits for", "[fleet]") {
  const std::string file = "scenarios/fleet/retry_storm.yaml";
  const std::string retry = "traffic.chat.retry.";
  // Minutes after the spike, at 70 % of what the server can do.
  const Ran naive = run_file(file);
  CHECK(naive["chat.goodput_fraction"] < 0.05);
  CHECK(naive["instances.busy_fraction"] > 0.99);
  // Load alone does not do it.
  CHECK(run_file(file, {"traffic.chat.arrival.rate.peak=16.1/s"})["chat.goodput_fraction"] > 0.99);
  // Nor does the spike: without retries its queue is gone by then.
  CHECK(run_file(file, {retry + "attempts=1"})["chat.goodput_fraction"] > 0.95);
  // Pauses do not make retries fewer.
  CHECK(run_file(file, {retry + "backoff=2 s", retry + "max_backoff=60 s",
                        retry + "jitter=1"})["chat.goodput_fraction"] < 0.05);
  // A budget does, and so does a queue that is no longer than what can be answered in time.
  CHECK(run_file(file, {retry + "budget.max_tokens=10",
                        retry + "budget.token_ratio=0.1"})["chat.goodput_fraction"] > 0.95);
  CHECK(run_file(file, {"cluster.admission=bounded_queue",
                        "cluster.max_waiting=100"})["chat.goodput_fraction"] > 0.99);
}

TEST_CASE("three of four replicas carry the load of a failure", "[fleet]") {
  const std::string file = "scenarios/fleet/failover.yaml";
  const Ran ran = run_file(file);
  CHECK(ran["chat.failed"] == 0);
  REQUIRE(ran.summary.faults.size() == 2);
  CHECK(ran.summary.faults[0].happened);
  // Twice the load is more than three can do, and four can.
  const Overrides more{"traffic.chat.arrival.rate=75/s"};
  CHECK(run_file(file, more)["chat.goodput_fraction"] < 0.9);
  Overrides well = more;
  well.push_back("faults=[]");
  CHECK(run_file(file, well)["chat.goodput_fraction"] > 0.99);
}
