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
                        Contains("an axis must rise") && Contains("did you mean 'nccl'?"));
}

namespace {

/// The mistakes of a catalog entry with `from` replaced.
std::string mistakes(const std::string& from, const std::string& to) {
  std::string text = config::read_file(TOKENLINE_SOURCE_DIR "/hwmodels/catalog/rtx_4090.yaml");
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
  try {
    (void)hw::parse_gpu("my.yaml", text);
  } catch (const config::ConfigError& e) {
    return e.what();
  }
  return "accepted";
}

/// "my.yaml:<line of `needle` in the entry>:".
std::string line_of(const std::string& needle) {
  const std::string text =
      config::read_file(TOKENLINE_SOURCE_DIR "/hwmodels/catalog/rtx_4090.yaml");
  const auto at = text.find(needle);
  REQUIRE(at != std::string::npos);
  return "my.yaml:" +
         std::to_string(
             1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n')) +
         ":";
}

}  // namespace

TEST_CASE("a catalog entry holds what steps ask for and nothing else", "[hwmodels]") {
  CHECK_THAT(mistakes("gemm:\n  bfloat16:", "gemm:\n  banana:"),
             Contains(line_of("  bfloat16:")) && Contains("not priced by 'banana'"));
  CHECK_THAT(mistakes("  norm:\n", "  nrom:\n"),
             Contains(line_of("  norm:\n")) && Contains("one of: activation, add"));
  CHECK_THAT(mistakes("prefill_attention:\n  bfloat16:", "prefill_attention:\n  bf16:"),
             Contains("not priced by 'bf16'"));
}

TEST_CASE("a grid names the sizes and axes of its kernel", "[hwmodels]") {
  const std::string sizes = line_of("      shape n k\n");
  CHECK_THAT(mistakes("      shape n k\n", "      shape k n\n"),
             Contains(sizes) && Contains("the sizes of a shape of gemm are: n k"));
  CHECK_THAT(mistakes("      shape n k\n      axis m ", "      shape n k\n      axis q "),
             Contains(line_of("      axis m ")) && Contains("the axes of gemm are: m"));
  CHECK_THAT(mistakes("      shape n k\n", "      shape n k\n      axis b 1\n"),
             Contains("the axes of gemm are: m") || Contains("wanted"));
}

TEST_CASE("a mistake in a grid is reported at its own line", "[hwmodels]") {
  const std::string row = "      4096 14336 : ";
  CHECK_THAT(mistakes(row, "      4096 14336 x : "), Contains(line_of(row)) && Contains("wanted"));
  CHECK_THAT(mistakes(row, "      4096 0 : "), Contains(line_of(row)) && Contains("'0'"));
}

TEST_CASE("errors and times of a catalog entry have a sense and a range", "[hwmodels]") {
  CHECK_THAT(mistakes("    p90_error: 0.090", "    p90_error: 0.001"),
             Contains(line_of("    p90_error: 0.090")) && Contains("is below median_error"));
  CHECK_THAT(mistakes("    launch: 5.681 us", "    launch: 1e9 s"), Contains("launch"));
  CHECK_THAT(mistakes("    median_error: 0.037", "    median_error: 1e30"),
             Contains("median_error"));
}

TEST_CASE("a second curve of a collective is a mistake", "[hwmodels]") {
  std::string text = config::read_file(TOKENLINE_SOURCE_DIR "/hwmodels/catalog/h100_sxm.yaml");
  const auto first = text.find("  - op:");
  const auto second = text.find("  - op:", first + 1);
  text += text.substr(first, second - first);
  CHECK_THROWS_WITH(hw::parse_gpu("my.yaml", text), Contains("a second curve of"));
}

TEST_CASE("a datasheet holds what a GPU can have", "[hwmodels]") {
  const std::string sheet =
      config::read_file(TOKENLINE_SOURCE_DIR "/hwmodels/datasheets/rtx_4090.yaml");
  const auto refused = [&](const std::string& from, const std::string& to,
                           const std::string& message) {
    std::string text = sheet;
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    const auto line =
        1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    text.replace(at, from.size(), to);
    INFO(to);
    CHECK_THROWS_WITH(hw::parse_datasheet("my.yaml", text),
                      Contains("my.yaml:" + std::to_string(line) + ":") && Contains(message));
  };
  refused("clock: 2520 MHz", "clock: 1 Hz", "clock");
  refused("clock: 2520 MHz", "clock: 1e-30 Hz", "clock");
  refused("bandwidth: 1008 GB/s", "bandwidth: 1 B/s", "bandwidth");
  refused("peak_16bit: 165.2 TFLOP/s", "peak_16bit: 1e-30 FLOP/s", "peak_16bit");
  refused("peak_8bit: 330.3 TFLOP/s", "peak_8bit: 1 TFLOP/s", "is less than peak_16bit");
  refused("peak_vector: 82.6 TFLOP/s", "peak_vector: 1 FLOP/s", "peak_vector");
  refused("memory: 23.64 GiB", "memory: 24 B", "memory");
  refused("sms: 128", "sms: 100000", "sms");
  refused("interconnect: 32 GB/s", "interconnect: 1 B/s", "interconnect");
  refused("power_limit: 450 W", "power_limit: 450 J", "units: W kW");
  refused("power_limit: 450 W", "idle_power: 451 W", "exceeds power_limit");
}
