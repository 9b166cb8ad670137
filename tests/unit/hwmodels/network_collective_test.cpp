#include <catch2/catch.hpp>

#include "hwmodels/network/cluster_collective.hpp"
#include "hwmodels/usual_fits.hpp"
#include "tests/unit/hwmodels/network_builders.hpp"

using namespace tokenline;
using namespace tokenline::hw;
using models::CollectiveOp;

namespace {

using Groups = std::vector<std::vector<Vertex>>;

/// One group.
Groups ranks(std::int64_t nodes, std::int64_t per_node) {
  std::vector<Vertex> all;
  for (std::int64_t node = 0; node < nodes; ++node)
    for (std::int64_t i = 0; i < per_node; ++i) all.push_back(gpu_at(node, i));
  return {all};
}

CollectiveCurve curve(CollectiveOp op, CollectiveImplementation implementation, std::int64_t gpus,
                      double time) {
  return {.op = op,
          .implementation = implementation,
          .gpus = gpus,
          .points = {{Bytes(1.0), Seconds(time)}, {Bytes(1e9), Seconds(time)}},
          .error = {.median = 0.03, .p90 = 0.1}};
}

/// Operations in a node take no time.
Gpu free_in_node(std::int64_t gpus) {
  Gpu gpu;
  for (const CollectiveOp op : {CollectiveOp::all_reduce, CollectiveOp::all_gather,
                                CollectiveOp::reduce_scatter, CollectiveOp::all_to_all})
    gpu.collectives.push_back(curve(op, CollectiveImplementation::nccl, gpus, 1e-30));
  return gpu;
}

Network real_cluster(const std::string& fabric, std::int64_t nodes = 2) {
  ClusterDesign design;
  design.nodes = nodes;
  design.node = load_node_fabric("hgx_h100");
  design.gpus_per_node = design.node.gpus;
  design.fabric = load_inter_fabric(fabric);
  return Network(design);
}

const Seconds launch = usual_collective().launch;
/// Of round_design(): GPU, PCIe, NIC, leaf and back take 8 s, and a step 1 s more; collectives
/// reach half of a NIC's 10 B/s.
constexpr Seconds alpha(9.0);
constexpr BytesPerSecond half_nic(5.0);

}  // namespace

TEST_CASE("rings and trees take the steps and bytes of their closed forms", "[network]") {
  constexpr Bytes payload(800.0);
  constexpr Seconds step(3.0);
  constexpr BytesPerSecond rate(10.0);
  const auto ring = [&](CollectiveOp op, std::int64_t n) {
    return ring_time(op, n, payload, step, rate).value();
  };
  CHECK(ring(CollectiveOp::all_reduce, 4) == Approx(2 * 3 * (3.0 + 800.0 / 4 / 10)));
  CHECK(ring(CollectiveOp::all_gather, 4) == Approx(3 * (3.0 + 80.0)));
  CHECK(ring(CollectiveOp::reduce_scatter, 4) == Approx(3 * (3.0 + 80.0)));
  CHECK(ring(CollectiveOp::all_to_all, 4) == Approx(3 * (3.0 + 20.0)));
  CHECK(ring(CollectiveOp::send_recv, 4) == Approx(3.0 + 80.0));
  const auto tree = [&](std::int64_t n) {
    return tree_all_reduce_time(n, payload, step, rate).value();
  };
  CHECK(tree(2) == Approx(2 * 3.0 + 2 * 80.0));
  CHECK(tree(8) == Approx(2 * 3 * 3.0 + 2 * 80.0));
  CHECK(tree(9) == Approx(2 * 4 * 3.0 + 2 * 80.0));
}

TEST_CASE("an all-reduce over two nodes passes each rank's share over its NIC", "[network]") {
  const Network network(round_design());
  const Gpu gpu = free_in_node(4);
  const ClusterCollective reduce(gpu, network, CollectiveOp::all_reduce, ranks(2, 4));
  // 2 (N − 1) = 2 steps, 2 (N − 1)/N · S/4 = S/4 bytes.
  CHECK(reduce(Bytes(400.0)).time.value() ==
        Approx((2.0 * alpha + launch + Bytes(100.0) / half_nic).value()));
  CHECK(reduce(Bytes(400.0)).provenance == Provenance::datasheet);
}

TEST_CASE("with one rank per node a collective is a ring over the nodes", "[network]") {
  const Network network(round_design(4));
  const Gpu gpu{};
  const std::int64_t n = GENERATE(2, 3, 4);
  // From the third node on the paths pass the spine: half a second more.
  const Seconds step = n > 2 ? alpha + Seconds(0.5) : alpha;
  for (const CollectiveOp op : {CollectiveOp::all_gather, CollectiveOp::reduce_scatter,
                                CollectiveOp::send_recv, CollectiveOp::all_to_all}) {
    const ClusterCollective price(gpu, network, op, ranks(n, 1));
    CHECK(price(Bytes(600.0)).time.value() ==
          Approx((launch + ring_time(op, n, Bytes(600.0), step, half_nic)).value()));
  }
}

