#include "calib/samples.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "calib/layer_tables.hpp"
#include "sim/config/diagnostic.hpp"
#include "tests/support/scratch.hpp"

using namespace tokenline;
using calib::Kernel;
using Catch::Contains;

namespace {

const hw::Datasheet& h100() {
  static const hw::Gpu gpu = hw::load_gpu("h100_sxm");
  return gpu;
}

std::vector<calib::Sample> of(const calib::Samples& all, Kernel kernel) {
  std::vector<calib::Sample> some;
  std::ranges::copy_if(all.samples, std::back_inserter(some),
                       [&](const calib::Sample& sample) { return sample.kernel == kernel; });
  return some;
}

}  // namespace

TEST_CASE("a row of a table is one call with its account", "[calib]") {
  const Scratch folder;
  folder.write("gemm.csv", "dtype,m,n,k,latency_us\nfp8,16,4096,1024,7.5\n");
  const calib::Samples all = calib::read_samples(h100(), folder.path());
  REQUIRE(all.samples.size() == 1);
  const calib::Sample& sample = all.samples[0];
  CHECK(sample.kernel == Kernel::gemm);
  CHECK(sample.variant == "fp8");
  CHECK(sample.shape == std::vector<std::int64_t>{4096, 1024});
  CHECK(sample.point == std::vector<std::int64_t>{16});
  CHECK(sample.time.value() == Approx(7.5e-6));
  CHECK(sample.terms.flops.value() == 2.0 * 16 * 4096 * 1024);
  // The input is read at 16 bit and written at 8 before the product reads it.
  CHECK(sample.terms.bytes.value() ==
        (3.0 + 1.0) * 16 * 1024 + 1.0 * 4096 * 1024 + 2.0 * 16 * 4096);
}

TEST_CASE("rows of types that no model prices are refused, counted by reason", "[calib]") {
  const Scratch folder;
  folder.write("gemm.csv",
               "dtype,m,n,k,latency_us\nnvfp4,1,64,64,3\nnvfp4,2,64,64,3\nbfloat16,1,64,64,3\n");
  folder.write("collectives.csv",
               "impl,op,gpus,bytes,latency_us\nmscclpp,all_reduce,2,8,1\nnccl,broadcast,2,8,1\n"
               "nccl,alltoall,2,8,1\n");
  const calib::Samples all = calib::read_samples(h100(), folder.path());
  CHECK(all.samples.size() == 1);
  REQUIRE(all.collectives.size() == 1);
  CHECK(all.collectives[0].op == models::CollectiveOp::all_to_all);
  REQUIRE(all.refused.size() == 3);
  CHECK(all.refused[0].rows == 2);
  CHECK(all.refused[0].file == "gemm.csv");
  CHECK(all.refused[0].reason == "dtype nvfp4 is not modelled");
  CHECK(all.refused[1].reason == "all_reduce of mscclpp is not modelled");
  CHECK(all.refused[2].reason == "broadcast of nccl is not modelled");
}

TEST_CASE("latent attention without a column of projections is attention alone", "[calib]") {
  const Scratch folder;
  folder.write("mla_decode.csv", "q_heads,batch,context_len,latency_us\n16,4,1000,50\n");
  folder.write("mla_prefill.csv",
               "gemm_dtype,q_heads,batch,q_len,latency_us\nfp8_block,16,1,8,9\n");
  const calib::Samples all = calib::read_samples(h100(), folder.path());
  const auto decode = of(all, Kernel::mla_decode);
  REQUIRE(decode.size() == 1);
  CHECK(decode[0].variant == "bfloat16 attention");
  // 512 + 64 values of 2 bytes per context token; 2·512 + 64 of queries and sums per head.
  CHECK(decode[0].terms.bytes.value() == 4 * 1000 * 576 * 2 + 4 * 16 * (2 * 512 + 64) * 2);
  const auto prefill = of(all, Kernel::mla_prefill);
  REQUIRE(prefill.size() == 1);
  CHECK(prefill[0].variant == "bfloat16 fp8_block");
}

TEST_CASE("layers measured in an engine replace isolated calls of their shape", "[calib]") {
  const Scratch folder;
  // qkv_proj of Llama-3.1-8B: (32 + 2·8)·128 × 4096.
  folder.write("gemm.csv", "m,n,k,latency_us\n1,6144,4096,10\n2,6144,4096,11\n1,4096,8192,12\n");
  folder.write("vllm_llama31_8b_tp1_dense.csv", "layer,tokens,time_us\nqkv_proj,4,20\nwarp,4,1\n");
  const calib::Samples all = calib::read_samples(h100(), folder.path());
  const auto products = of(all, Kernel::gemm);
  REQUIRE(products.size() == 2);
  CHECK(products[0].shape == std::vector<std::int64_t>{4096, 8192});
  CHECK(products[1].shape == std::vector<std::int64_t>{6144, 4096});
  CHECK(products[1].point == std::vector<std::int64_t>{4});
  REQUIRE(all.refused.size() == 1);
  CHECK(all.refused[0].reason == "layer warp is not modelled");
}

TEST_CASE("what decodes add to a chunk is the median over chunks", "[calib]") {
  const Scratch folder;
  folder.write("vllm_llama31_8b_tp1_attention.csv",
               "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n"
               "512,0,0,0,100\n1024,0,0,0,200\n2048,0,0,0,400\n0,0,8,1000,50\n"
               "512,0,8,1000,130\n1024,0,8,1000,240\n2048,0,8,1000,700\n");
  const calib::Samples all = calib::read_samples(h100(), folder.path());
  CHECK(of(all, Kernel::prefill_attention).size() == 3);
  CHECK(of(all, Kernel::chunked_prefill).size() == 3);
  CHECK(of(all, Kernel::decode_attention).size() == 1);
  const auto mixed = of(all, Kernel::mixed_decode);
  REQUIRE(mixed.size() == 1);
  CHECK(mixed[0].time.value() == Approx(40e-6));  // Of 30, 40 and 300.
  CHECK(mixed[0].point == std::vector<std::int64_t>{8, 1000});
  CHECK(all.mixed.size() == 7);
}

TEST_CASE("a folder without any table is an error", "[calib]") {
  const Scratch folder;
  folder.write("notes.csv", "a\n1\n");
  CHECK_THROWS_WITH(calib::read_samples(h100(), folder.path()),
                    Contains("holds none of the tables of measurements"));
}

TEST_CASE("every kernel names its shapes and axes as its fits do", "[calib]") {
  hw::Gpu gpu = hw::load_gpu("h100_sxm");
  for (const Kernel kernel : {Kernel::gemm, Kernel::prefill_attention, Kernel::decode_attention,
                              Kernel::experts, Kernel::mla_prefill, Kernel::mla_decode}) {
    for (const auto& [variant, fit] : calib::fits_of(gpu, kernel)) {
      if (fit.from_datasheet) continue;
      INFO(calib::name(kernel) << " " << variant);
      REQUIRE(fit.grid != nullptr);
      CHECK(fit.grid->shape_names() == calib::shape_names(kernel));
      std::vector<std::string> axes;
      for (const hw::GridAxis& axis : fit.grid->axes()) axes.push_back(axis.name);
      CHECK(axes == calib::axis_names(kernel));
    }
  }
}
