#include "hwmodels/gpu.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "sim/config/node.hpp"

using namespace tokenline;
using Catch::Contains;

TEST_CASE("the catalog holds an A100 and an H100", "[hwmodels]") {
  const auto names = hw::gpu_names();
  for (const char* known : {"a100_sxm_80gb", "h100_sxm"})
    CHECK(std::ranges::count(names, known) == 1);
  for (const auto& name : hw::gpu_names()) CHECK(hw::load_gpu(name).name == name);
}

TEST_CASE("ridge points are peak over bandwidth", "[hwmodels]") {
  const auto ridge = [](const char* name) {
    const hw::Gpu gpu = hw::load_gpu(name);
    return (gpu.peak_16bit / gpu.bandwidth).value();
  };
  CHECK(ridge("a100_sxm_80gb") == Approx(312.0 / 2.039));
  CHECK(ridge("a100_sxm_80gb") == Approx(153).epsilon(0.005));
  CHECK(ridge("h100_sxm") == Approx(989.0 / 3.35));
  CHECK(ridge("h100_sxm") == Approx(295).epsilon(0.005));
}

TEST_CASE("16-bit peaks are SMs × FLOPs per clock × clock", "[hwmodels]") {
  const hw::Gpu a100 = hw::load_gpu("a100_sxm_80gb");
  CHECK(a100.peak_16bit.value() == Approx(108 * 2048.0 * a100.clock.value()).epsilon(0.002));
  const hw::Gpu h100 = hw::load_gpu("h100_sxm");
  CHECK(h100.peak_16bit.value() == Approx(132 * 4096.0 * h100.clock.value()).epsilon(0.002));
}

TEST_CASE("an unknown GPU gets a suggestion", "[hwmodels]") {
  CHECK_THROWS_WITH(hw::load_gpu("h100_sxn"), Contains("did you mean 'h100_sxm'?"));
}

TEST_CASE("a catalog file reports every mistake at its line", "[hwmodels]") {
  std::string text = config::read_file(TOKENLINE_SOURCE_DIR "/hwmodels/catalog/h100_sxm.yaml");
  const auto replace = [&](const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
  };
  replace("bandwidth: 3.35 TB/s", "bandwidth: 3.35");
  replace("sms: 132", "smss: 132");
  replace("payload_bytes: [1024, 2048", "payload_bytes: [2048, 1024");
  CHECK_THROWS_WITH(hw::parse_gpu("my.yaml", text), Contains("my.yaml:") && Contains("bandwidth") &&
                                                        Contains("did you mean 'sms'?") &&
                                                        Contains("payloads must rise"));
}