TEST_CASE("an all-reduce takes the shorter of ring and tree", "[network]") {
  const Network network(round_design(8));
  const Gpu gpu{};
  const ClusterCollective reduce(gpu, network, CollectiveOp::all_reduce, ranks(8, 1));
  const Seconds step = alpha + Seconds(0.5);
  for (const double payload : {1.0, 1e4}) {
    const Seconds ring = ring_time(CollectiveOp::all_reduce, 8, Bytes(payload), step, half_nic);
    const Seconds tree = tree_all_reduce_time(8, Bytes(payload), step, half_nic);
    CHECK((ring < tree) == (payload > 100.0));
    CHECK(reduce(Bytes(payload)).time.value() == Approx((launch + std::min(ring, tree)).value()));
  }
}

TEST_CASE("ranks behind one NIC share it", "[network]") {
  const Network network(round_design(2, shared_nic_fabric()));
  const Gpu gpu = free_in_node(4);
  const ClusterCollective reduce(gpu, network, CollectiveOp::all_reduce, ranks(2, 4));
  // One more PCIe link at each end; a quarter of the NIC for each of the four.
  CHECK(reduce(Bytes(400.0)).time.value() ==
        Approx((2.0 * (alpha + Seconds(2.0)) + launch + Bytes(100.0) / (0.25 * half_nic)).value()));
}

TEST_CASE("groups that reduce at the same time share the NIC of their nodes", "[network]") {
  const Network shared(round_design(2, shared_nic_fabric()));
  const Network own(round_design(2));
  const Gpu gpu{};
  const Groups pairs{{gpu_at(0, 0), gpu_at(1, 0)}, {gpu_at(0, 3), gpu_at(1, 3)}};
  const auto time = [&](const Network& network, const Groups& groups) {
    return ClusterCollective(gpu, network, CollectiveOp::all_gather, groups)(Bytes(100.0))
        .time.value();
  };
  CHECK(time(shared, pairs) ==
        Approx((alpha + Seconds(2.0) + launch + Bytes(100.0) / (0.5 * half_nic)).value()));
  // With a NIC per GPU a group does not notice the other.
  CHECK(time(own, pairs) == Approx(time(own, {pairs.front()})));
}

TEST_CASE("gathering passes a rank's part between nodes and all parts of its place inside",
          "[network]") {
  const Network network(round_design(2));
  Gpu gpu = free_in_node(4);
  const ClusterCollective between(gpu, network, CollectiveOp::all_gather, ranks(2, 4));
  CHECK(between(Bytes(100.0)).time.value() ==
        Approx((alpha + launch + Bytes(100.0) / half_nic).value()));
  // A slow node: 1 B/s of gathered parts, of which each rank contributes two, one of each node.
  gpu.collectives[1].points = {{Bytes(1.0), Seconds(1.0)}, {Bytes(1e9), Seconds(1e9)}};
  const ClusterCollective inside(gpu, network, CollectiveOp::all_gather, ranks(2, 4));
  CHECK(inside(Bytes(100.0)).time.value() == Approx((alpha + Seconds(200.0)).value()));
}

TEST_CASE("all to all, each rank sends what is meant for other nodes over its own NIC",
          "[network]") {
  const Network network(round_design(4));
  const Gpu gpu = free_in_node(4);
  const ClusterCollective price(gpu, network, CollectiveOp::all_to_all, ranks(4, 4));
  // Three of four parts of 100 leave the node; three steps, those to the other leaf by the spine.
  CHECK(price(Bytes(400.0)).time.value() ==
        Approx((3.0 * (alpha + Seconds(0.5)) + launch + Bytes(300.0) / half_nic).value()));
}

TEST_CASE("what takes longest in the node hides the bytes between nodes, not their steps",
          "[network]") {
  const Network network(round_design());
  Gpu gpu = free_in_node(4);
  gpu.collectives[0] = curve(CollectiveOp::all_reduce, CollectiveImplementation::nccl, 4, 1000.0);
  const ClusterCollective reduce(gpu, network, CollectiveOp::all_reduce, ranks(2, 4));
  CHECK(reduce(Bytes(400.0)).time.value() == Approx((2.0 * alpha).value() + 1000.0));
}

TEST_CASE("between nodes an engine's own all-reduce is not used, within one it is", "[network]") {
  const Network network(round_design());
  Gpu gpu = free_in_node(4);
  gpu.collectives.push_back(
      curve(CollectiveOp::all_reduce, CollectiveImplementation::vllm_graph, 4, 1000.0));
  CHECK(ClusterCollective(gpu, network, CollectiveOp::all_reduce, ranks(2, 4))(Bytes(400.0))
            .time.value() < 100.0);
  const ClusterCollective one_node(gpu, network, CollectiveOp::all_reduce, ranks(1, 4));
  CHECK(one_node(Bytes(400.0)).time.value() == Approx(1000.0));
  CHECK(one_node.error().median == 0.03);
}

