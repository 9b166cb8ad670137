#include "calib/layer_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace tokenline::calib {
namespace {

using Row = Folder::Row;

constexpr std::string_view model_name = "llama-3.1-8b";
constexpr std::string_view file_prefix = "vllm_llama31_8b_tp1_";
constexpr std::int64_t run_kv_element = 2;  ///< Bytes of a value in the KV cache of these runs.

models::OperatorList layer_operators() {
  return models::operators(models::load_model(std::string(model_name)), {});
}

/// Our names of the streaming kernels by what the engine calls the layer.
const std::map<std::string_view, std::string_view>& streaming_kernels() {
  static const std::map<std::string_view, std::string_view> names{
      {"act_fn", "activation"}, {"layernorm", "norm"},      {"final_layernorm", "final_norm"},
      {"rotary_emb", "rotary"}, {"embedding", "embedding"}, {"sampler", "sampler"}};
  return names;
}

/// The layers that tables may hold.
std::vector<std::string> layer_names(const models::OperatorList& list) {
  std::vector<std::string> names{std::string(list.lm_head.name)};
  for (const models::Gemm& product : list.gemms) names.emplace_back(product.name);
  for (const auto& [layer, kernel] : streaming_kernels()) names.emplace_back(layer);
  return names;
}

/// One of the model's layers over `tokens` rows, by name; nothing for a layer that is not modelled.
std::optional<Sample> layer_sample(const hw::Datasheet& gpu, const models::OperatorList& list,
                                   std::string_view layer, std::int64_t tokens, Seconds time) {
  if (layer == list.lm_head.name)
    return gemm_sample(gpu, {tokens, list.lm_head.n, list.lm_head.k}, time);
  for (const models::Gemm& product : list.gemms)
    if (product.name == layer) return gemm_sample(gpu, {tokens, product.n, product.k}, time);
  const auto found = streaming_kernels().find(layer);
  if (found == streaming_kernels().end()) return {};
  const std::string_view streaming = found->second;
  if (streaming == list.sampler.name)
    return elementwise_sample(streaming, list.sampler.bytes_per_token, tokens, time);
  for (const models::Elementwise& op : list.elementwise)
    if (op.name == streaming)
      return elementwise_sample(streaming, op.bytes_per_token, tokens, time);
  return {};
}

void read_layers(Folder& folder, const std::string& file, std::string_view count) {
  const models::OperatorList list = layer_operators();
  folder.each_row(file, {"layer", count, "time_us"}, [&](const Row& row) {
    const std::string layer = row.text("layer");
    const std::int64_t tokens = row.integer(count, lengths);
    const Seconds time = Folder::time(row, "time_us");
    auto sample = layer_sample(folder.gpu(), list, layer, tokens, time);
    if (!sample)
      folder.refuse(row, "layer", fmt::format("layer {} is not modelled", layer),
                    config::suggestion(layer, layer_names(list)), time);
    else if (!row.wrong())
      folder.add(row, std::move(*sample));
  });
}

/// A call over a chunk alone.
void add_chunk(Folder& folder, const hw::Heads& heads, const MixedSample& call) {
  const hw::Datasheet& gpu = folder.gpu();
  const hw::Prefill prefill{.new_tokens = call.chunk, .past_tokens = call.past};
  if (call.past == 0) folder.add_again(prefill_sample(gpu, heads, prefill, call.time));
  // Sizes of a grid have logarithms: no past is 1.
  folder.add_again(attention_sample(
      Kernel::chunked_prefill, heads, run_kv_element,
      {call.chunk, std::max<std::int64_t>(1, call.past)},
      hw::prefill_terms(gpu, hw::usual_prefill(gpu.generation), heads, prefill), call.time));
}

/// A call of nothing, past tokens of no chunk, decodes without a context, a context of no decodes.
void check_call(const Row& row, const MixedSample& call) {
  if (call.chunk == 0 && call.decodes == 0)
    row.error("prefill_chunk", "neither a chunk nor decodes");
  else if (call.chunk == 0 && call.past > 0)
    row.error("kv_prefill", fmt::format("{} tokens before no chunk", call.past));
  if (call.decodes > 0 && call.context == 0) row.error("kv_decode", "decodes without a context");
  if (call.decodes == 0 && call.context > 0)
    row.error("kv_decode", fmt::format("a context of {} tokens without decodes", call.context));
}

std::optional<MixedSample> read_call(const Row& row) {
  const auto or_none = [](config::Range<std::int64_t> range) {
    range.min = 0;
    return range;
  };
  const MixedSample call{.chunk = row.integer("prefill_chunk", or_none(lengths)),
                         .past = row.integer("kv_prefill", or_none(lengths)),
                         .decodes = row.integer("n_decode", or_none(batches)),
                         .context = row.integer("kv_decode", or_none(lengths)),
                         .time = Folder::time(row, "time_us")};
  if (!row.wrong()) check_call(row, call);
  return row.wrong() ? std::nullopt : std::optional(call);
}

using Decodes = std::pair<std::int64_t, std::int64_t>;  ///< Their number and context.

using Chunk = std::pair<std::int64_t, std::int64_t>;  ///< New and past tokens.

/// Of calls over a chunk alone.
std::map<Chunk, Seconds> chunk_times(const std::vector<MixedSample>& calls) {
  std::map<Chunk, Seconds> alone;
  for (const MixedSample& call : calls)
    if (call.decodes == 0) alone[{call.chunk, call.past}] = call.time;
  return alone;
}

/// For decodes beside any chunk, the times of both less that of the chunk alone.
std::map<Decodes, std::vector<Seconds>> added_times(const std::vector<MixedSample>& calls) {
  const auto alone = chunk_times(calls);
  std::map<Decodes, std::vector<Seconds>> added;
  for (const MixedSample& call : calls) {
    if (call.decodes == 0 || call.chunk == 0) continue;
    const auto chunk = alone.find({call.chunk, call.past});
    if (chunk != alone.end())
      added[{call.decodes, call.context}].push_back(call.time - chunk->second);
  }
  return added;
}

void read_calls(Folder& folder) {
  const hw::Heads heads = layer_heads();
  std::vector<std::pair<const Row*, Chunk>> both;
  const auto read = [&](const Row& row) {
    const auto call = read_call(row);
    if (!call) return;
    folder.add(row, *call);
    if (call->decodes == 0)
      add_chunk(folder, heads, *call);
    else if (call->chunk == 0)
      folder.add_again(decode_sample(folder.gpu(), heads,
                                     {call->decodes, call->decodes * call->context, run_kv_element},
                                     call->time));
    else
      both.emplace_back(&row, Chunk{call->chunk, call->past});
  };
  const auto check_chunks = [&] {
    const auto alone = chunk_times(folder.mixed());
    for (const auto& [row, chunk] : both)
      if (!alone.contains(chunk))
        row->error(
            "prefill_chunk",
            fmt::format("no row has a chunk of {} after {} alone: what the decodes add to it "
                        "is not known",
                        chunk.first, chunk.second));
  };
  folder.each_row(fmt::format("{}attention.csv", file_prefix),
                  {"prefill_chunk", "kv_prefill", "n_decode", "kv_decode", "time_us"}, read,
                  check_chunks);
}

/// What each group of decodes adds to a chunk, in the median over chunks.
void add_mixed_decodes(Folder& folder) {
  constexpr Seconds least(1e-7);  // A fit is of positive times; some decodes hide behind any chunk.
  const hw::Datasheet& gpu = folder.gpu();
  const hw::Heads heads = layer_heads();
  for (auto& [decodes, times] : added_times(folder.mixed())) {
    const auto [count, context] = decodes;
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::ranges::nth_element(times, middle);
    const hw::KernelTerms terms = hw::mixed_decode_terms(
        gpu, hw::usual_prefill(gpu.generation), heads, {count, count * context, run_kv_element});
    folder.add_again(attention_sample(Kernel::mixed_decode, heads, run_kv_element, {count, context},
                                      terms, std::max(least, *middle)));
  }
}

}  // namespace

void read_layer_tables(Folder& folder) {
  read_layers(folder, fmt::format("{}dense.csv", file_prefix), "tokens");
  read_layers(folder, fmt::format("{}per_sequence.csv", file_prefix), "sequences");
  read_calls(folder);
  add_mixed_decodes(folder);
}

hw::Heads layer_heads() {
  const models::OperatorList list = layer_operators();
  return {list.q_heads, list.kv_heads, list.head_dim};
}

}  // namespace tokenline::calib
