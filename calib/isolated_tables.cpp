#include "calib/isolated_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "hwmodels/kernels/experts.hpp"
#include "hwmodels/kernels/mla.hpp"

namespace tokenline::calib {
namespace {

using Row = Folder::Row;

/// The one of `candidates` that `name` calls `word`.
template <class Enum, class Name>
std::optional<Enum> named(std::initializer_list<Enum> candidates, const Name& name,
                          std::string_view word) {
  for (const Enum candidate : candidates)
    if (name(candidate) == word) return candidate;
  return {};
}

/// What a column says, or what its absence says, and what that is in the model.
template <class T>
struct Word {
  std::string text;
  std::optional<T> value;
};

using Precision = models::Precision;

std::string_view precision_name(Precision precision) { return models::name(precision); }

Word<Precision> precision(const Row& row, std::string_view column) {
  const std::string text = row.text(column, "bfloat16");
  using enum Precision;
  return {text, named({bfloat16, fp8, fp8_block, mxfp4}, precision_name, text)};
}

/// Bytes of a KV value.
Word<std::int64_t> kv_element(const Row& row) {
  const std::string text = row.text("kv_dtype", "bfloat16");
  const auto kind = named({Precision::bfloat16, Precision::fp8}, precision_name, text);
  if (!kind) return {text, {}};
  return {text, *kind == Precision::bfloat16 ? 2 : 1};
}

/// Refuses a row for its column `dtype`, of which one value is modelled.
bool computes_in_bfloat16(Folder& folder, const Row& row, Seconds time) {
  const std::string dtype = row.text("dtype", "bfloat16");
  if (dtype == "bfloat16") return true;
  folder.refuse(row, "dtype", fmt::format("dtype {} is not modelled", dtype), "write bfloat16",
                time);
  return false;
}

constexpr std::string_view precisions = "one of: bfloat16, fp8, fp8_block, mxfp4";
constexpr std::string_view kv_precisions = "one of: bfloat16, fp8";

void read_gemm(Folder& folder) {
  folder.each_row("gemm.csv", {"m", "n", "k", "latency_us"}, [&](const Row& row) {
    const std::int64_t m = row.integer("m", lengths);
    const std::int64_t n = row.integer("n", lengths);
    const std::int64_t k = row.integer("k", lengths);
    const Seconds time = Folder::time(row, "latency_us");
    const auto type = precision(row, "dtype");
    if (!type.value)
      folder.refuse(row, "dtype", fmt::format("dtype {} is not modelled", type.text), precisions,
                    time);
    else if (!row.wrong())
      folder.add(row, gemm_sample(folder.gpu(), {m, n, k, *type.value}, time));
  });
}

/// A row of attention.
struct AttentionRow {
  hw::Heads heads;
  std::int64_t kv_element = 2;
  std::int64_t batch = 0;
  std::int64_t length = 0;
  Seconds time;
};

/// A row of an attention table whose lengths are in the column `length`; nothing for one that is
/// wrong or refused.
std::optional<AttentionRow> attention_row(Folder& folder, const Row& row, std::string_view length) {
  const AttentionRow out{.heads = {.q = row.integer("q_heads", heads),
                                   .kv = row.integer("kv_heads", heads),
                                   .dim = row.integer("head_dim", head_widths)},
                         .kv_element = kv_element(row).value.value_or(2),
                         .batch = row.integer("batch", batches),
                         .length = row.integer(length, lengths),
                         .time = Folder::time(row, "latency_us")};
  if (!row.wrong() && out.heads.q % out.heads.kv != 0)
    row.error("kv_heads", fmt::format("{} heads of K and V for {} query heads: each serves as many",
                                      out.heads.kv, out.heads.q));
  if (!computes_in_bfloat16(folder, row, out.time)) return {};
  if (const auto kv = kv_element(row); !kv.value) {
    folder.refuse(row, "kv_dtype", fmt::format("a KV cache of {} is not modelled", kv.text),
                  kv_precisions, out.time);
    return {};
  }
  return row.wrong() ? std::nullopt : std::optional(out);
}

template <class Add>
void read_attention(Folder& folder, const std::string& file, std::string_view length,
                    const Add& add) {
  folder.each_row(file, {"head_dim", "q_heads", "kv_heads", "batch", length, "latency_us"},
                  [&](const Row& row) {
                    if (const auto call = attention_row(folder, row, length))
                      folder.add(row, add(*call));
                  });
}

void read_attention(Folder& folder) {
  read_attention(folder, "prefill_attention.csv", "q_len", [&](const AttentionRow& row) {
    return prefill_sample(
        folder.gpu(), row.heads,
        {.new_tokens = row.length, .batch = row.batch, .kv_element = row.kv_element}, row.time);
  });
  read_attention(folder, "decode_attention.csv", "context_len", [&](const AttentionRow& row) {
    return decode_sample(folder.gpu(), row.heads,
                         {row.batch, row.batch * row.length, row.kv_element}, row.time);
  });
}

/// Experts of a row; `precision` where it is known.
models::ExpertLayers expert_layers(const Row& row, std::optional<Precision> precision) {
  const models::ExpertLayers layers{.count = 1,
                                    .hidden_size = row.integer("hidden_size", lengths),
                                    .intermediate_size = row.integer("inter_size", lengths),
                                    .experts = row.integer("experts", degrees),
                                    .experts_per_token = row.integer("topk", degrees),
                                    .tensor = row.integer("tp", degrees),
                                    .expert = row.integer("ep", degrees),
                                    .precision = precision.value_or(Precision::bfloat16)};
  if (row.wrong()) return layers;
  if (layers.experts_per_token > layers.experts)
    row.error("topk", fmt::format("more than the {} experts", layers.experts));
  if (layers.experts % layers.expert != 0)
    row.error("ep", fmt::format("does not divide the {} experts", layers.experts));
  if (layers.intermediate_size % layers.tensor != 0)
    row.error("tp", fmt::format("does not divide the width {}", layers.intermediate_size));
  return layers;
}

void read_experts(Folder& folder) {
  const std::vector<std::string> loads{"balanced", "power_law_1.01", "power_law_1.2"};
  const auto read = [&](const Row& row) {
    const auto type = precision(row, "dtype");
    const models::ExpertLayers layers = expert_layers(row, type.value);
    const std::int64_t tokens = row.integer("tokens", lengths);
    const Seconds time = Folder::time(row, "latency_us");
    const std::string load = row.text("distribution", "balanced");
    if (!type.value) {
      folder.refuse(row, "dtype", fmt::format("dtype {} is not modelled", type.text), precisions,
                    time);
    } else if (std::ranges::find(loads, load) == loads.end()) {
      folder.refuse(row, "distribution", fmt::format("distribution {} is not modelled", load),
                    config::suggestion(load, loads), time);
    } else if (!row.wrong()) {
      folder.add(row, {Kernel::experts,
                       fmt::format("{} {}", type.text, load),
                       {layers.hidden_size, layers.intermediate_size, layers.experts_per_token,
                        layers.experts, layers.tensor, layers.expert},
                       {tokens},
                       hw::expert_terms(folder.gpu(), layers, tokens),
                       time});
    }
  };
  folder.each_row(
      "moe.csv",
      {"tokens", "hidden_size", "inter_size", "topk", "experts", "tp", "ep", "latency_us"}, read);
}

/// What a row of latent attention computes with. Without gemm_dtype, attention was measured without
/// its projections.
struct MlaTypes {
  Word<std::int64_t> kv;
  bool projections = false;
  Word<Precision> gemm;

