#include "hwmodels/gpu.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "sim/config/node.hpp"

using namespace tokenline;
using Catch::Contains;

namespace {

const std::vector<std::string> calibrated{"a100_sxm_80gb", "h100_sxm", "h200_sxm", "rtx_4090",
                                          "rtx_pro_6000"};
const std::vector<std::string> from_datasheets{"a100_sxm_40gb", "b200", "h100_pcie", "l4", "l40s"};

}  // namespace

TEST_CASE("the catalog holds five calibrated GPUs and five from datasheets", "[hwmodels]") {
  std::vector<std::string> all(calibrated);
  all.insert(all.end(), from_datasheets.begin(), from_datasheets.end());
  std::ranges::sort(all);
  CHECK(hw::gpu_names() == all);
  for (const auto& name : all) CHECK(hw::load_gpu(name).name == name);
}

TEST_CASE("every fit of a GPU without measurements says that it comes from a datasheet",
          "[hwmodels]") {
  const hw::Gpu gpu = hw::load_gpu(GENERATE(from_range(from_datasheets)));
  INFO(gpu.name);
  CHECK_FALSE(gpu.calibrated());
  for (const hw::KernelFits* fits :
       {&gpu.gemm, &gpu.prefill_attention, &gpu.decode_attention, &gpu.experts, &gpu.mla_prefill,
        &gpu.mla_decode, &gpu.elementwise}) {
    REQUIRE(fits->size() == 1);
    CHECK(fits->begin()->second.from_datasheet);
    CHECK(fits->begin()->second.grid == nullptr);
    CHECK(fits->begin()->second.error.median > 0.0);
  }
  CHECK(gpu.collectives.empty());
  for (const auto& name : calibrated) CHECK(hw::load_gpu(name).calibrated());
}

TEST_CASE("a GPU answers to the names of published tables", "[hwmodels]") {
  CHECK(hw::load_gpu("a100_sxm").name == "a100_sxm_80gb");
  CHECK(hw::load_gpu("h100").name == "h100_sxm");
  for (const auto& name : hw::gpu_names())
    for (const auto& alias : hw::load_gpu(name).also_called)
      CHECK(hw::load_gpu(alias).name == name);
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

TEST_CASE("fp8 weights are multiplied at the 8-bit peak where there is one", "[hwmodels]") {
  const hw::Gpu h100 = hw::load_gpu("h100_sxm");
  CHECK(h100.peak(models::Precision::fp8) == h100.peak_8bit);
  CHECK(h100.peak(models::Precision::fp8_block) == h100.peak_8bit);
  CHECK(h100.peak(models::Precision::mxfp4) == h100.peak_16bit);
  const hw::Gpu a100 = hw::load_gpu("a100_sxm_80gb");
  CHECK(a100.peak(models::Precision::fp8) == a100.peak_16bit);
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
  replace("axis m 1 2 4", "axis m 1 2 2");
  replace("implementation: nccl", "implementation: nckl");
  CHECK_THROWS_WITH(hw::parse_gpu("my.yaml", text),
                    Contains("my.yaml:") && Contains("bandwidth") &&
                        Contains("did you mean 'sms'?") && Contains("payloads must rise") &&
                        Contains("grid line 2: an axis must rise") &&
                        Contains("did you mean 'nccl'?"));
}
