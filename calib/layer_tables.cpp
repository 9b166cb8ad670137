#include "calib/layer_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "calib/table.hpp"

namespace tokenline::calib {
namespace {

constexpr std::string_view model_name = "llama-3.1-8b";
constexpr std::string_view file_prefix = "vllm_llama31_8b_tp1_";
constexpr std::int64_t kv_element = 2;  ///< Bytes of a value in the KV cache of these runs.

models::OperatorList layer_operators() {
  return models::operators(models::load_model(std::string(model_name)), {});
}

/// Our name of the streaming kernel that the engine calls `layer`; empty for others.
std::string_view streaming_kernel(std::string_view layer) {
  static const std::map<std::string_view, std::string_view> names{
      {"act_fn", "activation"}, {"layernorm", "norm"},      {"final_layernorm", "final_norm"},
      {"rotary_emb", "rotary"}, {"embedding", "embedding"}, {"sampler", "sampler"}};
  const auto found = names.find(layer);
  return found == names.end() ? std::string_view() : found->second;
}

/// One of the model's layers over `tokens` rows, by name; nothing for a layer that is not modelled.
std::optional<Sample> layer_sample(const hw::Datasheet& gpu, const models::OperatorList& list,
                                   std::string_view layer, std::int64_t tokens, Seconds time) {
  if (layer == list.lm_head.name)
    return gemm_sample(gpu, {tokens, list.lm_head.n, list.lm_head.k}, time);
  for (const models::Gemm& product : list.gemms)
    if (product.name == layer) return gemm_sample(gpu, {tokens, product.n, product.k}, time);
  const std::string_view streaming = streaming_kernel(layer);
  if (streaming == list.sampler.name)
    return elementwise_sample(streaming, list.sampler.bytes_per_token, tokens, time);
  for (const models::Elementwise& op : list.elementwise)
    if (op.name == streaming)
      return elementwise_sample(streaming, op.bytes_per_token, tokens, time);
  return {};
}

void read_layers(const hw::Datasheet& gpu, const std::string& folder, const std::string& file,
                 std::string_view count, Samples& out) {
  const auto path = out.find(folder, file);
  if (!path) return;
  const models::OperatorList list = layer_operators();
  const Table table = read_table(*path, {count, "time_us"}, {{"layer"}});
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::string& layer = table.texts[i][0];
    auto sample = layer_sample(gpu, list, layer, whole(table.numbers[i][0]),
                               microseconds(table.numbers[i][1]));
    if (sample)
      out.samples.push_back(std::move(*sample));
    else
      out.refuse(file, fmt::format("layer {} is not modelled", layer));
  }
}

/// A call over a chunk alone.
void add_chunk(const hw::Datasheet& gpu, const hw::Heads& heads, const MixedSample& call,
               Samples& out) {
  const hw::Prefill prefill{.new_tokens = call.chunk, .past_tokens = call.past};
  if (call.past == 0) out.samples.push_back(prefill_sample(gpu, heads, prefill, call.time));
  // Sizes of a grid have logarithms: no past is 1.
  out.samples.push_back(attention_sample(
      Kernel::chunked_prefill, heads, kv_element,
      {call.chunk, std::max<std::int64_t>(1, call.past)},
      hw::prefill_terms(gpu, hw::usual_prefill(gpu.generation), heads, prefill), call.time));
}

void read_calls(const hw::Datasheet& gpu, const std::string& folder, Samples& out) {
  const auto path = out.find(folder, fmt::format("{}attention.csv", file_prefix));
  if (!path) return;
  const Table table =
      read_table(*path, {"prefill_chunk?", "kv_prefill?", "n_decode?", "kv_decode?", "time_us"});
  const hw::Heads heads = layer_heads();
  for (const auto& row : table.numbers) {
    const MixedSample call{whole(row[0]), whole(row[1]), whole(row[2]), whole(row[3]),
                           microseconds(row[4])};
    out.mixed.push_back(call);
    if (call.decodes == 0)
      add_chunk(gpu, heads, call, out);
    else if (call.chunk == 0)
      out.samples.push_back(decode_sample(
          gpu, heads, {call.decodes, call.decodes * call.context, kv_element}, call.time));
  }
}

using Decodes = std::pair<std::int64_t, std::int64_t>;  ///< Their number and context.

/// For decodes beside any chunk, the times of both less that of the chunk alone.
std::map<Decodes, std::vector<Seconds>> added_times(const std::vector<MixedSample>& calls) {
  std::map<std::pair<std::int64_t, std::int64_t>, Seconds> alone;
  for (const MixedSample& call : calls)
    if (call.decodes == 0) alone[{call.chunk, call.past}] = call.time;
  std::map<Decodes, std::vector<Seconds>> added;
  for (const MixedSample& call : calls) {
    if (call.decodes == 0 || call.chunk == 0) continue;
    const auto chunk = alone.find({call.chunk, call.past});
    if (chunk != alone.end())
      added[{call.decodes, call.context}].push_back(call.time - chunk->second);
  }
  return added;
}

/// What each group of decodes adds to a chunk, in the median over chunks.
void add_mixed_decodes(const hw::Datasheet& gpu, Samples& out) {
  constexpr Seconds least(1e-7);  // A fit is of positive times; some decodes hide behind any chunk.
  const hw::Heads heads = layer_heads();
  for (auto& [decodes, times] : added_times(out.mixed)) {
    const auto [count, context] = decodes;
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::ranges::nth_element(times, middle);
    const hw::KernelTerms terms = hw::mixed_decode_terms(
        gpu, hw::usual_prefill(gpu.generation), heads, {count, count * context, kv_element});
    out.samples.push_back(attention_sample(Kernel::mixed_decode, heads, kv_element,
                                           {count, context}, terms, std::max(least, *middle)));
  }
}

}  // namespace

Samples read_layer_tables(const hw::Datasheet& gpu, const std::string& folder) {
  Samples out;
  read_layers(gpu, folder, fmt::format("{}dense.csv", file_prefix), "tokens", out);
  read_layers(gpu, folder, fmt::format("{}per_sequence.csv", file_prefix), "sequences", out);
  read_calls(gpu, folder, out);
  add_mixed_decodes(gpu, out);
  return out;
}

hw::Heads layer_heads() {
  const models::OperatorList list = layer_operators();
  return {list.q_heads, list.kv_heads, list.head_dim};
}

}  // namespace tokenline::calib
