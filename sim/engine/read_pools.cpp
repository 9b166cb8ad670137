#include "sim/engine/read_pools.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "sim/engine/read_named.hpp"
#include "workloads/traffic/class_name.hpp"

namespace tokenline {
namespace {

using config::Node;
using config::Reader;

constexpr std::array<std::string_view, 3> role_names{"both", "prefill", "decode"};
/// Keys of `cluster` that its pools take over.
constexpr std::array<std::string_view, 7> inherited{"replicas",
                                                    "gpu",
                                                    "tensor_parallel_size",
                                                    "attention_data_parallel_size",
                                                    "expert_parallel_size",
                                                    "pipeline_parallel_size",
                                                    "context_parallel_size"};
/// Schedulers that count on blocks which a replica that takes over sequences cannot promise, or
/// that hold finished ones.
constexpr std::array<std::string_view, 2> whole_batch{"guaranteed_no_evict", "static"};

bool is_mapping(const Node* node) { return node != nullptr && node->kind == Node::Kind::mapping; }

/// What a pool takes over of `engine`. One that recomputes has no use for the room of others'
/// swaps.
Node inherited_engine(const Node& own, Node engine) {
  const Node* mode = is_mapping(&own) ? own.find("preemption_mode") : nullptr;
  if (mode != nullptr && mode->scalar == "recompute")
    std::erase_if(engine.entries,
                  [](const Node::Entry& entry) { return entry.key == "swap_space"; });
  return engine;
}

void complete_pool(Node& pool, const Node& cluster, const Node* engine) {
  for (const std::string_view key : inherited) {
    const Node* given = cluster.find(key);
    if (given != nullptr && pool.find(key) == nullptr)
      pool.entries.push_back({std::string(key), given->where, *given});
  }
  if (pool.find("engine") == nullptr) {
    Node empty;
    empty.kind = Node::Kind::mapping;
    empty.where = pool.where;
    pool.entries.push_back({"engine", pool.where, std::move(empty)});
  }
  Node& own = *pool.find("engine");
  const Node* preset = is_mapping(&own) ? own.find("preset") : nullptr;
  const auto names = engine_preset_names();
  if (preset != nullptr && std::ranges::find(names, preset->scalar) != names.end())
    config::merge_defaults(own, load_engine_preset(preset->scalar));
  else if (is_mapping(engine))
    config::merge_defaults(own, inherited_engine(own, *engine));
}

Disaggregation read_disaggregation(Reader& cluster) {
  Disaggregation how;
  Reader section = cluster.section({"disaggregate",
                                    "Which requests go through a pool with role: prefill, and "
                                    "how their KV moves."},
                                   true);
  how.min_prompt_tokens = section.integer(
      {"min_prompt_tokens", "Shorter prompts are computed where they decode."}, {1, 16'777'216}, 1);
  const std::vector<std::string> ways{"whole", "layerwise"};
  how.layerwise = section.word({"kv_transfer",
                                "whole: a prompt's KV leaves when all of it is computed; "
                                "layerwise: each layer's while the next is."},
                               ways, "whole") == "layerwise";
  const std::vector<std::string> emitters{"prefill", "decode"};
  how.first_token_from_prefill =
      section.word({"first_token",
                    "Which replica hands out the first token. prefill: at once, the transfer lies "
                    "before the second (DistServe); decode: after the transfer (SGLang)."},
                   emitters, "prefill") == "prefill";
  section.finish();
  return how;
}

PoolSection read_pool(const std::string& name, Reader& reader, Scenario& scenario) {
  Pool pool;
  pool.name = name;
  const std::vector<std::string> roles(role_names.begin(), role_names.end());
  const std::string role = reader.word(
      {"role",
       "both: replicas prefill and decode; prefill: they compute prompts and hand them over; "
       "decode: they decode those, and without a pool of `both` also short prompts of their own."},
      roles, "both");
  pool.role = static_cast<PoolRole>(std::ranges::find(roles, role) - roles.begin());
  pool.replicas = reader.integer({"replicas", "Engine replicas of the pool.", "those of `cluster`"},
                                 {1, 4096}, 1);
  std::optional<hw::Gpu> gpu = load_named(
      reader, {"gpu", "Of the pool's replicas.", "that of `cluster`"}, hw::load_gpu, false);
  if (!reader.has("gpu")) reader.error("gpu", "neither the pool nor the cluster names one");
  pool.parallelism = read_parallelism(reader, "that of `cluster`");
  scenario.pools.push_back(std::move(pool));
  return {.reader = reader, .gpu = std::move(gpu)};
}

std::int64_t replicas_of(const Scenario& scenario, PoolRole role) {
  std::int64_t sum = 0;
  for (const Pool& pool : scenario.pools)
    if (pool.role == role) sum += pool.replicas;
  return sum;
}

bool check_pool(const Pool& pool, const Pool& first, const Reader& reader) {
  if (pool.role == PoolRole::both) return true;
  const std::size_t before = reader.document().mistakes();
  if (pool.parallelism.pipeline > 1)
    reader.error("pipeline_parallel_size", "a pool that hands over KV has one stage",
                 "not modelled: KV that moves from and to stages of a pipeline");
  if (pool.parallelism.data > 1)
    reader.error("attention_data_parallel_size", "a pool that hands over KV has one group",
                 "not modelled: which attention group a sequence moves to");
  if (pool.parallelism.context > 1)
    reader.error("context_parallel_size", "a pool that hands over KV has one group",
                 "not modelled: KV that moves from and to groups that share a sequence");
  if (std::ranges::find(whole_batch, pool.engine.scheduler) != whole_batch.end())
    reader.error("engine",
                 fmt::format("scheduler '{}' cannot hand over sequences or take them over",
                             pool.engine.scheduler),
                 "use chunked, prefill_first, prefill_first_chunked or orca");
  if (pool.engine.kv_element != first.engine.kv_element)
    reader.error("engine", fmt::format("kv_cache_dtype differs from that of pool '{}': KV moves as "
                                       "it is",
                                       first.name));
  return reader.document().mistakes() == before;
}

}  // namespace

std::string_view name(PoolRole role) { return role_names.at(static_cast<std::size_t>(role)); }

void apply_pool_defaults(Node& scenario) {
  Node* cluster = scenario.find("cluster");
  if (!is_mapping(cluster)) return;
  Node* pools = cluster->find("pools");
  if (!is_mapping(pools)) return;
  const Node without_pools = *cluster;
  for (Node::Entry& entry : pools->entries)
    if (is_mapping(&entry.value))
      complete_pool(entry.value, without_pools, scenario.find("engine"));
}

models::Parallelism read_parallelism(Reader& reader, std::string_view standard) {
  constexpr config::Range<std::int64_t> degrees{1, 64};
  models::Parallelism parallelism;
  parallelism.tensor =
      reader.integer({"tensor_parallel_size",
                      "GPUs that share each attention layer and dense MLP of a replica.", standard},
                     degrees, 1);
  parallelism.data = reader.integer(
      {"attention_data_parallel_size",
       "Groups of tensor_parallel_size GPUs in a replica, each with its own sequences; they share "
       "the experts.",
       standard},
      degrees, 1);
  parallelism.expert = reader.integer(
      {"expert_parallel_size",
       "Ways the experts are spread over the GPUs of a replica; the remaining ways split each.",
       standard},
      {1, 4096}, 1);
  parallelism.pipeline = reader.integer(
      {"pipeline_parallel_size",
       "Stages of a replica, each on GPUs of its own with a share of the layers.", standard},
      degrees, 1);
  parallelism.context = reader.integer(
      {"context_parallel_size",
       "Groups of tensor_parallel_size GPUs in a stage that share each sequence: its "
       "prefill by ring attention, its KV evenly.",
       standard},
      degrees, 1);
  return parallelism;
}

std::vector<PoolSection> read_pools(Reader& cluster, Scenario& scenario) {
  std::vector<PoolSection> sections;
  cluster.alternative("", cluster.has("pools"), [&] {
    for (auto& [name, reader] : cluster.named_sections(
             {"pools", "Pools of replicas instead of `replicas` of one kind, by a name of each."},
             true))
      sections.push_back(read_pool(name, reader, scenario));
    if (sections.empty()) cluster.error("pools", "names no pool");
    for (const Pool& pool : scenario.pools)
      if (!traffic::class_name_problem(pool.name).empty())
        cluster.error("pools", fmt::format("the name '{}' stands in paths of metrics", pool.name),
                      "letters, digits, '_' and '-', and not 'all'");
  });
  cluster.alternative("with pools", !sections.empty(),
                      [&] { scenario.disaggregation = read_disaggregation(cluster); });
  return sections;
}

bool check_pools(const Scenario& scenario, const std::vector<PoolSection>& sections,
                 const Reader& root, const Reader& cluster) {
  const std::size_t before = root.document().mistakes();
  const std::int64_t senders = replicas_of(scenario, PoolRole::prefill);
  const std::int64_t receivers = replicas_of(scenario, PoolRole::decode);
  if ((senders > 0) != (receivers > 0))
    cluster.error(
        "pools",
        fmt::format("a pool with role: {} needs one with role: {}",
                    senders > 0 ? "prefill" : "decode", senders > 0 ? "decode" : "prefill"),
        "");
  if (senders == 0 && cluster.has("disaggregate"))
    cluster.error("disaggregate", "no pool has role: prefill");
  if (senders > 0 && !cluster.has("network"))
    cluster.error("pools", "KV moves between pools, and no network is named",
                  "give cluster.network: {node: hgx_h100, fabric: infiniband_ndr}, or another of "
                  "`tokenline list networks`");
  std::int64_t longest = 0;
  for (const Pool& pool : scenario.pools) longest = std::max(longest, pool.engine.max_model_len);
  if (scenario.disaggregation.min_prompt_tokens > longest)
    cluster.error("disaggregate",
                  fmt::format("no prompt has min_prompt_tokens ({}): max_model_len is {}",
                              scenario.disaggregation.min_prompt_tokens, longest),
                  "leave out the pools that would have nothing to do, or lower it");
  if (senders > 0 && scenario.speculation)
    root.error("speculation", "is not modelled where pools hand over KV");
  if (scenario.cluster.autoscale) cluster.error("autoscale", "is not modelled with pools");
  const auto of_replica = [](const Fault& f) { return f.kind != FaultKind::link_brownout; };
  if (senders > 0 && std::ranges::any_of(scenario.faults, of_replica))
    root.error("faults", "those of replicas are not modelled where pools hand over KV",
               "link_brownout is");
  const auto patient = [](const traffic::RequestClass& c) { return c.client.patient(); };
  if (senders > 0 && !std::ranges::all_of(scenario.traffic.classes, patient))
    root.error("traffic", "clients that give up are not modelled where pools hand over KV");
  const auto first = std::ranges::find_if(
      scenario.pools, [](const Pool& pool) { return pool.role != PoolRole::both; });
  for (std::size_t i = 0; i < scenario.pools.size(); ++i)
    if (first != scenario.pools.end())
      (void)check_pool(scenario.pools[i], *first, sections[i].reader);
  return root.document().mistakes() == before;
}

}  // namespace tokenline
