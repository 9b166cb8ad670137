// Copies that several GPUs make at once.
#include <catch2/catch.hpp>
#include <vector>

#include "hwmodels/network/copy.hpp"

using namespace tokenline;
using namespace tokenline::hw;

namespace {

Network node(const std::string& name, std::int64_t gpus) {
  return Network({.nodes = 1, .gpus_per_node = gpus, .node = load_node_fabric(name), .fabric = {}});
}

/// Copies of 1 GB in ten pieces from each of the first `gpus` GPUs, or to it.
CopyCost cost(const Network& network, std::int64_t gpus, const Vertex& store, bool to_gpu) {
  std::vector<CopyShare> shares;
  for (std::int64_t i = 0; i < gpus; ++i)
    shares.push_back({.from = to_gpu ? store : gpu_at(0, i),
                      .to = to_gpu ? gpu_at(0, i) : store,
                      .bytes = Bytes(1e9),
                      .pieces = 10});
  return copy_cost(network, shares);
}

}  // namespace

TEST_CASE("a copy takes its latency once, and pieces and bytes for each unit", "[network]") {
  const Network network = node("hgx_h100", 8);
  const CopyCost one = cost(network, 1, memory_at(0), false);
  CHECK(one.startup.value() == Approx(1.1e-6));
  CHECK(one.unit.value() == Approx(10 * 0.457e-6 + 1.0 / (0.78 * 64)));
  CHECK(one.time(7).value() == Approx(one.startup.value() + 7 * one.unit.value()));
}

TEST_CASE("GPUs that copy at once share switches, memory and drives", "[network]") {
  // Each H100 has a switch of its own, two A100 share one; eight drives serve all GPUs.
  const Network h100 = node("hgx_h100", 8);
  CHECK(cost(h100, 8, memory_at(0), true).unit.value() ==
        Approx(cost(h100, 1, memory_at(0), true).unit.value()));
  CHECK(cost(h100, 8, nvme_at(0), true).unit.value() == Approx(10 * 0.457e-6 + 8 / 54.4));
  CHECK(cost(h100, 8, nvme_at(0), false).unit.value() ==
        Approx(10 * 0.457e-6 + 8 / (54.4 * 0.588)));
  const Network a100 = node("hgx_a100", 8);
  CHECK(cost(a100, 2, memory_at(0), true).unit.value() == Approx(10 * 0.457e-6 + 2 / (0.8 * 32)));
  const Network gh200 = node("gh200", 1);
  CHECK(cost(gh200, 1, memory_at(0), true).unit.value() == Approx(10 * 0.457e-6 + 1 / 374.85));
  CHECK(cost(gh200, 1, memory_at(0), false).unit.value() == Approx(10 * 0.457e-6 + 1 / 297.0));
}
