#include "calib/calibrate.hpp"

#include <catch2/catch.hpp>

#include "calib/fit.hpp"
#include "calib/table.hpp"
#include "hwmodels/kernels/attention.hpp"
#include "sim/config/node.hpp"

using namespace tokenline;

namespace {

const std::string root = TOKENLINE_SOURCE_DIR;

std::string measurements(const std::string& gpu) { return root + "/calib/data/" + gpu; }

std::string calibrated(const std::string& gpu) {
  return calib::calibrate_to_yaml(gpu, measurements(gpu),
                                  root + "/hwmodels/datasheets/" + gpu + ".yaml");
}

calib::Rows attention_rows(const std::string& gpu, const std::string& phase,
                           const std::string& length) {
  return calib::read_table(measurements(gpu) + "/" + phase + "_attention.csv",
                           {"head_dim", "q_heads", "kv_heads", "batch", length, "latency_us"});
}

std::int64_t whole(double value) { return static_cast<std::int64_t>(value); }

}  // namespace

TEST_CASE("the shipped catalog is what calibration makes of the shipped measurements", "[calib]") {
  const auto name = GENERATE(from_range(hw::gpu_names()));
  CHECK(calibrated(name) == config::read_file(root + "/hwmodels/catalog/" + name + ".yaml"));
}

TEST_CASE("calibrating twice gives the same bytes", "[calib]") {
  CHECK(calibrated("a100_sxm_80gb") == calibrated("a100_sxm_80gb"));
}

TEST_CASE("held-out rows are predicted within the stated medians", "[calib]") {
  const hw::Gpu gpu = hw::load_gpu(GENERATE("a100_sxm_80gb", "h100_sxm"));
  INFO(gpu.name);
  CHECK(gpu.gemm.error.median <= 0.10);
  CHECK(gpu.prefill_attention.error.median <= 0.12);
  CHECK(gpu.decode_attention.error.median <= 0.12);
  for (const auto& curve : gpu.all_reduce) CHECK(curve.error.median <= 0.12);
}

TEST_CASE("prefill of 256 tokens and more is within 12 % in the median", "[calib]") {
  const hw::Gpu gpu = hw::load_gpu(GENERATE("a100_sxm_80gb", "h100_sxm"));
  std::vector<double> predicted;
  std::vector<double> measured;
  for (const auto& row : attention_rows(gpu.name, "prefill", "q_len")) {
    if (row[4] < 256) continue;
    const hw::Heads heads{whole(row[1]), whole(row[2]), whole(row[0])};
    const hw::Prefill prefill{.new_tokens = whole(row[4]), .batch = whole(row[3])};
    predicted.push_back(
        hw::prefill_attention(gpu, gpu.prefill_attention.measured, heads, prefill).time.value());
    measured.push_back(row[5] * 1e-6);
  }
  CHECK(calib::relative_error(predicted, measured).median <= 0.12);
}

TEST_CASE("plain decoding, never fitted, predicts the rows FlashAttention-2 does not split",
          "[calib]") {
  const hw::Gpu gpu = hw::load_gpu("a100_sxm_80gb");
  std::vector<double> predicted;
  std::vector<double> measured;
  for (const auto& row : attention_rows(gpu.name, "decode", "context_len")) {
    if (row[1] != row[2] || row[4] < 1024) continue;
    const hw::Heads heads{whole(row[1]), whole(row[2]), whole(row[0])};
    const hw::Decode decode{whole(row[3]), whole(row[3]) * whole(row[4])};
    predicted.push_back(
        hw::decode_attention(gpu, hw::DecodeKernel::plain, heads, decode).time.value());
    measured.push_back(row[5] * 1e-6);
  }
  REQUIRE(predicted.size() > 100);
  CHECK(calib::relative_error(predicted, measured).median <= 0.20);
}
