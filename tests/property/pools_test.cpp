// Random scenarios of pools that hand over KV. The slow engine has no pools: what is checked are
// laws, the audit of every run among them.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "hwmodels/network/transfer.hpp"
#include "sim/base/integer.hpp"
#include "sim/engine/resharding.hpp"
#include "sim/engine/run.hpp"
#include "tests/support/random_pools.hpp"
#include "tests/support/random_scenario.hpp"

using namespace tokenline;
using namespace tokenline::test;

namespace {

template <class Check>
void for_pools(int count, Check check) {
  for (int i = 0; i < sample(count); ++i) {
    const auto seed = static_cast<std::uint64_t>(i);
    const std::string yaml = random_pools(seed);
    INFO("scenario of seed " << seed << ":\n" << yaml);
    check(yaml);
  }
}

RunResult run_pools(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
  Scenario scenario = parse_scenario("random.yaml", yaml, {overrides});
  return run(scenario);
}

/// The least time in which the KV of a prompt can move between any two replicas, all of it after
/// the prefill.
Seconds least_wire(const Scenario& scenario, std::int64_t tokens) {
  std::vector<const Pool*> pools;
  for (const Pool& pool : scenario.pools)
    pools.insert(pools.end(), static_cast<std::size_t>(pool.replicas), &pool);
  const models::Architecture& model = scenario.cost->setup().model;
  Seconds least(1e9);
  for (std::size_t from = 0; from < pools.size(); ++from)
    for (std::size_t to = 0; to < pools.size(); ++to) {
      if (pools[from]->role != PoolRole::prefill || pools[to]->role != PoolRole::decode) continue;
      Seconds longest;
      for (const KvSlice& slice : reshard(model.kv_heads, pools[from]->parallelism.tensor,
                                          pools[to]->parallelism.tensor)) {
        const hw::Path path = scenario.cluster.network->route(
            scenario.cluster.gpus[from][static_cast<std::size_t>(slice.from)],
            scenario.cluster.gpus[to][static_cast<std::size_t>(slice.to)]);
        const std::int64_t bytes = tokens * model.layers * slice.heads * 4 * model.head_dim;
        const std::int64_t pieces = ceil_div(tokens, scenario.engine.block_size) * model.layers * 2;
        longest = std::max(longest, hw::transfer_time(path, Bytes(real(bytes)), pieces));
      }
      least = std::min(least, longest);
    }
  return least;
}

}  // namespace

TEST_CASE("whatever the pools, every request is answered and every audit holds", "[pools]") {
  std::int64_t preemptions = 0;
  std::int64_t waited = 0;  // for blocks to decode from
  std::int64_t spared = 0;  // runs in which a decode replica had some of a prompt
  for_pools(120, [&](const std::string& yaml) {
    const RunResult result = run_pools(yaml);
    for (const AuditCheck& check : result.audit.checks) {
      INFO(check.id << " " << check.name << ": " << check.details);
      REQUIRE(check.passed);
    }
    spared += std::ranges::any_of(result.instances, [](const InstanceResult& instance) {
      return instance.whole.spared_tokens > 0;
    });
    for (const RequestRecord& record : result.log.records) {
      REQUIRE(record.outcome == Outcome::completed);
      preemptions += record.preemptions;
      waited += record.parts[Part::transfer_queue] > Duration{};
    }
  });
  CHECK(preemptions > 50);
  CHECK(waited > 50);
  CHECK(spared > sample(120) / 10);
}

TEST_CASE("the same pools and seed give the same records and the same order of events", "[pools]") {
  for_pools(30, [](const std::string& yaml) {
    const RunResult a = run_pools(yaml);
    const RunResult b = run_pools(yaml);
    REQUIRE(a.log.records == b.log.records);
    REQUIRE(a.fingerprint == b.fingerprint);
  });
}

TEST_CASE("no KV moves faster than alone on the best path between its pools", "[pools]") {
  for_pools(40, [](const std::string& yaml) {
    const std::vector<std::string> whole{"cluster.disaggregate.kv_transfer=whole",
                                         "engine.enable_prefix_caching=false"};
    const Scenario scenario = parse_scenario("random.yaml", yaml, {whole});
    const RunResult result = run_pools(yaml, whole);
    for (const RequestRecord& record : result.log.records) {
      const Duration wire = record.parts[Part::transfer_wire];
      if (wire == Duration{}) continue;
      REQUIRE(to_seconds(wire) >= least_wire(scenario, record.prompt_tokens) - Seconds(2e-9));
    }
  });
}

TEST_CASE("one pool of replicas that do both is a cluster without pools", "[pools]") {
  for_pools(40, [](const std::string& yaml) {
    const std::size_t begin = yaml.find("  pools:");
    const std::size_t end = yaml.find("engine:\n", begin);
    std::string pooled = yaml;
    pooled.replace(begin, end - begin, "  pools: {own: {role: both, replicas: 2}}\n");
    std::string plain = yaml;
    plain.replace(begin, end - begin, "  replicas: 2\n");
    const RunResult a = run_pools(pooled);
    const RunResult b = run_pools(plain);
    REQUIRE(a.log.records == b.log.records);
    REQUIRE(a.fingerprint == b.fingerprint);
  });
}

TEST_CASE("where no prompt is long enough to be handed over, the prefill replicas are idle",
          "[pools]") {
  for_pools(40, [](const std::string& yaml) {
    const std::int64_t longest = parse_scenario("random.yaml", yaml).engine.max_model_len;
    const RunResult result =
        run_pools(yaml, {fmt::format("cluster.disaggregate.min_prompt_tokens={}", longest)});
    REQUIRE(result.transfers);
    REQUIRE(result.transfers->begun == 0);
    for (const InstanceResult& instance : result.instances)
      if (instance.pool == "p") REQUIRE(instance.whole.steps == 0);
  });
}
