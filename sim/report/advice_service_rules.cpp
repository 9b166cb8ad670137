#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "sim/report/advice_rules.hpp"

namespace tokenline::report {
namespace {

/// Share of tested draft tokens from which on speculation is worth its passes, as the rule says.
constexpr double least_acceptance = 0.65;

/// Accepted ÷ tested draft tokens of all replicas; empty where none was tested.
std::optional<double> acceptance(const Subject& subject) {
  std::int64_t tested = 0;
  std::int64_t accepted = 0;
  for (const InstanceResult& instance : subject.run.instances) {
    tested += instance.measured.tested_tokens;
    accepted += instance.measured.accepted_tokens;
  }
  return ratio(static_cast<double>(accepted), static_cast<double>(tested));
}

/// What the requests of one entry of `traffic:` are promised and get.
struct Promise {
  std::string entry;  ///< Its name.
  traffic::Slo slo;
  std::int64_t requests = 0;
  bool streams = false;  ///< Some answer has a second token.
};

/// Of the entries that have measured requests, in the order of the scenario.
std::vector<Promise> promises(const Subject& subject) {
  std::vector<Promise> all;
  for (const auto& entry : subject.scenario.resolved.find("traffic")->entries)
    all.push_back({.entry = entry.key, .slo = {}});
  for (const RequestRecord& r : subject.run.log.records) {
    if (!r.measured) continue;
    Promise& promise = all.at(r.source);
    promise.slo = subject.run.classes[r.class_index].slo;
    ++promise.requests;
    promise.streams = promise.streams || r.output_tokens > 1;
  }
  std::erase_if(all, [](const Promise& promise) { return promise.requests == 0; });
  return all;
}

/// Requests with a target of one kind, and those of them that complete within it.
struct Kept {
  std::int64_t targeted = 0;
  std::int64_t kept = 0;

