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

TEST_CASE("rows of types that no model prices are refused one by one", "[calib]") {
  const Scratch folder;
  folder.write("gemm.csv",
               "dtype,m,n,k,latency_us\nnvfp4,1,64,64,3\nnvfp4,2,64,64,3\nbfloat16,1,64,64,3\n");
  folder.write("collectives.csv",
               "impl,op,gpus,bytes,latency_us\nmscclpp,all_reduce,2,8,1\nnccl,broadcast,2,8,1\n"
               "nccl,alltoall,2,8,1\nnccl,alltoall,2,16,1\n");
  const calib::Samples all = calib::read_samples(h100(), folder.path(), calib::Unknown::refused);
  CHECK(all.samples.size() == 1);
  REQUIRE(all.collectives.size() == 2);
  CHECK(all.collectives[0].op == models::CollectiveOp::all_to_all);
  REQUIRE(all.refused.size() == 4);
  CHECK(all.refused[0].file == "gemm.csv");
  CHECK(all.refused[0].line == 2);
  CHECK(all.refused[0].time.value() == Approx(3e-6));
  CHECK(all.refused[0].reason == "dtype nvfp4 is not modelled");
  CHECK(all.refused[1].reason == "dtype nvfp4 is not modelled");
  CHECK(all.refused[2].reason == "all_reduce of mscclpp is not modelled");
  CHECK(all.refused[3].reason == "broadcast of nccl is not modelled");
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
  const calib::Samples all = calib::read_samples(h100(), folder.path(), calib::Unknown::refused);
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
  folder.write("notes.md", "a\n1\n");
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

namespace {

/// What reading one table for calibration complains of, without the folder.
std::string complaint(const std::string& file, const std::string& text) {
  const Scratch folder;
  folder.write(file, text);
  try {
    static_cast<void>(calib::read_samples(h100(), folder.path()));
  } catch (const config::ConfigError& e) {
    std::string all = e.what();
    for (auto at = all.find(folder.path()); at != std::string::npos; at = all.find(folder.path()))
      all.erase(at, folder.path().size() + 1);
    return all + "\n";
  }
  return "";
}

}  // namespace

TEST_CASE("calibration leaves out nothing that was measured", "[calib]") {
  CHECK(complaint("gemm.csv", "m,n,k,latency_us,dtype\n1,64,64,3,int4\n") ==
        "gemm.csv:2:11: error: dtype: dtype int4 is not modelled\n"
        "  hint: one of: bfloat16, fp8, fp8_block, mxfp4\n");
  CHECK_THAT(complaint("collectives.csv", "impl,gpus,bytes,latency_us\nmscclpp,2,8,1\n"),
             Catch::StartsWith("collectives.csv:2:1: error: impl: all_reduce of mscclpp is not"));
  CHECK_THAT(complaint("elementwise.csv", "kernel,bytes_per_token,tokens,latency_us\nnrm,8,8,1\n"),
             Catch::StartsWith("elementwise.csv:2:1: error: kernel: kernel nrm is not modelled\n"
                               "  hint: did you mean 'norm'?"));
  CHECK_THAT(complaint("vllm_llama31_8b_tp1_dense.csv", "layer,tokens,time_us\nqkv_prj,4,1\n"),
             Contains("layer qkv_prj is not modelled\n  hint: did you mean 'qkv_proj'?"));
  CHECK_THAT(complaint("moe.csv",
                       "tokens,hidden_size,inter_size,topk,experts,tp,ep,latency_us,distribution\n"
                       "1,64,64,1,8,1,1,9,a: b\n"),
             Contains("moe.csv:2:19: error: distribution: distribution a: b is not modelled"));
  CHECK_THAT(complaint("vllm_llama31_8b_tp1_atention.csv", "a\n1\n"),
             Contains("vllm_llama31_8b_tp1_atention.csv:1:1: error: none of the tables") &&
                 Contains("did you mean 'vllm_llama31_8b_tp1_attention.csv'?"));
}

TEST_CASE("decodes beside a chunk need the chunk alone", "[calib]") {
  CHECK_THAT(
      complaint("vllm_llama31_8b_tp1_attention.csv",
                "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n"
                "512,0,0,0,100\n512,0,8,100,130\n512,64,8,100,130\n"),
      Catch::StartsWith("vllm_llama31_8b_tp1_attention.csv:4:1: error: prefill_chunk: no row "
                        "has a chunk of 512 after 64 alone"));
}

TEST_CASE("a call of nothing is no measurement", "[calib]") {
  const auto call = [](const std::string& row) {
    return complaint("vllm_llama31_8b_tp1_attention.csv",
                     "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n" + row + "\n");
  };
  CHECK_THAT(call("0,0,0,0,10"), Contains(":2:1: error: prefill_chunk: neither a chunk nor"));
  CHECK_THAT(call("0,5,0,0,3"), Contains(":2:1: error: prefill_chunk: neither a chunk nor"));
  CHECK_THAT(call("0,5,2,9,3"), Contains(":2:3: error: kv_prefill: 5 tokens before no chunk"));
  CHECK_THAT(call("0,0,5,0,3"), Contains(":2:7: error: kv_decode: decodes without a context"));
  CHECK_THAT(call("4,0,0,7,3"), Contains(":2:7: error: kv_decode: a context of 7 tokens without"));
  CHECK_THAT(call("0,0,4e9,4e9,1"), Contains(":2:5: error: n_decode: expected a whole number") &&
                                        Contains(":2:9: error: kv_decode: expected a whole"));
}

TEST_CASE("sizes are whole numbers in a range, times numbers in a range", "[calib]") {
  CHECK(complaint(
            "decode_attention.csv",
            "head_dim,q_heads,kv_heads,batch,context_len,latency_us\n128,8,8,0.3,100,1e-320\n") ==
        "decode_attention.csv:2:9: error: batch: expected a whole number from 1 to 1000000, got "
        "'0.3'\n"
        "decode_attention.csv:2:17: error: latency_us: expected a number from 0.001 to 1000000000, "
        "got '1e-320'\n");
  CHECK_THAT(complaint("gemm.csv", "m,n,k,latency_us\n1e30,1,1,1\n"),
             Contains("gemm.csv:2:1: error: m: expected a whole number from 1 to 10000000"));
  CHECK_THAT(complaint("collectives.csv", "gpus,bytes,latency_us\n2.4,1024.4,1\n5000,8,1\n"),
             Contains(":2:1: error: gpus") && Contains(":2:5: error: bytes") &&
                 Contains(":3:1: error: gpus: expected a whole number from 2 to 1000"));
}

TEST_CASE("sizes that no kernel has together are met at the one to change", "[calib]") {
  CHECK_THAT(complaint("decode_attention.csv",
                       "head_dim,q_heads,kv_heads,batch,context_len,latency_us\n128,8,16,1,9,5\n"),
             Contains(":2:7: error: kv_heads: 16 heads of K and V for 8 query heads"));
  CHECK_THAT(complaint("moe.csv",
                       "tokens,hidden_size,inter_size,topk,experts,tp,ep,latency_us\n"
                       "1,64,64,9,8,3,3,9\n"),
             Contains(":2:9: error: topk: more than the 8 experts") &&
                 Contains(":2:13: error: tp: does not divide the width 64") &&
                 Contains(":2:15: error: ep: does not divide the 8 experts"));
}

TEST_CASE("the same call twice is a mistake, in a table and in a curve", "[calib]") {
  CHECK(complaint("gemm.csv", "m,n,k,latency_us\n1,64,64,3\n2,64,64,3\n1,64,64,4\n") ==
        "gemm.csv:4:1: error: the same call as line 2\n"
        "  hint: keep one row, for example their median\n");
  CHECK_THAT(complaint("collectives.csv", "gpus,bytes,latency_us\n2,8,1\n2,16,2\n2,8,1\n"),
             Catch::StartsWith("collectives.csv:4:1: error: the same call as line 2"));
  // Layers of two models may stream the same bytes.
  CHECK(complaint("elementwise.csv",
                  "kernel,bytes_per_token,tokens,latency_us\nnorm,8,8,1\nnorm,8,8,2\n")
            .empty());
}

TEST_CASE("a curve has two payloads", "[calib]") {
  CHECK_THAT(
      complaint("collectives.csv", "gpus,bytes,latency_us\n2,8,1\n2,16,1\n4,8,1\n"),
      Catch::StartsWith("collectives.csv:4:3: error: bytes: the only payload of all_reduce by "
                        "vllm_graph over 4 GPUs"));
}

TEST_CASE("mistakes of all tables come out at once", "[calib]") {
  const Scratch folder;
  folder.write("gemm.csv", "m,n,k,latency_us\n0,0,1,1\n");
  folder.write("mla_decode.csv", "q_heads,batch,context_len,latency_us\n16,0.2,1,1\n");
  folder.write("notes.csv", "a\n1\n");
  CHECK_THROWS_WITH(calib::read_samples(h100(), folder.path()),
                    Contains("gemm.csv:2:1: error: m:") && Contains("gemm.csv:2:3: error: n:") &&
                        Contains("mla_decode.csv:2:4: error: batch:") &&
                        Contains("notes.csv:1:1: error: none of the tables"));
}

TEST_CASE("every streaming kernel of every model may be measured", "[calib]") {
  for (const std::string& model : models::model_names()) {
    const models::OperatorList list = models::operators(models::load_model(model), {});
    std::vector<std::string_view> names{list.sampler.name};
    for (const models::Elementwise& op : list.elementwise) names.push_back(op.name);
    for (const std::string_view name : names)
      CHECK(complaint("elementwise.csv",
                      "kernel,bytes_per_token,tokens,latency_us\n" + std::string(name) + ",8,8,1\n")
                .empty());
  }
}
