#include "calib/isolated_tables.hpp"

#include <fmt/format.h>

#include <optional>
#include <span>
#include <vector>

#include "calib/table.hpp"
#include "hwmodels/kernels/experts.hpp"
#include "hwmodels/kernels/mla.hpp"

namespace tokenline::calib {
namespace {

/// The one of `candidates` that `name` calls `word`.
template <class Enum, class Name>
std::optional<Enum> named(std::initializer_list<Enum> candidates, const Name& name,
                          std::string_view word) {
  for (const Enum candidate : candidates)
    if (name(candidate) == word) return candidate;
  return {};
}

std::optional<models::Precision> precision_of(std::string_view word) {
  using enum models::Precision;
  return named({bfloat16, fp8, fp8_block, mxfp4}, [](auto p) { return models::name(p); }, word);
}

/// Bytes of a KV value, or nothing for a type that is not modelled.
std::optional<std::int64_t> kv_element_of(std::string_view dtype) {
  if (dtype == "bfloat16") return 2;
  if (dtype == "fp8") return 1;
  return {};
}

/// One of the tables, rows of numbers and words as asked for.
struct Source {
  std::string file;
  Table table;
};

std::optional<Source> open(Samples& out, const std::string& folder, const std::string& file,
                           const std::vector<std::string_view>& numbers,
                           const std::vector<TextColumn>& texts) {
  const auto path = out.find(folder, file);
  if (!path) return {};
  return Source{file, read_table(*path, numbers, texts)};
}

void read_gemm(const hw::Datasheet& gpu, const std::string& folder, Samples& out) {
  const auto source =
      open(out, folder, "gemm.csv", {"m", "n", "k", "latency_us"}, {{"dtype", "bfloat16"}});
  if (!source) return;
  for (std::size_t i = 0; i < source->table.size(); ++i) {
    const auto& row = source->table.numbers[i];
    const std::string& dtype = source->table.texts[i][0];
    if (const auto precision = precision_of(dtype))
      out.samples.push_back(gemm_sample(
          gpu, {whole(row[0]), whole(row[1]), whole(row[2]), *precision}, microseconds(row[3])));
    else
      out.refuse(source->file, fmt::format("dtype {} is not modelled", dtype));
  }
}

/// A row of attention.
struct AttentionRow {
  hw::Heads heads;
  std::int64_t kv_element = 2;
  std::int64_t batch = 0;
  std::int64_t length = 0;
  Seconds time;
};

/// Rows of an attention table whose lengths are in the column `length`.
std::vector<AttentionRow> attention_rows(const std::string& folder, const std::string& file,
                                         std::string_view length, Samples& out) {
  const auto source =
      open(out, folder, file, {"head_dim", "q_heads", "kv_heads", "batch", length, "latency_us"},
           {{"dtype", "bfloat16"}, {"kv_dtype", "bfloat16"}});
  std::vector<AttentionRow> rows;
  if (!source) return rows;
  for (std::size_t i = 0; i < source->table.size(); ++i) {
    const auto& row = source->table.numbers[i];
    const auto& words = source->table.texts[i];
    const auto kv = kv_element_of(words[1]);
    if (words[0] == "bfloat16" && kv)
      rows.push_back({{whole(row[1]), whole(row[2]), whole(row[0])},
                      *kv,
                      whole(row[3]),
                      whole(row[4]),
                      microseconds(row[5])});
    else
      out.refuse(source->file,
                 fmt::format("dtype {} with a KV cache of {} is not modelled", words[0], words[1]));
  }
  return rows;
}

void read_attention(const hw::Datasheet& gpu, const std::string& folder, Samples& out) {
  for (const AttentionRow& row : attention_rows(folder, "prefill_attention.csv", "q_len", out))
    out.samples.push_back(prefill_sample(
        gpu, row.heads,
        {.new_tokens = row.length, .batch = row.batch, .kv_element = row.kv_element}, row.time));
  for (const AttentionRow& row : attention_rows(folder, "decode_attention.csv", "context_len", out))
    out.samples.push_back(decode_sample(
        gpu, row.heads, {row.batch, row.batch * row.length, row.kv_element}, row.time));
}

void read_experts(const hw::Datasheet& gpu, const std::string& folder, Samples& out) {
  const auto source =
      open(out, folder, "moe.csv",
           {"tokens", "hidden_size", "inter_size", "topk", "experts", "tp", "ep", "latency_us"},
           {{"dtype", "bfloat16"}, {"distribution", "balanced"}});
  if (!source) return;
  for (std::size_t i = 0; i < source->table.size(); ++i) {
    const auto& row = source->table.numbers[i];
    const auto& words = source->table.texts[i];
    const auto precision = precision_of(words[0]);
    if (!precision) {
      out.refuse(source->file, fmt::format("dtype {} is not modelled", words[0]));
      continue;
    }
    const models::ExpertLayers layers{.count = 1,
                                      .hidden_size = whole(row[1]),
                                      .intermediate_size = whole(row[2]),
                                      .experts = whole(row[4]),
                                      .experts_per_token = whole(row[3]),
                                      .tensor = whole(row[5]),
                                      .expert = whole(row[6]),
                                      .precision = *precision};
    out.samples.push_back({Kernel::experts,
                           fmt::format("{} {}", words[0], words[1]),
                           {layers.hidden_size, layers.intermediate_size, layers.experts_per_token,
                            layers.experts, layers.tensor, layers.expert},
                           {whole(row[0])},
                           hw::expert_terms(gpu, layers, whole(row[0])),
                           microseconds(row[7])});
  }
}

/// Where the table has no gemm_dtype, attention was measured without its projections.
void read_mla(const hw::Datasheet& gpu, const std::string& folder, Kernel kernel, Samples& out) {
  const bool prefill = kernel == Kernel::mla_prefill;
  const auto source = open(out, folder, fmt::format("{}.csv", name(kernel)),
                           {"q_heads", "batch", prefill ? "q_len" : "context_len", "latency_us"},
                           {{"dtype", "bfloat16"}, {"kv_dtype", "bfloat16"}, {"gemm_dtype", ""}});
  if (!source) return;
  // Every measured row is of a model with the widths of DeepSeek-V3.
  const models::Architecture model = models::load_model("deepseek-v3");
  for (std::size_t i = 0; i < source->table.size(); ++i) {
    const auto& row = source->table.numbers[i];
    const auto& words = source->table.texts[i];
    const bool projections = !words[2].empty();
    const auto precision = precision_of(projections ? words[2] : "bfloat16");
    const auto kv = kv_element_of(words[1]);
    if (words[0] != "bfloat16" || !kv || !precision) {
      out.refuse(source->file, fmt::format("dtype {}, KV {}, projections {} are not modelled",
                                           words[0], words[1], words[2]));
      continue;
    }
    const models::LatentAttentionLayers layers{.dims = *model.mla,
                                               .count = 1,
                                               .q_heads = whole(row[0]),
                                               .hidden_size = model.hidden_size,
                                               .precision = *precision};
    const std::int64_t batch = whole(row[1]);
    const std::int64_t length = whole(row[2]);
    out.samples.push_back(
        {kernel,
         fmt::format("{} {}", words[1], projections ? words[2] : "attention"),
         {layers.q_heads},
         {batch, length},
         prefill ? hw::mla_prefill_terms(gpu, layers, batch, length, 0, *kv, projections)
                 : hw::mla_decode_terms(gpu, layers, batch, batch * length, *kv, projections),
         microseconds(row[3])});
  }
}

void read_elementwise(const std::string& folder, Samples& out) {
  const auto source = open(out, folder, "elementwise.csv",
                           {"bytes_per_token", "tokens", "latency_us"}, {{"kernel"}});
  if (!source) return;
  for (std::size_t i = 0; i < source->table.size(); ++i) {
    const auto& row = source->table.numbers[i];
    out.samples.push_back(elementwise_sample(source->table.texts[i][0], Bytes(row[0]),
                                             whole(row[1]), microseconds(row[2])));
  }
}

void read_collectives(const std::string& folder, Samples& out) {
  using enum models::CollectiveOp;
  using enum hw::CollectiveImplementation;
  const auto source = open(out, folder, "collectives.csv", {"gpus", "bytes", "latency_us"},
                           {{"impl", "vllm_graph"}, {"op", "all_reduce"}});
  if (!source) return;
  for (std::size_t i = 0; i < source->table.size(); ++i) {
    const auto& row = source->table.numbers[i];
    const auto& words = source->table.texts[i];
    const auto called = [](auto value) { return hw::name(value); };
    const auto implementation = named({vllm_graph, vllm_eager, nccl}, called, words[0]);
    const auto op = named({all_reduce, all_gather, reduce_scatter, all_to_all, send_recv}, called,
                          words[1] == "alltoall" ? "all_to_all" : words[1]);
    if (implementation && op)
      out.collectives.push_back(
          {*op, *implementation, whole(row[0]), Bytes(row[1]), microseconds(row[2])});
    else
      out.refuse(source->file, fmt::format("{} of {} is not modelled", words[1], words[0]));
  }
}

}  // namespace

Samples read_isolated_tables(const hw::Datasheet& gpu, const std::string& folder) {
  Samples out;
  read_gemm(gpu, folder, out);
  read_attention(gpu, folder, out);
  read_experts(gpu, folder, out);
  read_mla(gpu, folder, Kernel::mla_prefill, out);
  read_mla(gpu, folder, Kernel::mla_decode, out);
  read_elementwise(folder, out);
  read_collectives(folder, out);
  return out;
}

}  // namespace tokenline::calib
