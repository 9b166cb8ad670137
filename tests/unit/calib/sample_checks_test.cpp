#include "calib/sample_checks.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>

#include "sim/config/diagnostic.hpp"

using namespace tokenline;
using Catch::Contains;

namespace {

const std::string checks_root = TOKENLINE_SOURCE_DIR;

/// `count` products of which each takes `factor` of what the GPU needs at least, or 10 us.
std::vector<calib::Sample> products(const hw::Datasheet& gpu, std::int64_t count, double factor) {
  std::vector<calib::Sample> samples;
  for (std::int64_t i = 0; i < count; ++i) {
    calib::Sample sample = calib::gemm_sample(gpu, {1 + i, 65536, 65536}, Seconds(1e-5));
    if (factor > 0.0) sample.time = factor * hw::fastest(gpu, sample.terms);
    samples.push_back(sample);
  }
  return samples;
}

std::string refusal(const hw::Datasheet& gpu, std::vector<calib::Sample> samples) {
  calib::Samples all;
  all.samples = std::move(samples);
  try {
    calib::check_samples(gpu, all, "folder");
  } catch (const config::ConfigError& e) {
    return e.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a fit needs a row per constant and one held out", "[calib]") {
  const hw::Gpu gpu = hw::load_gpu("l4");
  CHECK_THAT(refusal(gpu, products(gpu, 1, 2.0)),
             Contains("folder:1:1: error: gemm bfloat16: 1 rows are too few"));
  CHECK_THAT(refusal(gpu, products(gpu, 5, 2.0)), Contains("too few"));
  CHECK(refusal(gpu, products(gpu, 6, 2.0)).empty());
}

TEST_CASE("rows faster than the datasheet allows are refused with the worst of them", "[calib]") {
  const hw::Gpu gpu = hw::load_gpu("l4");
  CHECK(refusal(gpu, products(gpu, 8, 1.0)).empty());
  CHECK_THAT(refusal(gpu, products(gpu, 8, 0.5)),
             Contains("8 of 8 rows are faster than the datasheet allows") &&
                 Contains("n 65536, k 65536, m"));
  // What fits into caches may be faster than HBM.
  std::vector<calib::Sample> small;
  for (std::int64_t m = 1; m <= 8; ++m)
    small.push_back(calib::gemm_sample(gpu, {m, 4096, 4096}, Seconds(1e-5)));
  CHECK(refusal(gpu, small).empty());
}

TEST_CASE("measurements beside a datasheet of a tenth of the bandwidth are refused", "[calib]") {
  hw::Gpu gpu = hw::load_gpu("rtx_4090");
  gpu.bandwidth = 0.1 * gpu.bandwidth;
  const calib::Samples samples = calib::read_samples(gpu, checks_root + "/calib/data/rtx_4090");
  CHECK_THROWS_WITH(calib::check_samples(gpu, samples, "folder"),
                    Contains("gemm bfloat16") && Contains("faster than the datasheet allows"));
}

TEST_CASE("every shipped measurement is possible by its datasheet", "[calib]") {
  for (const std::string& name : hw::gpu_names()) {
    const std::string folder = checks_root + "/calib/data/" + name;
    if (!std::filesystem::exists(folder)) continue;
    const hw::Gpu gpu = hw::load_gpu(name);
    CHECK_NOTHROW(calib::check_samples(gpu, calib::read_samples(gpu, folder), folder));
  }
}

TEST_CASE("kernels that no step asks for and sizes of nothing are refused", "[calib]") {
  const hw::Gpu gpu = hw::load_gpu("l4");
  std::vector<calib::Sample> samples;
  for (std::int64_t tokens = 1; tokens <= 8; ++tokens)
    samples.push_back(calib::elementwise_sample("nrom", Bytes(1e4), tokens, Seconds(1e-5)));
  CHECK_THAT(refusal(gpu, samples), Contains("elementwise nrom: no step asks for it") &&
                                        Contains("one of: activation, add"));
  std::vector<calib::Sample> empty = products(gpu, 8, 2.0);
  empty[3].point[0] = 0;
  CHECK_THAT(refusal(gpu, empty), Contains("sizes must be from 1"));
}

TEST_CASE("a curve of two payloads has no error and is refused", "[calib]") {
  const hw::Gpu gpu = hw::load_gpu("l4");
  calib::Samples samples;
  for (const double payload : {1e3, 1e6})
    samples.collectives.push_back({models::CollectiveOp::all_reduce,
                                   hw::CollectiveImplementation::nccl, 2, Bytes(payload),
                                   Seconds(payload * 1e-9)});
  CHECK_THROWS_WITH(calib::check_samples(gpu, samples, "folder"),
                    Contains("collectives all_reduce nccl over 2 GPUs: 2 payloads are too few"));
}
