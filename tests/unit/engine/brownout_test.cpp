// Links between nodes that carry less for a while: what is transferred and what is computed.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "hwmodels/network/transfer.hpp"
#include "sim/engine/price_changes.hpp"
#include "sim/engine/run.hpp"
#include "tests/support/scratch.hpp"

using namespace tokenline;
using namespace std::chrono_literals;

namespace {

using Overrides = std::vector<std::string>;

/// A request in `cluster` of nodes of eight H100, with `faults`.
std::string yaml(const std::string& cluster, const std::string& faults,
                 const std::string& fabric = "infiniband_ndr") {
  return fmt::format(R"(scenario: s
model: llama-2-70b
cluster:
  gpu: h100_sxm
  network: {{node: hgx_h100, fabric: {}}}
{}
{}traffic:
  chat: {{arrival: {{process: constant, rate: 2/s}}, num_prompts: 3, prompt_tokens: 4000,
         output_tokens: 5}}
)",
                     fabric, cluster, faults.empty() ? "" : "faults:\n" + faults);
}

std::string brownout(const std::string& links, const std::string& from, const std::string& to,
                     double factor) {
  return fmt::format(
      "  - {{kind: link_brownout, link: {}, from: {}, to: {}, bandwidth_factor: {}}}\n", links,
      from, to, factor);
}

RunResult run_browned(const std::string& text, const Overrides& overrides = {}) {
  Scenario scenario = parse_scenario("s.yaml", text, {overrides});
  RunResult result = run(scenario);
  for (const AuditCheck& check : result.audit.checks) {
    INFO(check.id << " " << check.details);
    REQUIRE(check.passed);
  }
  return result;
}

std::string mistakes(const std::string& text) {
  try {
    (void)parse_scenario("s.yaml", text);
  } catch (const config::ConfigError& e) {
    return e.what();
  }
  return {};
}

constexpr const char* pools =
    "  tensor_parallel_size: 8\n  pools: {prefill: {role: prefill}, decode: {role: decode}}";
constexpr const char* two_nodes = "  tensor_parallel_size: 16\n  pools: {a: {role: both}}";
constexpr const char* always = "0 s";
constexpr const char* never_over = "1000 s";

}  // namespace

TEST_CASE("KV that moves meets a brown-out half-way, to the nanosecond") {
  const double bytes = 4000.0 * 327'680.0 / 8.0;  // On the link of a rank.
  const RunResult usual = run_browned(yaml(pools, ""));
  const RequestRecord& lone = usual.log.records.front();
  const Scenario scenario = parse_scenario("s.yaml", yaml(pools, ""));
  const hw::Path path = scenario.cluster.network->route(hw::gpu_at(0, 0), hw::gpu_at(1, 0));
  const double startup = hw::startup_time(path, 4000 / 16 * 80 * 2).value();
  const double bandwidth = path.bandwidth.value();
  // It begins 1 ms after the first byte.
  const Duration prefilled = lone.first_token - TimePoint{};
  const Duration begin = prefilled + to_duration(Seconds(startup)) + 1ms;
  const std::string from = fmt::format("{} ns", begin.count());
  for (const char* links : {"nic", "nic, node: 0", "nic, node: 1"}) {
    INFO(links);
    const RunResult brown = run_browned(yaml(pools, brownout(links, from, never_over, 0.25)));
    const Duration wire = brown.log.records.front().parts[Part::transfer_wire];
    const double expected = startup + 1e-3 + (bytes - 1e-3 * bandwidth) / (0.25 * bandwidth);
    CHECK(to_seconds(wire).value() == Approx(expected).margin(5e-9));
    CHECK(brown.log.records.front().first_token == lone.first_token);
    CHECK(brown.faults.front().happened);
  }
}

TEST_CASE("a replica over two nodes in a brown-out is one on a network that is so slow") {
  const Scratch folder;
  // Half of 400 Gb/s.
  std::string text = config::read_file(std::string(TOKENLINE_SOURCE_DIR) +
                                       "/hwmodels/network/fabrics/infiniband_ndr.yaml");
  const std::string rate = "bandwidth: 50 GB/s";
  text.replace(text.find(rate), rate.size(), "bandwidth: 25 GB/s");
  const RunResult slow = run_browned(yaml(two_nodes, "", folder.write("slow.yaml", text)));
  const RunResult usual = run_browned(yaml(two_nodes, ""));
  CHECK(slow.log.records != usual.log.records);
  for (const char* links : {"nic", "nic, node: 1", "nic, node: 0, nic: 3"})
    CHECK(run_browned(yaml(two_nodes, brownout(links, always, never_over, 0.5))).log.records ==
          slow.log.records);
  // Before it begins all is as ever: requests come at 0.5, 1 and 1.5 s.
  const RunResult late = run_browned(yaml(two_nodes, brownout("nic", "1.4 s", never_over, 0.5)));
  CHECK(late.log.records[0] == usual.log.records[0]);
  CHECK(late.log.records[1] == usual.log.records[1]);
  CHECK(late.log.records[2].ttft() == slow.log.records[2].ttft());
  const RunResult early = run_browned(yaml(two_nodes, brownout("nic", always, "0.9 s", 0.5)));
  CHECK(early.log.records[0].ttft() == slow.log.records[0].ttft());
  CHECK(early.log.records[2] == usual.log.records[2]);
}

TEST_CASE("brown-outs of one time multiply") {
  const RunResult both = run_browned(yaml(two_nodes, brownout("nic", always, never_over, 0.5) +
                                                         brownout("nic", always, never_over, 0.5)));
  const RunResult quarter = run_browned(yaml(two_nodes, brownout("nic", always, never_over, 0.25)));
  CHECK(both.log.records == quarter.log.records);
}

