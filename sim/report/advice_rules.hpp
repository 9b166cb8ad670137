#pragma once

#include "sim/report/advice.hpp"
#include "sim/report/advice_subject.hpp"

/// The rules of production_rules(), one function each. A judgement depends on the subject alone.
namespace tokenline::report {

// advice_engine_rules.cpp: kernels and batching.
[[nodiscard]] Judgement judge_prefill_attention(const Subject& subject);
[[nodiscard]] Judgement judge_decode_attention(const Subject& subject);
[[nodiscard]] Judgement judge_continuous_batching(const Subject& subject);
[[nodiscard]] Judgement judge_chunked_prefill(const Subject& subject);

// advice_memory_rules.cpp: what KV takes.
[[nodiscard]] Judgement judge_paged_kv(const Subject& subject);
[[nodiscard]] Judgement judge_shared_kv_heads(const Subject& subject);
[[nodiscard]] Judgement judge_kv_headroom(const Subject& subject);

// advice_service_rules.cpp: drafts, targets, pools.
[[nodiscard]] Judgement judge_speculation(const Subject& subject);
[[nodiscard]] Judgement judge_targets(const Subject& subject);
[[nodiscard]] Judgement judge_disaggregation(const Subject& subject);

/// Lengths from which on rules apply, as they are stated: 4K and 8K tokens.
inline constexpr std::int64_t long_prompt = 4096;
inline constexpr std::int64_t long_context = 8192;

/// "4.9 %".
[[nodiscard]] std::string percent_text(double fraction);
/// "4.9 % of prompts are longer (longest 16384)".
[[nodiscard]] std::string share_text(const LengthCount& count, std::string_view what);
/// What is said of replicas, behind the name of their pool where there are pools.
[[nodiscard]] std::string of_kind(const ReplicaKind& kind, const std::string& what);
/// Appends to a list in words: "a; b".
void add_clause(std::string& text, const std::string& clause);

}  // namespace tokenline::report
