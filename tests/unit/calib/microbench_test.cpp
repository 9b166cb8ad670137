// What is measured on a GPU and how it is written, without one: prices of a known GPU stand for the
// times.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "calib/calibrate.hpp"
#include "calib/fit.hpp"
#include "calib/fit_kernels.hpp"
#include "calib/microbench/grid.hpp"
#include "calib/microbench/tables.hpp"
#include "calib/microbench/timing.hpp"
#include "calib/operators.hpp"
#include "calib/samples.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/scratch.hpp"

using namespace tokenline;
using namespace tokenline::calib::microbench;

namespace {

constexpr double noise = 0.03;

/// A GPU whose kernels are rooflines with constants of measurements, and nothing beside.
hw::Gpu planted() {
  hw::Gpu gpu = hw::load_gpu("h100_sxm");
  for (hw::KernelFits* fits : {&gpu.gemm, &gpu.prefill_attention, &gpu.decode_attention})
    for (auto& [variant, fit] : *fits) fit.grid = nullptr;
  return gpu;
}

Seconds price(const hw::Gpu& gpu, const hw::GemmShape& shape) { return hw::gemm(gpu, shape).time; }
Seconds prefill_price(const hw::Gpu& gpu, const AttentionCall& call) {
  return hw::prefill_attention(gpu, hw::usual_prefill(gpu.generation), call.heads,
                               {.new_tokens = call.length, .batch = call.batch})
      .time;
}
Seconds decode_price(const hw::Gpu& gpu, const AttentionCall& call) {
  return hw::decode_attention(gpu, hw::DecodeKernel::flash_decoding, call.heads,
                              {call.batch, call.batch * call.length})
      .time;
}

template <class Call>
struct Measured {
  std::vector<Call> calls;
  std::vector<Seconds> times;
};

/// The calls of which one in three is (held) or is not held back, and their prices with noise.
template <class Call, class Price>
Measured<Call> measured(const hw::Gpu& gpu, const std::vector<Call>& calls, bool held,
                        Price price) {
  test::Dice dice(7, "microbench noise");
  Measured<Call> some;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const double error = noise * static_cast<double>(dice.between(-1000, 1000)) / 1000.0;
    if ((i % 3 == 2) != held) continue;
    some.calls.push_back(calls[i]);
    some.times.push_back((1.0 + error) * price(gpu, calls[i]));
  }
  return some;
}

void write(const Scratch& folder, const hw::Gpu& gpu, bool held) {
  const Grid calls = grid(gpu, Extent::quick);
  const auto gemm = measured(gpu, calls.gemm, held, price);
  const auto prefill = measured(gpu, calls.prefill, held, prefill_price);
  const auto decode = measured(gpu, calls.decode, held, decode_price);
  folder.write("gemm.csv", gemm_csv(gemm.calls, gemm.times));
  folder.write("prefill_attention.csv", prefill_attention_csv(prefill.calls, prefill.times));
  folder.write("decode_attention.csv", decode_attention_csv(decode.calls, decode.times));
}

std::vector<Seconds> seconds(const std::vector<double>& values) {
  std::vector<Seconds> times;
  for (const double value : values) times.emplace_back(value);
  return times;
}

}  // namespace

TEST_CASE("calibration takes the written tables and predicts the third held back", "[calib]") {
  const hw::Gpu gpu = planted();
  const Scratch seen;
  const Scratch held;
  write(seen, gpu, false);
  write(held, gpu, true);
  const hw::Gpu fitted = hw::parse_gpu(
      "fitted.yaml", calib::calibrate_to_yaml(
                         "fitted", seen.path(),
                         std::string(TOKENLINE_SOURCE_DIR) + "/hwmodels/datasheets/h100_sxm.yaml"));
  std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> tables;
  for (const calib::OperatorRow& row : calib::price_operators(fitted, held.path())) {
    INFO(row.table << " " << row.dtype << " " << row.shape);
    REQUIRE(row.predicted);
    auto& [predicted, measured] = tables[row.table + " " + row.dtype];
    predicted.push_back(row.predicted->value());
    measured.push_back(row.measured.value());
  }
  CHECK(tables.size() == 4);
  // The noise of a row is at most 3 %, in the median 1.5 %, and so is that of its neighbours in
  // the grid.
  for (const auto& [table, times] : tables) {
    INFO(table);
    const hw::FitError error = calib::relative_error(times.first, times.second);
    CHECK(error.median < noise);
    CHECK(error.p90 < 2.0 * noise);
  }
}

