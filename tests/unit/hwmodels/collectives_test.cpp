#include <catch2/catch.hpp>

#include "hwmodels/kernels/collective.hpp"
#include "hwmodels/usual_fits.hpp"
#include "tests/unit/hwmodels/builders.hpp"

using namespace tokenline;
using namespace tokenline::hw;
using models::CollectiveOp;

namespace {

CollectiveCurve curve(CollectiveImplementation implementation, double scale) {
  return {.op = CollectiveOp::all_reduce,
          .implementation = implementation,
          .gpus = 2,
          .points = {{Bytes(1e3), Seconds(scale * 4e-6)},
                     {Bytes(1e5), Seconds(scale * 16e-6)},
                     {Bytes(1e6), Seconds(scale * 100e-6)}},
          .error = {.median = 0.03, .p90 = 0.1}};
}

const auto custom = CollectiveImplementation::vllm_graph;
const auto nccl = CollectiveImplementation::nccl;

}  // namespace

TEST_CASE("a collective follows its curve and its last bandwidth beyond", "[hwmodels]") {
  const CollectiveCurve measured = curve(custom, 1.0);
  CHECK(collective(measured, Bytes(1.0)).value() == 4e-6);
  CHECK(collective(measured, Bytes(1e3)).value() == 4e-6);
  CHECK(collective(measured, Bytes(1e5)).value() == Approx(16e-6));
  CHECK(collective(measured, Bytes(1e6)).value() == Approx(100e-6));
  // Half-way between the first two in log-log: the geometric means.
  CHECK(collective(measured, Bytes(1e4)).value() == Approx(8e-6));
  CHECK(collective(measured, Bytes(3e6)).value() == Approx(300e-6));
}

TEST_CASE("more payload never takes less time on a measured curve", "[hwmodels]") {
  for (const auto& name : gpu_names()) {
    for (const auto& measured : load_gpu(name).collectives) {
      Seconds last;
      for (double payload = 512.0; payload < 4e9; payload *= 1.3) {
        const Seconds time = collective(measured, Bytes(payload));
        CHECK(time >= last);
        last = time;
      }
    }
  }
}

TEST_CASE("each rank of a ring receives what the ring algorithm passes it", "[hwmodels]") {
  const std::int64_t gpus = GENERATE(2, 4, 8);
  const auto n = static_cast<double>(gpus);
  // Of a tensor of n parts all-reduce passes n − 1 parts twice; gathering, each rank gets the parts
  // of all others; all-to-all, all of its own but one part.
  CHECK(ring_factor(CollectiveOp::all_reduce, gpus) == Approx(2 * (n - 1) / n));
  CHECK(ring_factor(CollectiveOp::all_gather, gpus) == Approx(n - 1));
  CHECK(ring_factor(CollectiveOp::reduce_scatter, gpus) == Approx(n - 1));
  CHECK(ring_factor(CollectiveOp::all_to_all, gpus) == Approx((n - 1) / n));
  CHECK(ring_factor(CollectiveOp::send_recv, gpus) == 1.0);
}

TEST_CASE("vLLM's own all-reduce comes before NCCL's", "[hwmodels]") {
  Gpu gpu;
  gpu.collectives = {curve(nccl, 2.0)};
  CHECK(CollectivePricer(gpu, CollectiveOp::all_reduce, 2)(Bytes(1e5)).time.value() ==
        Approx(32e-6));
  gpu.collectives.push_back(curve(custom, 1.0));
  const CollectivePricer pricer(gpu, CollectiveOp::all_reduce, 2);
  CHECK(pricer(Bytes(1e5)).time.value() == Approx(16e-6));
  CHECK(pricer.error().median == 0.03);
  CHECK(pricer(Bytes(1e5)).provenance == Provenance::measured);
  CHECK(pricer(Bytes(1e2)).provenance == Provenance::fitted);
  CHECK(pricer(Bytes(1e7)).provenance == Provenance::fitted);
}

TEST_CASE("without a curve a collective is a latency and ring bytes over the interconnect",
          "[hwmodels]") {
  Gpu gpu;
  gpu.interconnect = BytesPerSecond(100e9);
  const KernelFit usual = usual_collective();
  const KernelCost cost = CollectivePricer(gpu, CollectiveOp::all_gather, 4)(Bytes(1e8));
  CHECK(cost.time.value() ==
        Approx(usual.launch.value() + 3 * 1e8 / (100e9 * usual.memory_efficiency)));
  CHECK(cost.provenance == Provenance::datasheet);
}

TEST_CASE("a GPU without curve and interconnect has no price for a collective", "[hwmodels]") {
  Gpu gpu;
  CHECK_FALSE(CollectivePricer::priced(gpu, CollectiveOp::all_reduce, 2));
  gpu.collectives = {curve(nccl, 1.0)};
  CHECK(CollectivePricer::priced(gpu, CollectiveOp::all_reduce, 2));
  CHECK_FALSE(CollectivePricer::priced(gpu, CollectiveOp::all_reduce, 4));
}

TEST_CASE("two GPUs of a node send nearly at the rate of NVLink", "[hwmodels]") {
  const Gpu gpu = load_gpu(GENERATE("a100_sxm_80gb", "h100_sxm"));
  const CollectivePricer send(gpu, CollectiveOp::send_recv, 2);
  const double share = Bytes(1e9) / (send(Bytes(1e9)).time * gpu.interconnect);
  CHECK(share > 0.7);
  CHECK(share < 1.0);
}
