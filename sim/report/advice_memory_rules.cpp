#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/report/advice_rules.hpp"

namespace tokenline::report {
namespace {

constexpr double gib = 0x1p30;

/// Tokens that the pool of a replica holds.
std::int64_t pool_tokens(const ReplicaKind& kind) {
  return kind.memory->blocks * kind.config->pool_block_size();
}

/// Pages of 16 or 32 tokens; the kernels of latent attention take 64 (FlashMLA's README).
bool paged_by_the_rule(const ReplicaKind& kind) {
  const std::int64_t size = kind.config->block_size;
  return kind.config->kv_layout == KvLayout::paged &&
         (size == 16 || size == 32 || (kind.model().mla && size == 64));
}

/// Overrides that page KV by 16 tokens. A pool given in blocks keeps its tokens.
void add_pages(Proposal& proposal, const ReplicaKind& kind) {
  constexpr std::int64_t page = 16;
  const EngineConfig& config = *kind.config;
  if (config.kv_layout == KvLayout::contiguous)
    proposal.overrides.push_back(kind.set("kv_layout", "paged"));
  if (config.block_size != page)
    proposal.overrides.push_back(kind.set("block_size", fmt::format("{}", page)));
  if (config.num_gpu_blocks_override && config.pool_block_size() != page)
    proposal.overrides.push_back(kind.set(
        "num_gpu_blocks_override",
        fmt::format("{}", std::max<std::int64_t>(1, *config.num_gpu_blocks_override *
                                                        config.pool_block_size() / page))));
}

/// The same model with as few KV heads as Llama-2-70B and Llama-3 have (8), or as divide its heads.
models::Architecture with_shared_heads(models::Architecture model) {
  constexpr std::int64_t usual_groups = 8;
  const std::int64_t groups = std::gcd(model.attention_heads, usual_groups);
  model.kv_heads = groups < model.attention_heads ? groups : 1;
  return model;
}

/// A built-in model of the same family and shape whose query heads share KV heads; one that has the
/// same MLP and vocabulary rather than another. Its weights are stored as those of the model, where
/// `same_weights`. Empty where there is none.
std::optional<models::Architecture> shared_twin(const models::Architecture& model,
                                                bool same_weights) {
  std::optional<models::Architecture> twin;
  const auto alike = [&](const models::Architecture& other) {
    return other.intermediate_size == model.intermediate_size &&
           other.vocab_size == model.vocab_size;
  };
  for (const std::string& name : models::model_names()) {
    models::Architecture other = models::load_model(name);
    const bool fits = other.model_type == model.model_type && other.layers == model.layers &&
                      other.hidden_size == model.hidden_size &&
                      other.attention_heads == model.attention_heads &&
                      other.kv_heads < other.attention_heads &&
                      (!same_weights || other.quantization == model.quantization);
    if (fits && (!twin || (alike(other) && !alike(*twin)))) twin = std::move(other);
  }
  return twin;
}

Proposal other_model(const models::Architecture& now, const models::Architecture& twin,
                     const EngineConfig& config) {
  Proposal proposal{.name = twin.name, .overrides = {"model=" + twin.name}};
  if (twin.max_position_embeddings != now.max_position_embeddings)
    proposal.overrides.push_back(fmt::format("engine.max_model_len={}", config.max_model_len));
  return proposal;
}

/// What the KV pool of a replica may fill of the HBM that weights and the rest of the process
/// leave, before admission stops.
struct Headroom {
  Bytes room;  ///< Of one GPU: HBM − weights − non-torch.
  Bytes held;  ///< Of it, blocks that an admission may fill.