TEST_CASE("a brown-out is the matter of replicas that use its links") {
  // Two replicas over two nodes each: the second lies on nodes 2 and 3.
  const Overrides two{"cluster.pools.a.replicas=2", "cluster.router=round_robin"};
  const RunResult usual = run_browned(yaml(two_nodes, ""), two);
  const RunResult of_second =
      run_browned(yaml(two_nodes, brownout("nic, node: 3", always, never_over, 0.5)), two);
  const RunResult of_first =
      run_browned(yaml(two_nodes, brownout("nic, node: 1", always, never_over, 0.5)), two);
  const RunResult of_all =
      run_browned(yaml(two_nodes, brownout("nic", always, never_over, 0.5)), two);
  const auto& records = of_second.log.records;
  CHECK(records[0] == usual.log.records[0]);
  CHECK(records[1] == of_all.log.records[1]);
  CHECK(of_first.log.records[0] == of_all.log.records[0]);
  CHECK(of_first.log.records[1] == usual.log.records[1]);
  // One node, or nothing that moves: the same bytes as without.
  const std::string one_node = "  tensor_parallel_size: 8\n  replicas: 2";
  CHECK(run_browned(yaml(one_node, brownout("nic", always, never_over, 0.5))).log.records ==
        run_browned(yaml(one_node, "")).log.records);
}

TEST_CASE("a brown-out of links that nothing crosses is known for one") {
  const auto idle = [](const std::string& cluster, const std::string& links,
                       const Overrides& overrides = {}) {
    return !idle_brownouts(parse_scenario("s.yaml",
                                          yaml(cluster, brownout(links, always, never_over, 0.5)),
                                          {overrides}))
                .empty();
  };
  const std::string one_node = "  tensor_parallel_size: 8\n  replicas: 2";
  CHECK(idle(one_node, "nic"));
  CHECK(idle(one_node, "nic, node: 1"));
  CHECK_FALSE(idle(two_nodes, "nic"));
  CHECK_FALSE(idle(two_nodes, "nic, node: 1"));
  // KV goes from node 0 to node 1; a third node has neither.
  CHECK_FALSE(idle(pools, "nic, node: 0"));
  CHECK_FALSE(idle(pools, "nic, node: 1"));
  CHECK(
      idle("  tensor_parallel_size: 8\n"
           "  pools: {prefill: {role: prefill}, decode: {role: decode}, alone: {role: both}}",
           "nic, node: 2"));
  // Both pools on one node: KV stays inside it.
  const std::string halves =
      "  tensor_parallel_size: 4\n  pools: {prefill: {role: prefill}, decode: {role: decode}, "
      "alone: {role: both, replicas: 2}}";
  CHECK(idle(halves, "nic"));
}

TEST_CASE("a brown-out after the last request has ended does not happen") {
  const RunResult usual = run_browned(yaml(pools, ""));
  const RunResult late = run_browned(yaml(pools, brownout("nic", "900 s", "1000 s", 0.5)));
  CHECK(late.log.records == usual.log.records);
  CHECK(late.end == usual.end);
  CHECK_FALSE(late.faults.front().happened);
}

TEST_CASE("a brown-out names links that there are") {
  const auto of = [](const std::string& links, double factor = 0.5) {
    return mistakes(yaml(pools, brownout(links, "1 s", "2 s", factor)));
  };
  CHECK_THAT(of("nic, node: 2"), Catch::Contains("faults[0].node: there are 2 nodes"));
  CHECK_THAT(of("nic, nic: 8"), Catch::Contains("faults[0].nic: a node has 8 NICs"));
  CHECK_THAT(of("cable"), Catch::Contains("faults[0].link"));
  CHECK_THAT(of("spine, node: 1"), Catch::Contains("faults[0].node"));
  CHECK_THAT(of("nic", 0.0), Catch::Contains("faults[0].bandwidth_factor"));
  CHECK_THAT(of("nic", 2.0), Catch::Contains("faults[0].bandwidth_factor"));
  CHECK_THAT(mistakes(yaml(pools, brownout("nic", "2 s", "2 s", 0.5))),
             Catch::Contains("faults[0].to: it ends before it begins"));
  CHECK_THAT(mistakes(yaml("  tensor_parallel_size: 8", brownout("nic", "1 s", "2 s", 0.5))),
             Catch::Contains("faults[0].link: the network of 1 node has no such links"));
  std::string unconnected = yaml("  tensor_parallel_size: 8", brownout("nic", "1 s", "2 s", 0.5));
  const std::size_t network = unconnected.find("  network:");
  unconnected.erase(network, unconnected.find('\n', network) + 1 - network);
  CHECK_THAT(mistakes(unconnected),
             Catch::Contains("faults[0].link: there are no links: no network is named"));
  CHECK_THAT(mistakes(yaml(pools, brownout("nic", "1 s", "3 s", 0.01) +
                                      brownout("nic, node: 1", "2 s", "3 s", 0.001))),
             Catch::Contains("faults[1].bandwidth_factor: together with the others of that time "
                             "it makes things 1e+05 times slower"));
  CHECK_THAT(mistakes(yaml(pools,
                           "  - {kind: straggler, replica: 0, from: 1 s, to: 2 s, "
                           "slowdown: 2}\n")),
             Catch::Contains("faults: those of replicas are not modelled where pools hand over") &&
                 Catch::Contains("hint: link_brownout is"));
}
