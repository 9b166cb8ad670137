#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/report/advice_rules.hpp"

namespace tokenline::report {
namespace {

/// Whether two requests were ever there at a time.
bool overlapping(const Subject& subject) {
  TimePoint free{};
  for (const RequestRecord& r : subject.run.log.records) {
    if (r.arrival < free) return true;
    free = std::max(free, r.finish);
  }
  return false;
}

/// Overrides that give a step at most `budget` tokens, in pieces of prompts; the sequences that
/// decode must fit, with what they verify.
void add_chunks(Proposal& proposal, const Subject& subject, const ReplicaKind& kind,
                std::int64_t budget) {
  if (!kind.config->prompts_whole && kind.config->max_num_batched_tokens == budget) return;
  const auto& speculation = subject.scenario.speculation;
  const std::int64_t per_decode = speculation ? 1 + speculation->tokens : 1;
  if (kind.config->prompts_whole) proposal.overrides.push_back(kind.set("scheduler", "chunked"));
  proposal.overrides.push_back(kind.set("max_num_batched_tokens", fmt::format("{}", budget)));
  if (kind.config->max_num_seqs * per_decode > budget)
    proposal.overrides.push_back(kind.set(
        "max_num_seqs", fmt::format("{}", std::max<std::int64_t>(1, budget / per_decode))));
}

constexpr std::int64_t smallest_chunk = 512;
constexpr std::int64_t largest_chunk = 1024;
/// The rule's two sizes, and the one that vLLM's guide names for short gaps between tokens
/// (docs.vllm.ai, Optimization and Tuning, Chunked Prefill).
constexpr std::array<std::int64_t, 3> chunk_sizes{512, 1024, 2048};

bool chunked_by_the_rule(const EngineConfig& config) {
  return !config.prompts_whole && config.max_num_batched_tokens >= smallest_chunk &&
         config.max_num_batched_tokens <= largest_chunk;
}

/// Replicas where a long prompt stands in the way of decodes.
std::vector<ReplicaKind> mixing_kinds(const Subject& subject) {
  std::vector<ReplicaKind> kinds = subject.kinds();
  std::erase_if(kinds, [&](const ReplicaKind& kind) {
    return kind.role == PoolRole::prefill || subject.prompts(kind, long_prompt).beyond == 0;
  });
  return kinds;
}

}  // namespace

Judgement judge_prefill_attention(const Subject& subject) {
  Judgement judged;
  Proposal usual;
  for (const ReplicaKind& kind : subject.kinds()) {
    if (kind.model().mla || subject.prompts(kind, 0).all == 0) continue;
    const hw::PrefillKernel best = hw::usual_prefill(kind.gpu().generation);
    const hw::PrefillKernel kernel = kind.config->prefill_attention;
    std::string kernels = fmt::format("{} on {}", hw::name(kernel), kind.gpu().name);
    if (kernel < best) kernels += fmt::format(", which runs {}", hw::name(best));
    add_clause(judged.evidence, of_kind(kind, kernels));
    if (judged.verdict != Verdict::broken)
      judged.verdict = kernel < best ? Verdict::broken : Verdict::obeyed;
    if (kernel >= best) continue;
    usual.name = hw::name(best);
    usual.overrides.push_back(kind.set("prefill_attention", std::string(hw::name(best))));
  }
  if (judged.verdict == Verdict::not_applicable)
    judged.evidence = subject.kinds().front().model().mla
                          ? "latent attention has prefill kernels of its own"
                          : "no prompt is measured";
  const Seconds gpu = subject.mixed.gpu + subject.decodes.gpu;
  if (gpu.value() > 0.0)
    add_clause(judged.evidence, fmt::format("prompts take {} of the GPU time",
                                            percent_text(subject.mixed.prompts / gpu)));
  if (judged.verdict == Verdict::broken) judged.proposals.push_back(std::move(usual));
  return judged;
}

Judgement judge_decode_attention(const Subject& subject) {
  Judgement judged;
  Proposal split{.name = "flash_decoding"};
  bool latent = false;
  for (const ReplicaKind& kind : subject.kinds()) {
    const LengthCount contexts = subject.contexts(kind, long_context);
    if (contexts.beyond == 0) continue;
    latent = latent || kind.model().mla.has_value();
    if (kind.model().mla) continue;
    const bool whole = kind.config->decode_attention == hw::DecodeKernel::plain;
    add_clause(judged.evidence,
               of_kind(kind, fmt::format("{}; {}", tokenline::name(kind.config->decode_attention),
                                         share_text(contexts, "contexts"))));
    if (whole) split.overrides.push_back(kind.set("decode_attention", "flash_decoding"));
    if (judged.verdict != Verdict::broken)
      judged.verdict = whole ? Verdict::broken : Verdict::obeyed;
  }
  if (judged.verdict == Verdict::not_applicable)
    judged.evidence = latent ? "the kernels of latent attention split contexts themselves"
                             : fmt::format("no context exceeds {} tokens", long_context);
  if (judged.verdict == Verdict::broken) judged.proposals.push_back(std::move(split));
  return judged;
}

Judgement judge_continuous_batching(const Subject& subject) {
  Judgement judged;
  if (!overlapping(subject)) {
    judged.evidence = "no two requests are ever there at a time: there is nothing to batch";
    return judged;
  }
  judged.verdict = Verdict::obeyed;
  Proposal continuous{.name = "iteration by iteration"};
  for (const ReplicaKind& kind : subject.kinds()) {
    add_clause(judged.evidence, of_kind(kind, fmt::format("scheduler {}", kind.config->scheduler)));
    if (kind.config->scheduler != "static") continue;
    judged.verdict = Verdict::broken;
    continuous.overrides.push_back(kind.set("scheduler", "orca"));
  }
  add_clause(
      judged.evidence,
      fmt::format("{:.1f} sequences run and {:.1f} requests wait on average per replica",
                  subject.replica_figure("mean_running"), subject.replica_figure("mean_waiting")));
  if (judged.verdict == Verdict::broken) {
    judged.note = "a static batch keeps its slots until its longest answer ends";
    judged.proposals.push_back(std::move(continuous));
  }
  return judged;
}

Judgement judge_chunked_prefill(const Subject& subject) {
  Judgement judged;
  const std::vector<ReplicaKind> kinds = mixing_kinds(subject);
  if (kinds.empty()) {
    const auto longer = [&](const RequestRecord& r) {
      return r.measured && r.prompt_tokens > long_prompt;
    };
    judged.evidence =
        std::ranges::any_of(subject.run.log.records, longer)
            ? fmt::format("prompts beyond {} tokens are computed where nothing decodes",
                          long_prompt)
            : fmt::format("no prompt exceeds {} tokens", long_prompt);
    return judged;
  }
  judged.verdict = Verdict::obeyed;
  for (const ReplicaKind& kind : kinds) {
    if (!chunked_by_the_rule(*kind.config)) judged.verdict = Verdict::broken;
    const std::string how =
        kind.config->prompts_whole
            ? fmt::format("{} computes prompts whole", kind.config->scheduler)
            : fmt::format("chunks of up to {} tokens", kind.config->max_num_batched_tokens);
    add_clause(
        judged.evidence,
        of_kind(kind, how + "; " + share_text(subject.prompts(kind, long_prompt), "prompts")));
  }
  const Figure* gap = subject.summary.find_class("all")->figures.find("max_itl_ms");
  add_clause(judged.evidence,
             fmt::format("the longest gap between two tokens is {} ms", figure_text(gap->value)));
  if (judged.verdict != Verdict::broken) return judged;
  for (const std::int64_t size : chunk_sizes) {
    Proposal chunks{.name = fmt::format("chunks of {}", size),
                    .by_the_rule = size <= largest_chunk};
    for (const ReplicaKind& kind : kinds)
      if (!chunked_by_the_rule(*kind.config)) add_chunks(chunks, subject, kind, size);
    if (!chunks.overrides.empty()) judged.proposals.push_back(std::move(chunks));
  }
  return judged;
}

}  // namespace tokenline::report