TEST_CASE("every call of a grid is read back as the call it was", "[calib]") {
  const hw::Gpu gpu = hw::load_gpu(GENERATE("h100_sxm", "a100_sxm_80gb"));
  const Grid calls = grid(gpu, GENERATE(Extent::quick, Extent::full));
  INFO(gpu.name);
  const Scratch folder;
  const std::vector<Seconds> gemm(calls.gemm.size(), Seconds(1.5e-3));
  const std::vector<Seconds> prefill(calls.prefill.size(), Seconds(1.2345e-5));
  const std::vector<Seconds> decode(calls.decode.size(), Seconds(1e-9));
  folder.write("gemm.csv", gemm_csv(calls.gemm, gemm));
  folder.write("prefill_attention.csv", prefill_attention_csv(calls.prefill, prefill));
  folder.write("decode_attention.csv", decode_attention_csv(calls.decode, decode));

  const auto read = calib::read_samples(gpu, folder.path()).samples;
  REQUIRE(read.size() == gemm.size() + prefill.size() + decode.size());
  std::size_t row = 0;
  const auto same = [&](const calib::Sample& expected) {
    const calib::Sample& sample = read[row++];
    return sample.kernel == expected.kernel && sample.variant == expected.variant &&
           sample.shape == expected.shape && sample.point == expected.point &&
           sample.time.value() == Approx(expected.time.value()).epsilon(1e-9);
  };
  bool all = true;
  for (const hw::GemmShape& shape : calls.gemm)
    all = all && same(calib::gemm_sample(gpu, shape, gemm[0]));
  for (const AttentionCall& call : calls.prefill)
    all =
        all && same(calib::prefill_sample(
                   gpu, call.heads, {.new_tokens = call.length, .batch = call.batch}, prefill[0]));
  for (const AttentionCall& call : calls.decode)
    all = all && same(calib::decode_sample(gpu, call.heads, {call.batch, call.batch * call.length},
                                           decode[0]));
  CHECK(all);
}

TEST_CASE("8-bit products are measured where tensor cores take them", "[calib]") {
  const auto products = [](const std::string& name) {
    std::set<models::Precision> precisions;
    for (const hw::GemmShape& shape : grid(hw::load_gpu(name), Extent::quick).gemm)
      precisions.insert(shape.precision);
    return precisions;
  };
  using enum models::Precision;
  CHECK(products("h100_sxm") == std::set{bfloat16, fp8});
  CHECK(products("a100_sxm_80gb") == std::set{bfloat16});
}

TEST_CASE("no call needs more than half of a GPU's memory", "[calib]") {
  hw::Datasheet gpu = hw::load_gpu("h100_sxm");
  const std::size_t all = grid(gpu, Extent::quick).decode.size();
  gpu.memory = Bytes(2e9);
  const Grid small = grid(gpu, Extent::quick);
  CHECK(small.decode.size() < all);
  for (const AttentionCall& call : small.decode) {
    INFO(call.batch << " " << call.length);
    // Keys and values of 2 bytes.
    CHECK(4 * call.heads.kv * call.heads.dim * call.batch * call.length <= 1'000'000'000);
  }
}

TEST_CASE("the quick grid leaves most of six minutes to checks and set-up", "[calib]") {
  const hw::Gpu gpu = hw::load_gpu(GENERATE("h100_sxm", "h200_sxm"));
  const Seconds time = measuring_time(gpu, grid(gpu, Extent::quick));
  INFO(time.value());
  CHECK(time.value() < 120.0);
}

TEST_CASE("a call is timed for 50 ms, 11 to 201 times", "[calib]") {
  CHECK(repetitions(Seconds(1e-6)) == 201);
  CHECK(repetitions(Seconds(1e-3)) == 50);
  CHECK(repetitions(Seconds(1.0)) == 11);
}

TEST_CASE("a median and quartiles are those of the sorted timings", "[calib]") {
  const Timing odd = timing(seconds({5, 1, 3, 2, 4}));
  CHECK(odd.median.value() == 3.0);
  CHECK(odd.low.value() == 2.0);
  CHECK(odd.high.value() == 4.0);
  CHECK(odd.spread() == Approx(2.0 / 3.0));
  CHECK(timing(seconds({1, 2})).median.value() == 1.5);
  CHECK(timing(seconds({7})).median.value() == 7.0);
}

TEST_CASE("one slow timing moves neither the median nor is it a drift", "[calib]") {
  std::vector<double> values(21, 2.0);
  values[20] = 90.0;
  const Timing result = timing(seconds(values));
  CHECK(result.median.value() == 2.0);
  CHECK(result.drift == 0.0);
  CHECK_FALSE(result.drifted);
}

TEST_CASE("clocks that fall while a call is measured are a drift", "[calib]") {
  std::vector<double> values;
  for (int i = 0; i < 30; ++i) values.push_back(1.0 + 0.01 * i);
  const Timing slower = timing(seconds(values));
  CHECK(slower.drifted);
  // The last ten have a median of 1.245, the first ten 1.045.
  CHECK(slower.drift == Approx(1.245 / 1.045 - 1.0));
  std::ranges::reverse(values);
  CHECK(timing(seconds(values)).drifted);
  CHECK_FALSE(timing(seconds({1, 2, 3, 4})).drifted);
}
