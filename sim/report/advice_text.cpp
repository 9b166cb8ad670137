#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/report/advice.hpp"
#include "sim/report/console.hpp"
#include "sim/report/text_table.hpp"

namespace tokenline::report {
namespace {

constexpr std::size_t advice_width = 118;
constexpr std::size_t indent = 4;

std::size_t count(const Advice& advice, Verdict verdict) {
  return static_cast<std::size_t>(std::ranges::count_if(
      advice.findings, [&](const Finding& f) { return f.judgement.verdict == verdict; }));
}

/// As a shell takes it.
std::string as_option(const std::string& assignment) {
  const bool plain = assignment.find_first_of(" \"'$&;|<>()*?[]#~") == std::string::npos;
  return plain ? "--set " + assignment : fmt::format("--set \"{}\"", assignment);
}

std::string as_options(const Proposal& proposal) {
  std::string out;
  for (const std::string& assignment : proposal.overrides)
    out += (out.empty() ? "" : " ") + as_option(assignment);
  return out;
}

std::string headings(const std::vector<std::string>& keys) {
  std::string out;
  for (const std::string& key : keys) out += (out.empty() ? "" : ", ") + heading_of(key);
  return out;
}

bool contains(const std::vector<std::string>& keys, std::string_view key) {
  return std::ranges::find(keys, key) != keys.end();
}

/// What following the rule that way is worth here.
std::string worth(const Effect& effect) {
  if (effect.better.empty() && effect.worse.empty()) return "changes nothing here";
  if (effect.worse.empty()) return "helps here: better " + headings(effect.better);
  if (effect.better.empty())
    return "costs here, and brings nothing: worse " + headings(effect.worse);
  return fmt::format("a trade here: better {}; worse {}", headings(effect.better),
                     headings(effect.worse));
}

std::string remedy_text(const Remedy& remedy) {
  std::string name = remedy.proposal.name;
  if (!remedy.proposal.by_the_rule) name += " (beyond the rule)";
  std::string verdict =
      remedy.refusal.empty() ? worth(remedy.effect) : "not possible here: " + remedy.refusal;
  if (contains(remedy.effect.better, "failed") || contains(remedy.effect.worse, "failed"))
    verdict += " (latencies are those of requests that complete)";
  if (remedy.summary && remedy.proposal.by_the_rule && remedy.verdict == Verdict::broken)
    verdict += "; the rule is still broken then";
  // Not wrapped, so that it can be pasted.
  return fmt::format("{:{}}{}: {}\n", "", indent, name, as_options(remedy.proposal)) +
         wrapped(verdict, indent + 2, advice_width);
}

std::string finding_text(const Finding& finding, std::size_t number) {
  const Judgement& judged = finding.judgement;
  std::string out =
      fmt::format("{:>2}  {:<16}{}\n", number, name(judged.verdict), finding.rule->text) +
      wrapped(judged.evidence, indent, advice_width) + wrapped(judged.note, indent, advice_width);
  for (const Remedy& remedy : finding.remedies) out += remedy_text(remedy);
  return out;
}

void add_row(TextTable& table, const std::string& number, const std::string& name,
             const Summary& summary) {
  std::vector<std::string> cells{number, name};
  for (const std::string_view key : headline_metrics()) {
    const Figure* figure = summary.find_class("all")->figures.find(key);
    cells.push_back(figure_text(figure->value, figure->whole));
  }
  table.row(std::move(cells));
}

/// Every run beside the scenario as it is; nothing when no rule brought one.
std::string figures_table(const Advice& advice) {
  TextTable table(2);
  std::vector<std::string> head{"", ""};
  std::vector<std::string> units{"#", "all requests, same seed"};
  for (const std::string_view key : headline_metrics()) {
    head.push_back(heading_of(key));
    units.emplace_back(key.ends_with("_fraction") ? "fraction" : unit_of(key));
  }
  table.row(std::move(head));
  table.row(std::move(units));
  add_row(table, "", "as it is", advice.base);
  bool any = false;
  for (std::size_t i = 0; i < advice.findings.size(); ++i)
    for (const Remedy& remedy : advice.findings[i].remedies) {
      if (!remedy.summary) continue;
      add_row(table, fmt::format("{}", i + 1), remedy.proposal.name, *remedy.summary);
      any = true;
    }
  return any ? '\n' + table.text() : "";
}

std::string audits(const Advice& advice) {
  if (advice.audits_passed()) return "";
  std::string out = advice.base.audit.passed ? "" : audit_verdict(advice.base.audit);
  for (const Finding& finding : advice.findings)
    for (const Remedy& remedy : finding.remedies)
      if (remedy.summary && !remedy.summary->audit.passed)
        out += fmt::format("{}: {}", remedy.proposal.name, audit_verdict(remedy.summary->audit));
  return '\n' + out;
}

}  // namespace

std::string advice_text(const Advice& advice) {
  std::string out =
      fmt::format("Ten rules held against {} (seed {}): {} obeyed, {} broken, {} not applicable\n",
                  advice.base.scenario, advice.base.seed, count(advice, Verdict::obeyed),
                  count(advice, Verdict::broken), count(advice, Verdict::not_applicable));
  for (std::size_t i = 0; i < advice.findings.size(); ++i)
    out += finding_text(advice.findings[i], i + 1);
  return out + figures_table(advice) + audits(advice);
}

}  // namespace tokenline::report