  [[nodiscard]] double fraction() const { return held / room; }
};

Headroom headroom(const ReplicaKind& kind) {
  const MemoryPlan& memory = *kind.memory;
  const std::int64_t usable = memory.blocks - kind.config->watermark_blocks(memory.blocks);
  return {.room = memory.capacity - memory.weights - memory.non_torch,
          .held = static_cast<double>(usable) / static_cast<double>(memory.groups) * memory.block};
}

/// The most that the rule lets KV have of what weights leave.
constexpr double most_kv = 0.90;

std::int64_t memory_crashes(const Subject& subject, const ReplicaKind& kind) {
  std::int64_t crashes = 0;
  for (const InstanceResult& instance : subject.run.instances)
    if (instance.pool == kind.pool) crashes += instance.whole.restarts - instance.whole.failures;
  return crashes;
}

/// Rounded up to a hundredth, so that what it must leave is left.
std::string gib_text(Bytes bytes) {
  return fmt::format("{:.2f} GiB", std::ceil(bytes.value() / gib * 100.0) / 100.0);
}

/// Leaves a tenth of what weights leave, and never less than the largest step needs.
void add_headroom(Proposal& proposal, const ReplicaKind& kind) {
  const EngineConfig& config = *kind.config;
  const MemoryPlan& memory = *kind.memory;
  const Bytes room = headroom(kind).room;
  if (config.num_gpu_blocks_override) {
    const Bytes most = std::min(most_kv * room, room - memory.activation_peak);
    const auto blocks = memory.groups * static_cast<std::int64_t>(most / memory.block);
    proposal.overrides.push_back(kind.set("num_gpu_blocks_override", fmt::format("{}", blocks)));
  } else if (config.kv_sizing == KvSizing::static_reserve) {
    const Bytes reserve = std::max((1.0 - most_kv) * memory.capacity, memory.activation_peak);
    proposal.overrides.push_back(kind.set("static_reserve", gib_text(reserve)));
  } else {
    proposal.overrides.push_back(kind.set("gpu_memory_utilization", fmt::format("{}", most_kv)));
  }
}

/// Keeps room for the activations of the largest step.
void add_profile(Proposal& proposal, const ReplicaKind& kind) {
  proposal.overrides.push_back(kind.set("kv_sizing", "profiled"));
  if (kind.config->gpu_memory_utilization > most_kv)
    proposal.overrides.push_back(kind.set("gpu_memory_utilization", fmt::format("{}", most_kv)));
}

std::string memory_evidence(const Subject& subject) {
  return fmt::format("HBM peaks at {}, the KV pool at {}; {:.0f} preemptions",
                     percent_text(subject.replica_figure("hbm_peak_fraction")),
                     percent_text(subject.replica_figure("kv_peak_fraction")),
                     subject.replica_figure("preemptions"));
}

/// What pages waste. Blocks of a decode pool are reserved while their KV is on its way: what holds
/// nothing there says nothing about pages.
void add_waste(std::string& evidence, const Subject& subject) {
  for (const ReplicaKind& kind : subject.kinds())
    add_clause(evidence, of_kind(kind, kind.role == PoolRole::decode
                                           ? "blocks are reserved for KV on its way"
                                           : fmt::format("{} of what is allocated holds nothing",
                                                         percent_text(subject.figure_of(
                                                             kind, "kv_waste_fraction")))));
}

}  // namespace

Judgement judge_paged_kv(const Subject& subject) {
  Judgement judged{.verdict = Verdict::obeyed};
  Proposal pages{.name = "pages of 16"};
  for (const ReplicaKind& kind : subject.kinds()) {
    const EngineConfig& config = *kind.config;
    add_clause(
        judged.evidence,
        of_kind(kind, config.kv_layout == KvLayout::contiguous
                          ? fmt::format("{} tokens are reserved per sequence, {} sequences fit",
                                        config.max_model_len, kind.memory->blocks)
                          : fmt::format("blocks of {} tokens, {} tokens fit", config.block_size,
                                        pool_tokens(kind))));
    if (paged_by_the_rule(kind)) continue;
    judged.verdict = Verdict::broken;
    add_pages(pages, kind);
  }
  add_waste(judged.evidence, subject);
  if (judged.verdict == Verdict::broken) judged.proposals.push_back(std::move(pages));
  return judged;
}

Judgement judge_shared_kv_heads(const Subject& subject) {
  const ReplicaKind kind = subject.kinds().front();
  const models::Architecture& model = kind.model();
  const auto tokens = static_cast<double>(pool_tokens(kind));
  if (model.mla || model.kv_heads < model.attention_heads)
    return {.verdict = Verdict::obeyed,
            .evidence = fmt::format(
                "{}: {}; {:.0f} B of KV per token and GPU, {:.0f} tokens fit a replica", model.name,
                model.mla ? "a latent (MLA)"
                          : fmt::format("{} query heads share {} KV heads", model.attention_heads,
                                        model.kv_heads),
                subject.replica_figure("kv_bytes_per_token"), tokens)};
  const models::Parallelism& parallelism = kind.cost->setup().parallelism;
  const models::Architecture shared = with_shared_heads(model);
  const double now =
      models::kv_bytes_per_token(model, parallelism, kind.config->kv_element).value();
  const double then =
      models::kv_bytes_per_token(shared, parallelism, kind.config->kv_element).value();
  Judgement judged{
      .verdict = Verdict::broken,
      .evidence = fmt::format("{}: each of {} query heads has its own KV; {:.0f} B per token and "
                              "GPU, {:.0f} tokens fit a replica; with {} KV heads {:.0f} B, {:.0f}",
                              model.name, model.attention_heads, now, tokens, shared.kv_heads, then,
                              std::floor(tokens * now / then))};
  const auto twin = shared_twin(model, !kind.config->quantization);
  if (twin) {
    judged.note = "another model, whose answers differ: KV heads are a matter of training";
    judged.proposals.push_back(other_model(model, *twin, *kind.config));
  } else {
    judged.note =
        "not an override: KV heads are a matter of training, and no built-in model of this family "
        "and shape shares them";
  }
  return judged;
}

Judgement judge_kv_headroom(const Subject& subject) {
  Judgement judged{.verdict = Verdict::obeyed};
  Proposal less{.name = "KV at most 90 %"};
  Proposal profiled{.name = "room for activations"};
  for (const ReplicaKind& kind : subject.kinds()) {
    const double fraction = headroom(kind).fraction();
    const std::int64_t crashes = memory_crashes(subject, kind);
    add_clause(judged.evidence,
               of_kind(kind, fmt::format("KV may fill {} of the HBM beside weights",
                                         percent_text(fraction))));
    if (crashes > 0) add_clause(judged.evidence, fmt::format("{} crashes out of memory", crashes));
    if (fraction <= most_kv && crashes == 0) continue;
    judged.verdict = Verdict::broken;
    const bool on_demand =
        kind.config->kv_sizing == KvSizing::on_demand && !kind.config->num_gpu_blocks_override;
    if (!on_demand || kind.config->gpu_memory_utilization > most_kv) add_headroom(less, kind);
    if (on_demand) add_profile(profiled, kind);
  }
  add_clause(judged.evidence, memory_evidence(subject));
  for (Proposal* proposal : {&less, &profiled})
    if (!proposal->overrides.empty()) judged.proposals.push_back(std::move(*proposal));
  return judged;
}

}  // namespace tokenline::report
