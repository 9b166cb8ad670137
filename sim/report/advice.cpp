#include "sim/report/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include "sim/config/diagnostic.hpp"
#include "sim/report/advice_rules.hpp"
#include "sim/report/parallel.hpp"

namespace tokenline::report {
namespace {

constexpr std::array<Rule, 10> rules{
    {{"prefill_attention", "prefill runs FlashAttention-2, on Hopper FlashAttention-3",
      judge_prefill_attention},
     {"decode_attention", "contexts beyond 8K are decoded by FlashDecoding",
      judge_decode_attention},
     {"paged_kv", "KV lies in pages of 16 or 32 tokens", judge_paged_kv},
     {"continuous_batching", "batches are continuous", judge_continuous_batching},
     {"chunked_prefill", "prompts beyond 4K are computed in chunks of 512 or 1024",
      judge_chunked_prefill},
     {"shared_kv_heads", "the model shares KV heads (GQA, MQA) or caches latents (MLA)",
      judge_shared_kv_heads},
     {"speculation", "drafts only where 65 % are accepted, and with a breaker", judge_speculation},
     {"kv_headroom", "KV fills at most 90 % of the HBM that weights leave", judge_kv_headroom},
     {"targets", "TTFT and TPOT are both watched, and what limits each is known", judge_targets},
     {"disaggregation", "tens of GPUs with prompts beyond 8K: prefill and decode apart",
      judge_disaggregation}}};

struct Headline {
  std::string_view key;
  bool higher_is_better = false;
};

constexpr std::string_view goodput = "goodput_fraction";
constexpr std::array<Headline, 7> headlines{{{"mean_ttft_ms"},
                                             {"p99_ttft_ms"},
                                             {"mean_tpot_ms"},
                                             {"p99_itl_ms"},
                                             {"output_throughput", true},
                                             {goodput, true},
                                             {"failed"}}};
constexpr auto headline_keys = [] {
  std::array<std::string_view, headlines.size()> keys;
  std::ranges::transform(headlines, keys.begin(), &Headline::key);
  return keys;
}();

/// Loads the scenario with further overrides.
using Loader = std::function<Scenario(const std::vector<std::string>& overrides)>;

/// Whether requests are promised the same, so that goodput compares.
bool same_targets(const RunResult& a, const RunResult& b) {
  return std::ranges::equal(a.classes, b.classes, [](const auto& x, const auto& y) {
    return x.slo.ttft == y.slo.ttft && x.slo.tpot == y.slo.tpot && x.slo.e2el == y.slo.e2el;
  });
}

Remedy try_out(const Rule& rule, const Proposal& proposal, const Subject& base,
               const Loader& load) {
  Remedy remedy{.proposal = proposal, .refusal = {}, .summary = {}, .effect = {}};
  try {
    const Subject subject = simulate(load(proposal.overrides), false);
    remedy.verdict = rule.judge(subject).verdict;
    remedy.effect = effect(base.summary, subject.summary);
    if (!same_targets(base.run, subject.run)) {
      std::erase(remedy.effect.better, goodput);
      std::erase(remedy.effect.worse, goodput);
    }
    remedy.summary = subject.summary;
  } catch (const config::ConfigError& error) {
    remedy.refusal = error.diagnostics().front().message;
  }
  return remedy;
}

Advice advise_with(const Loader& load, std::size_t threads) {
  const Subject subject = simulate(load({}), true);
  Advice advice{.base = subject.summary, .findings = {}};
  std::vector<std::pair<std::size_t, std::size_t>> trials;  // of a finding and its proposal
  for (const Rule& rule : rules) {
    Finding finding{.rule = &rule, .judgement = rule.judge(subject), .remedies = {}};
    finding.remedies.resize(finding.judgement.proposals.size());
    for (std::size_t i = 0; i < finding.remedies.size(); ++i)
      trials.emplace_back(advice.findings.size(), i);
    advice.findings.push_back(std::move(finding));
  }
  for_each_index(trials.size(), threads, [&](std::size_t i) {
    Finding& finding = advice.findings[trials[i].first];
    const std::size_t place = trials[i].second;
    finding.remedies[place] =
        try_out(*finding.rule, finding.judgement.proposals[place], subject, load);
  });
  return advice;
}

ScenarioOptions with(ScenarioOptions options, const std::vector<std::string>& overrides) {
  options.overrides.insert(options.overrides.end(), overrides.begin(), overrides.end());
  return options;
}

}  // namespace

std::string_view name(Verdict verdict) {
  constexpr std::array<std::string_view, 3> names{"obeyed", "broken", "not applicable"};
  return names.at(static_cast<std::size_t>(verdict));
}

std::span<const Rule> production_rules() { return rules; }

std::span<const std::string_view> headline_metrics() { return headline_keys; }

Effect effect(const Summary& before, const Summary& after) {
  // Quantiles of ITL are within 0.4 %, everything else is exact.
  constexpr double noticed = 0.01;
  Effect changes;
  for (const Headline& headline : headlines) {
    const Figure* was = before.find_class("all")->figures.find(headline.key);
    const Figure* is = after.find_class("all")->figures.find(headline.key);
    if (!was->value || !is->value) continue;
    const double gain = (headline.higher_is_better ? 1.0 : -1.0) * (*is->value - *was->value);
    if (std::abs(gain) <= noticed * std::abs(*was->value)) continue;
    (gain > 0.0 ? changes.better : changes.worse).emplace_back(headline.key);
  }
  return changes;
}

bool Advice::audits_passed() const {
  if (!base.audit.passed) return false;
  for (const Finding& finding : findings)
    for (const Remedy& remedy : finding.remedies)
      if (remedy.summary && !remedy.summary->audit.passed) return false;
  return true;
}

Advice advise(const std::string& path, const ScenarioOptions& options, std::size_t threads) {
  return advise_with([&](const auto& more) { return load_scenario(path, with(options, more)); },
                     threads);
}

Advice advise_text(const std::string& file, const std::string& text, const ScenarioOptions& options,
                   std::size_t threads) {
  return advise_with(
      [&](const auto& more) { return parse_scenario(file, text, with(options, more)); }, threads);
}

std::string percent_text(double fraction) { return fmt::format("{:.1f} %", 100.0 * fraction); }

std::string share_text(const LengthCount& count, std::string_view what) {
  return fmt::format("{} of {} are longer (longest {})",
                     percent_text(count.all == 0 ? 0.0
                                                 : static_cast<double>(count.beyond) /
                                                       static_cast<double>(count.all)),
                     what, count.longest);
}

std::string of_kind(const ReplicaKind& kind, const std::string& what) {
  return kind.engine == "engine" ? what : fmt::format("{}: {}", kind.pool, what);
}

void add_clause(std::string& text, const std::string& clause) {
  text += (text.empty() ? "" : "; ") + clause;
}

}  // namespace tokenline::report
