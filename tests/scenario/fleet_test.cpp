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

TEST_CASE("a brown-out takes from transfers what the link lacks, until that is made up for",
          "[fleet]") {
  const std::string file = "scenarios/fleet/link_brownout.yaml";
  const Ran quarter = run_file(file);
  REQUIRE(quarter.summary.faults.size() == 1);
  CHECK(quarter.summary.faults[0].happened);
  // Work piles up at what comes less what is carried, and shrinks at what is left over: the area
  // below that triangle over the work of a transfer is what all of them wait, by Little's law.
  const double prompt = 4096.0 * 327'680.0;
  const double rate = 3.5 * prompt;
  const double whole = 12.1e9;
  const double peak = 30.0 * (rate - whole / 4.0);
  const double area = 0.5 * peak * (30.0 + peak / (whole - rate));
  const double waited = quarter["transfers.mean_wire_ms"] * 315.0 / 1e3;
  // Rates are shared: what is under way is half done on average, between all and none of it.
  CHECK(waited > area / prompt);
  CHECK(waited < 2.0 * area / prompt + 315.0 * 4.0 * prompt / whole);
  // Half of the link carries what comes, and another fabric does not notice.
  const Ran half = run_file(
      file,
      {"faults=[{kind: link_brownout, link: nic, from: 20 s, to: 50 s, bandwidth_factor: 0.5}]"});
  CHECK(half["transfers.p99_wire_ms"] < 1000.0);
  const Ran wide = run_file(file, {"cluster.network.fabric=infiniband_ndr"});
  CHECK(wide["chat.goodput_fraction"] == 1.0);
  CHECK(wide["chat.mean_ttft_ms"] == quarter["chat.mean_ttft_ms"]);
}
