#include <catch2/catch.hpp>

#include "hwmodels/network/transfer.hpp"
#include "sim/base/check.hpp"
#include "tests/unit/hwmodels/network_builders.hpp"

using namespace tokenline;
using namespace tokenline::hw;

namespace {

/// KV of a Llama-3.1-8B prompt: 32 layers · 8 heads · 128 · K and V · 2 B per token.
constexpr double kv_per_token = 131'072.0;

Network cluster(const std::string& node, const std::string& fabric) {
  ClusterDesign design;
  design.nodes = 2;
  design.node = load_node_fabric(node);
  design.gpus_per_node = design.node.gpus;
  design.fabric = load_inter_fabric(fabric);
  return Network(design);
}

Seconds between_nodes(const std::string& fabric, double tokens) {
  const Network network = cluster("hgx_h100", fabric);
  const Path path = network.route(gpu_at(0, 0), gpu_at(1, 0));
  return transfer_time(path, Bytes(tokens * kv_per_token), 0);
}

}  // namespace

TEST_CASE(
    "a transfer alone takes latencies, a cost per message, and bytes over the least bandwidth",
    "[network]") {
  const Network network(round_design());
  const Path path = network.route(gpu_at(0, 1), gpu_at(1, 1));
  CHECK(startup_time(path, 0).value() == 8.0);
  CHECK(startup_time(path, 5).value() == 8.0 + 5 * 2.0);
  CHECK(transfer_time(path, Bytes(200.0), 5).value() == 8.0 + 5 * 2.0 + 200.0 / 10.0);
  CHECK(transfer_time(path, Bytes(), 0) == path.latency);
}

TEST_CASE("transfers in progress end in the order that their shares give", "[network]") {
  // One link of 10: 30 and 50 bytes at 5 each; after 6 s the first has ended, and the other takes
  // its last 20 at 10.
  const std::vector<BytesPerSecond> capacities{BytesPerSecond(10.0)};
  const std::vector<CapacityId> link{0};
  std::vector<ActiveTransfer> transfers{{.uses = link, .remaining = Bytes(30.0)},
                                        {.uses = link, .remaining = Bytes(50.0)}};
  TransferProgress now = progress(capacities, transfers);
  CHECK(now.rates.front().value() == 5.0);
  CHECK(now.next.value() == 6.0);
  CHECK(now.first == 0);
  advance(transfers, now.rates, now.next);
  CHECK(transfers[0].remaining == Bytes());
  CHECK(transfers[1].remaining.value() == Approx(20.0));
  transfers.erase(transfers.begin());
  now = progress(capacities, transfers);
  CHECK(now.rates.front().value() == 10.0);
  CHECK(now.next.value() == Approx(2.0));
}

TEST_CASE("a transfer that joins slows the others down from then on", "[network]") {
  const std::vector<BytesPerSecond> capacities{BytesPerSecond(10.0)};
  const std::vector<CapacityId> link{0};
  std::vector<ActiveTransfer> transfers{{.uses = link, .remaining = Bytes(100.0)}};
  advance(transfers, progress(capacities, transfers).rates, Seconds(4.0));
  CHECK(transfers[0].remaining.value() == Approx(60.0));
  transfers.push_back({.uses = link, .remaining = Bytes(200.0), .weight = 3.0});
  const TransferProgress now = progress(capacities, transfers);
  CHECK(now.rates[0].value() == 2.5);
  CHECK(now.rates[1].value() == 7.5);
  CHECK(now.next.value() == Approx(60.0 / 2.5));
}

TEST_CASE("what would end within a nanosecond has ended", "[network]") {
  const std::vector<BytesPerSecond> capacities{BytesPerSecond(1e9)};
  const std::vector<CapacityId> link{0};
  std::vector<ActiveTransfer> transfers{{.uses = link, .remaining = Bytes(1e9 + 0.2)},
                                        {.uses = link, .remaining = Bytes(1e9 + 10.0)}};
  const TransferProgress now = progress(capacities, transfers);
  advance(transfers, now.rates, Seconds(2.0));
  CHECK(transfers[0].remaining == Bytes());
  CHECK(transfers[1].remaining.value() == Approx(10.0));
}

TEST_CASE("the KV of 5,000 tokens crosses each fabric as fast as was measured", "[network]") {
  // 0.66 GB at 0.55, 12.0 to 12.2 and 49.5 GB/s.
  CHECK(between_nodes("ethernet_100g_untuned", 5000).value() == Approx(1.19).epsilon(0.02));
  CHECK(between_nodes("roce_100g", 5000).value() == Approx(0.0542).epsilon(0.02));
  CHECK(between_nodes("infiniband_ndr", 5000).value() == Approx(0.01324).epsilon(0.02));
  // 1 GB over tuned TCP: 0.21 s, against 1.8 s as it comes.
  CHECK(between_nodes("ethernet_100g", 1e9 / kv_per_token).value() == Approx(0.21).epsilon(0.02));
  CHECK(between_nodes("ethernet_100g_untuned", 1e9 / kv_per_token).value() ==
        Approx(1.8).epsilon(0.02));
}

TEST_CASE("the KV of 7,500 tokens over NVLink pays for its pages", "[network]") {
  // 20 ms in pages of 16 tokens, 8 ms in pages of 128; K and V of 32 layers each apart. The cost of
  // a piece comes from the difference of the two; at the rate of NVLink the copy itself would take
  // 2.6 ms, so that the rest, 3.7 ms, is software that does not depend on pages.
  const Network network = cluster("hgx_h100", "infiniband_ndr");
  const Path path = network.route(gpu_at(0, 0), gpu_at(0, 1));
  const auto time = [&](std::int64_t page) {
    const std::int64_t pages = (7500 + page - 1) / page;
    return transfer_time(path, Bytes(7500 * kv_per_token), pages * 32 * 2).value();
  };
  CHECK(time(16) - time(128) == Approx(0.012).epsilon(0.01));
  CHECK(time(16) == Approx(0.020).epsilon(0.2));
  CHECK(time(128) < 0.008);
}

TEST_CASE("host memory is copied at 50 GB/s one way and 83 both ways", "[network]") {
  const Network network = cluster("hgx_h100", "infiniband_ndr");
  const Path to = network.route(memory_at(0), gpu_at(0, 0));
  const Path from = network.route(gpu_at(0, 0), memory_at(0));
  CHECK(to.bandwidth.value() == Approx(50e9).epsilon(0.01));
  const std::vector<ActiveTransfer> both{{.uses = to.uses, .remaining = Bytes(1e9)},
                                         {.uses = from.uses, .remaining = Bytes(1e9)}};
  const TransferProgress now = progress(network.capacities(), both);
  CHECK((now.rates[0] + now.rates[1]).value() == Approx(83e9));
}

TEST_CASE("the KV of a batch of long prompts takes 0.86 s over one NIC of 400 Gb/s", "[network]") {
  // Four prompts of 32K of Llama-2-70B (320 KiB per token): 42.9 GB; eight rails take an eighth.
  const Network network = cluster("hgx_h100", "roce_400g");
  const double bytes = 4.0 * 32'768 * 327'680;
  CHECK(bytes == Approx(42.9e9).epsilon(0.002));
  const Path path = network.route(gpu_at(0, 0), gpu_at(1, 0));
  CHECK(transfer_time(path, Bytes(bytes), 0).value() == Approx(0.86).epsilon(0.03));
  CHECK(transfer_time(path, Bytes(bytes / 8), 0).value() == Approx(0.86 / 8).epsilon(0.03));
}