  void add(bool within) {
    ++targeted;
    if (within) ++kept;
  }
  [[nodiscard]] std::string text(std::string_view what) const {
    if (targeted == 0) return fmt::format("no {} target", what);
    const std::int64_t missed = targeted - kept;
    return fmt::format("{} is missed by {} of those with a target", what,
                       percent_text(static_cast<double>(missed) / static_cast<double>(targeted)));
  }
};

std::string missed_targets(const Subject& subject) {
  Kept ttft;
  Kept tpot;
  for (const RequestRecord& r : subject.run.log.records) {
    if (!r.measured) continue;
    const traffic::Slo& slo = subject.run.classes[r.class_index].slo;
    const bool completed = r.outcome == Outcome::completed;
    if (slo.ttft) ttft.add(completed && r.ttft() <= *slo.ttft);
    if (slo.tpot)
      tpot.add(completed &&
               r.e2el() - r.ttft() <= *slo.tpot * std::max<std::int64_t>(0, r.output_tokens - 1));
  }
  return ttft.text("TTFT") + ", " + tpot.text("TPOT");
}

/// "steps with prompts (62.1 % of GPU time): 58.0 % of compute, 21.0 % of bandwidth, compute is the
/// limit"; where neither comes to half of its peak, the nearer one is said to be no more.
std::string limit_text(std::string_view steps, const PhaseTime& phase, Seconds all) {
  if (phase.gpu.value() <= 0.0) return "";
  constexpr double most = 0.5;
  const bool compute = phase.compute > phase.memory;
  const bool limits = std::max(phase.compute, phase.memory) >= most * phase.gpu;
  return fmt::format("{} ({} of GPU time): {} of compute, {} of bandwidth, {} is the {}", steps,
                     percent_text(phase.gpu / all), percent_text(phase.compute / phase.gpu),
                     percent_text(phase.memory / phase.gpu), compute ? "compute" : "bandwidth",
                     limits ? "limit" : "nearer limit");
}

/// What the server scenario of MLPerf Inference asks of Llama-2-70B (loadgen/mlperf.conf): a
/// stand-in where the service has not said what it promises.
constexpr std::string_view stand_in_ttft = "2 s";
constexpr std::string_view stand_in_tpot = "200 ms";

/// Tens of GPUs begin with two nodes of eight.
constexpr std::int64_t tens_of_gpus = 16;

/// Why splitting prefill from decode is no question here; empty when it is one.
std::string no_split(const Subject& subject, const LengthCount& prompts) {
  const Scenario& scenario = subject.scenario;
  if (subject.gpus() < tens_of_gpus)
    return fmt::format("GPUs: {}; the rule is about tens of them ({} and more)", subject.gpus(),
                       tens_of_gpus);
  if (prompts.beyond == 0) return fmt::format("no prompt exceeds {} tokens", long_context);
  if (!scenario.pools.empty())
    return "the pools are of several kinds, and one would have to be cut";
  if (scenario.cluster.replicas < 2)
    return fmt::format("one replica of {} GPUs cannot be split", subject.gpus());
  if (!scenario.cluster.network)
    return "KV would move between replicas, and no cluster.network is named: add --set "
           "cluster.network.node=hgx_h100 --set cluster.network.fabric=infiniband_ndr, or yours";
  return "";
}

/// Of `replicas`, those that a share of the GPU time takes; at least one remains on either side.
std::int64_t prefill_replicas(std::int64_t replicas, double share) {
  const auto wanted =
      static_cast<std::int64_t>(std::llround(share * static_cast<double>(replicas)));
  return std::clamp<std::int64_t>(wanted, 1, replicas - 1);
}

Proposal split(std::string name, std::int64_t replicas, std::int64_t prefill,
               std::int64_t min_prompt_tokens) {
  Proposal proposal{
      .name = std::move(name),
      .overrides = {"cluster.pools.prefill.role=prefill",
                    fmt::format("cluster.pools.prefill.replicas={}", prefill),
                    "cluster.pools.decode.role=decode",
                    fmt::format("cluster.pools.decode.replicas={}", replicas - prefill)}};
  if (min_prompt_tokens > 1)
    proposal.overrides.push_back(
        fmt::format("cluster.disaggregate.min_prompt_tokens={}", min_prompt_tokens));
  return proposal;
}

/// Share of the measured prompt tokens that belong to prompts beyond a limit.
double token_share(const Subject& subject, std::int64_t limit) {
  double all = 0.0;
  double beyond = 0.0;
  for (const RequestRecord& r : subject.run.log.records) {
    if (!r.measured) continue;
    all += static_cast<double>(r.prompt_tokens);
    if (r.prompt_tokens > limit) beyond += static_cast<double>(r.prompt_tokens);
  }
  return all > 0.0 ? beyond / all : 0.0;
}

LengthCount all_prompts(const Subject& subject, std::int64_t limit) {
  LengthCount sum;
  for (const ReplicaKind& kind : subject.kinds()) {
    const LengthCount one = subject.prompts(kind, limit);
    sum.all += one.all;
    sum.beyond += one.beyond;
    sum.longest = std::max(sum.longest, one.longest);
  }
  return sum;
}

}  // namespace

Judgement judge_speculation(const Subject& subject) {
  const auto& speculation = subject.scenario.speculation;
  if (!speculation) return {.verdict = Verdict::not_applicable, .evidence = "nothing is drafted"};
  const std::optional<double> accepted = acceptance(subject);
  const bool enough = !accepted || *accepted >= least_acceptance;
  Judgement judged{.verdict = enough && speculation->breaker ? Verdict::obeyed : Verdict::broken};
  judged.evidence =
      (accepted ? percent_text(*accepted) + " of tested draft tokens are accepted"
                : std::string("no draft was tested")) +
      (speculation->breaker ? fmt::format("; a breaker opens below {}, and opened {:.0f} times",
                                          percent_text(speculation->breaker->below),
                                          subject.replica_figure("breaker_trips"))
                            : std::string("; no breaker"));
  if (!enough)
    judged.proposals.push_back({.name = "no drafts", .overrides = {"speculation.method=none"}});
  else if (!speculation->breaker)
    judged.proposals.push_back(
        {.name = "a breaker",
         .overrides = {fmt::format("speculation.breaker.below={}", least_acceptance)}});
  return judged;
}

Judgement judge_targets(const Subject& subject) {
  Judgement judged{.verdict = Verdict::obeyed};
  Proposal targets{.name = "MLPerf's targets"};
  for (const Promise& promise : promises(subject)) {
    const auto give = [&](std::string_view key, std::string_view value) {
      targets.overrides.push_back(fmt::format("traffic.{}.slo.{}={}", promise.entry, key, value));
    };
    if (!promise.slo.ttft) give("ttft", stand_in_ttft);
    if (!promise.slo.tpot && promise.streams) give("tpot", stand_in_tpot);
  }
  judged.evidence = missed_targets(subject);
  const Seconds all = subject.mixed.gpu + subject.decodes.gpu;
  for (const std::string& clause : {limit_text("steps with prompts", subject.mixed, all),
                                    limit_text("steps of decodes alone", subject.decodes, all)})
    if (!clause.empty()) add_clause(judged.evidence, clause);
  if (targets.overrides.empty()) return judged;
  judged.verdict = Verdict::broken;
  judged.note =
      "put your own; goodput then counts these targets, which change no schedule but that of a "
      "queue, "
      "router or door that reads them";
  judged.proposals.push_back(std::move(targets));
  return judged;
}

Judgement judge_disaggregation(const Subject& subject) {
  const auto prefilling = [](const Pool& pool) { return pool.role == PoolRole::prefill; };
  const LengthCount prompts = all_prompts(subject, long_context);
  if (std::ranges::any_of(subject.scenario.pools, prefilling))
    return {.verdict = Verdict::obeyed,
            .evidence = fmt::format("{} GPUs in pools of prefill and decode; {}", subject.gpus(),
                                    share_text(prompts, "prompts"))};
  if (std::string reason = no_split(subject, prompts); !reason.empty())
    return {.verdict = Verdict::not_applicable, .evidence = std::move(reason)};
  const Seconds gpu = subject.mixed.gpu + subject.decodes.gpu;
  const double share = gpu.value() > 0.0 ? subject.mixed.prompts / gpu : 0.0;
  Judgement judged{.verdict = Verdict::broken,
                   .evidence = fmt::format(
                       "{} GPUs prefill and decode alike; {}; prompts take {} of the GPU time",
                       subject.gpus(), share_text(prompts, "prompts"), percent_text(share))};
  const std::int64_t replicas = subject.scenario.cluster.replicas;
  const std::int64_t every = prefill_replicas(replicas, share);
  const std::int64_t some = prefill_replicas(replicas, share * token_share(subject, long_context));
  judged.proposals.push_back(
      split(fmt::format("{} prefill, {} decode", every, replicas - every), replicas, every, 1));
  judged.proposals.push_back(split(fmt::format("{} + {}, long prompts", some, replicas - some),
                                   replicas, some, long_context + 1));
  return judged;
}

}  // namespace tokenline::report