TEST_CASE("on one node a collective costs what it costs without a network", "[network]") {
  const Gpu gpu = load_gpu("h100_sxm");
  const Network network = real_cluster("infiniband_ndr");
  for (const double payload : {1e3, 1e6, 1e8}) {
    const ClusterCollective one_node(gpu, network, CollectiveOp::all_reduce, ranks(1, 8));
    CHECK(one_node(Bytes(payload)).time ==
          CollectivePricer(gpu, CollectiveOp::all_reduce, 8)(Bytes(payload)).time);
  }
}

TEST_CASE("what cannot be priced over nodes is said in words", "[network]") {
  const Gpu gpu = free_in_node(4);
  const auto refusal = [&](const Groups& groups) {
    return ClusterCollective::first_refusal(gpu, CollectiveOp::all_reduce, groups);
  };
  CHECK(refusal(ranks(2, 4)).empty());
  CHECK(refusal(ranks(2, 1)).empty());
  CHECK_THAT(refusal(ranks(1, 1)), Catch::Contains("of 1 ranks"));
  CHECK_THAT(refusal({{gpu_at(0, 0), gpu_at(0, 1), gpu_at(1, 0)}}), Catch::Contains("evenly"));
  CHECK_THAT(refusal(ranks(2, 2)), Catch::Contains("between 2 GPUs"));
  CHECK_THAT(refusal({{gpu_at(0, 0), gpu_at(1, 0)}, {gpu_at(0, 1), gpu_at(0, 2)}}),
             Catch::Contains("in the same way"));
}

TEST_CASE("two H100 nodes on InfiniBand reduce small tensors as fast as NCCL expects",
          "[network]") {
  // NCCL's own cost model, printed for 16 H100 on two nodes (NVIDIA/nccl issue 1453): 25.9 us for 4
  // KiB. Its measurements on H20 nodes with its slowest algorithm: 46 us (issue 1244).
  const Gpu gpu = load_gpu("h100_sxm");
  const Network network = real_cluster("infiniband_ndr");
  const ClusterCollective reduce(gpu, network, CollectiveOp::all_reduce, ranks(2, 8));
  CHECK(reduce(Bytes(4096.0)).time.value() == Approx(25.9e-6).epsilon(0.05));
}

TEST_CASE("two nodes of one H100 each reduce as fast as was measured over RoCE", "[network]") {
  // NIC of 400 Gb/s, NCCL, tree (NVIDIA/nccl-tests issue 232): 808 us for 32 MiB, 420 for 16.
  const Gpu gpu{};
  const Network network = real_cluster("roce_400g");
  const ClusterCollective reduce(gpu, network, CollectiveOp::all_reduce, ranks(2, 1));
  CHECK(reduce(Bytes(33'554'432.0)).time.value() == Approx(808e-6).epsilon(0.12));
  CHECK(reduce(Bytes(16'777'216.0)).time.value() == Approx(420e-6).epsilon(0.12));
}

TEST_CASE("tensor parallelism over nodes needs InfiniBand, a pipeline does not", "[network]") {
  // Llama-3.1-405B in bfloat16 on two nodes of 8 H100, about 1,024 tokens in and 128 out per
  // request (vLLM blog, July 2024): without InfiniBand TP8 x PP2 had 6.6 times the throughput of
  // TP16, with it both were equal. Eight GPUs with fp8 weights served 2.82 requests per second
  // there: half the GPUs move half the bytes at twice the FLOP rate, so that this is what sixteen
  // do in bfloat16 when only the network between nodes is left out.
  constexpr double request = 1.0 / 2.82;
  constexpr double layers = 126.0;
  constexpr Bytes token(16'384.0 * 2.0);
  constexpr double prompt_batch = 2'048.0;
  constexpr double decode_batch = 100.0;
  const Gpu gpu = load_gpu("h100_sxm");
  const auto ratio = [&](const std::string& fabric) {
    const Network network = real_cluster(fabric);
    const ClusterCollective over_nodes(gpu, network, CollectiveOp::all_reduce, ranks(2, 8));
    const ClusterCollective in_node(gpu, network, CollectiveOp::all_reduce, ranks(1, 8));
    const ClusterCollective stages(gpu, network, CollectiveOp::send_recv, ranks(2, 8));
    const auto per_request = [&](const ClusterCollective& price, double calls) {
      return calls * (1024.0 / prompt_batch * price(prompt_batch * token).time.value() +
                      128.0 / decode_batch * price(decode_batch * token).time.value());
    };
    const double extra = per_request(over_nodes, 2 * layers) - per_request(in_node, 2 * layers);
    // Stages overlap the sending of one batch with the work on another.
    const double pipeline = std::max(request, per_request(stages, 1.0));
    return (request + extra) / pipeline;
  };
  CHECK(ratio("infiniband_ndr") == Approx(1.0).margin(0.15));
  CHECK(ratio("roce_400g") == Approx(1.0).margin(0.15));
  CHECK(ratio("ethernet_100g") == Approx(6.6).epsilon(0.1));
  CHECK(ratio("ethernet_25g") > ratio("ethernet_100g"));
}