  [[nodiscard]] std::string variant() const {
    return fmt::format("{} {}", kv.text, projections ? gemm.text : "attention");
  }
};

/// Nothing for types that are refused.
std::optional<MlaTypes> mla_types(Folder& folder, const Row& row, Seconds time) {
  if (!computes_in_bfloat16(folder, row, time)) return {};
  MlaTypes types{kv_element(row), !row.text("gemm_dtype").empty(), {}};
  types.gemm =
      types.projections ? precision(row, "gemm_dtype") : Word<Precision>{"", Precision::bfloat16};
  if (!types.kv.value) {
    folder.refuse(row, "kv_dtype", fmt::format("a KV cache of {} is not modelled", types.kv.text),
                  kv_precisions, time);
    return {};
  }
  if (!types.gemm.value) {
    folder.refuse(row, "gemm_dtype",
                  fmt::format("projections of {} are not modelled", types.gemm.text), precisions,
                  time);
    return {};
  }
  return types;
}

void read_mla(Folder& folder, Kernel kernel) {
  const bool prefill = kernel == Kernel::mla_prefill;
  const std::string_view length_column = prefill ? "q_len" : "context_len";
  // Every measured row is of a model with the widths of DeepSeek-V3.
  const models::Architecture model = models::load_model("deepseek-v3");
  const auto read = [&](const Row& row) {
    models::LatentAttentionLayers layers{.dims = *model.mla,
                                         .count = 1,
                                         .q_heads = row.integer("q_heads", heads),
                                         .hidden_size = model.hidden_size,
                                         .precision = Precision::bfloat16};
    const std::int64_t batch = row.integer("batch", batches);
    const std::int64_t length = row.integer(length_column, lengths);
    const Seconds time = Folder::time(row, "latency_us");
    const auto types = mla_types(folder, row, time);
    if (!types || row.wrong()) return;
    layers.precision = *types->gemm.value;
    const std::int64_t kv = *types->kv.value;
    folder.add(row, {kernel,
                     types->variant(),
                     {layers.q_heads},
                     {batch, length},
                     prefill ? hw::mla_prefill_terms(folder.gpu(), layers, batch, length, 0, kv,
                                                     types->projections)
                             : hw::mla_decode_terms(folder.gpu(), layers, batch, batch * length, kv,
                                                    types->projections),
                     time});
  };
  folder.each_row(fmt::format("{}.csv", name(kernel)),
                  {"q_heads", "batch", length_column, "latency_us"}, read);
}

void read_elementwise(Folder& folder) {
  // Those that engines run; `add` alone is fused with norms there and counts for the others.
  const std::vector<std::string> kernels{"activation", "add",     "embedding", "final_norm",
                                         "norm",       "qk_norm", "rotary",    "sampler"};
  const config::Range<std::int64_t> widths{1, 1'000'000'000};
  folder.each_row("elementwise.csv", {"kernel", "bytes_per_token", "tokens", "latency_us"},
                  [&](const Row& row) {
                    const std::int64_t bytes = row.integer("bytes_per_token", widths);
                    const std::int64_t tokens = row.integer("tokens", lengths);
                    const Seconds time = Folder::time(row, "latency_us");
                    const std::string kernel = row.text("kernel");
                    if (std::ranges::find(kernels, kernel) == kernels.end())
                      folder.refuse(row, "kernel", fmt::format("kernel {} is not modelled", kernel),
                                    config::suggestion(kernel, kernels), time);
                    else if (!row.wrong())
                      folder.add_again(elementwise_sample(kernel, Bytes(static_cast<double>(bytes)),
                                                          tokens, time));
                  });
}

/// Refuses what is no implementation or operation that a step has.
void refuse_collective(Folder& folder, const Row& row, bool implementation, Seconds time) {
  const std::string reason = fmt::format("{} of {} is not modelled", row.text("op", "all_reduce"),
                                         row.text("impl", "vllm_graph"));
  if (implementation)
    folder.refuse(row, "op", reason,
                  "one of: all_reduce, all_gather, reduce_scatter, alltoall, send_recv", time);
  else
    folder.refuse(row, "impl", reason, "one of: vllm_graph, vllm_eager, nccl", time);
}

void read_collectives(Folder& folder) {
  using enum models::CollectiveOp;
  using enum hw::CollectiveImplementation;
  const config::Range<std::int64_t> ranks{2, 1000};
  const config::Range<std::int64_t> payloads{1, 1'000'000'000'000};
  using Curve = std::tuple<models::CollectiveOp, hw::CollectiveImplementation, std::int64_t>;
  std::map<Curve, std::vector<const Row*>> curves;
  const auto read = [&](const Row& row) {
    const std::int64_t gpus = row.integer("gpus", ranks);
    const std::int64_t bytes = row.integer("bytes", payloads);
    const Seconds time = Folder::time(row, "latency_us");
    const auto called = [](auto value) { return hw::name(value); };
    const auto implementation =
        named({vllm_graph, vllm_eager, nccl}, called, row.text("impl", "vllm_graph"));
    const std::string word = row.text("op", "all_reduce");
    const auto op = named({all_reduce, all_gather, reduce_scatter, all_to_all, send_recv}, called,
                          word == "alltoall" ? "all_to_all" : word);
    if (!implementation || !op) refuse_collective(folder, row, implementation.has_value(), time);
    if (!implementation || !op || row.wrong()) return;
    curves[{*op, *implementation, gpus}].push_back(&row);
    folder.add(
        row, CollectiveSample{*op, *implementation, gpus, Bytes(static_cast<double>(bytes)), time});
  };
  const auto check_curves = [&] {
    for (const auto& [curve, rows] : curves)
      if (rows.size() == 1)
        rows[0]->error("bytes",
                       fmt::format("the only payload of {} by {} over {} GPUs: a curve has "
                                   "two",
                                   hw::name(std::get<0>(curve)), hw::name(std::get<1>(curve)),
                                   std::get<2>(curve)));
  };
  folder.each_row("collectives.csv", {"gpus", "bytes", "latency_us"}, read, check_curves);
}

}  // namespace

void read_isolated_tables(Folder& folder) {
  read_gemm(folder);
  read_attention(folder);
  read_experts(folder);
  read_mla(folder, Kernel::mla_prefill);
  read_mla(folder, Kernel::mla_decode);
  read_elementwise(folder);
  read_collectives(folder);
}

}  // namespace tokenline::calib
