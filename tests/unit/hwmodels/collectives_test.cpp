#include <catch2/catch.hpp>

#include "hwmodels/kernels/all_reduce.hpp"
#include "hwmodels/kernels/elementwise.hpp"

using namespace tokenline;
using namespace tokenline::hw;

TEST_CASE("an all-reduce follows its curve and its last bandwidth beyond", "[hwmodels]") {
  const AllReduceCurve curve{.gpus = 2,
                             .points = {{Bytes(1e3), Seconds(4e-6)},
                                        {Bytes(1e5), Seconds(16e-6)},
                                        {Bytes(1e6), Seconds(100e-6)}},
                             .error = {}};
  CHECK(all_reduce(curve, Bytes(1.0)).value() == 4e-6);
  CHECK(all_reduce(curve, Bytes(1e5)).value() == Approx(16e-6));
  // Half-way between the first two in log-log: the geometric means.
  CHECK(all_reduce(curve, Bytes(1e4)).value() == Approx(8e-6));
  CHECK(all_reduce(curve, Bytes(3e6)).value() == Approx(300e-6));
}

TEST_CASE("more payload never takes less time on a measured curve", "[hwmodels]") {
  for (const auto& name : gpu_names()) {
    for (const auto& curve : load_gpu(name).all_reduce) {
      Seconds last;
      for (double payload = 512.0; payload < 4e9; payload *= 1.3) {
        const Seconds time = all_reduce(curve, Bytes(payload));
        CHECK(time >= last);
        last = time;
      }
    }
  }
}

TEST_CASE("a streaming kernel is its launch and its bytes over its bandwidth", "[hwmodels]") {
  Gpu gpu;
  gpu.bandwidth = BytesPerSecond(1e12);
  gpu.elementwise = {
      .launch = Seconds(2e-6), .memory_efficiency = 0.5, .error = {}, .max_tokens = 1};
  CHECK(elementwise(gpu, Bytes(1e6)).time.value() == Approx(2e-6 + 1e6 / 0.5e12));
}
