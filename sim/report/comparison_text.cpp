#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include "sim/report/comparison.hpp"
#include "sim/report/console.hpp"
#include "sim/report/metric.hpp"
#include "sim/report/text_table.hpp"

namespace tokenline::report {
namespace {

constexpr std::size_t page_width = 100;

std::string unit_line(std::string_view key) {
  return std::string(key.ends_with("_fraction") ? "fraction" : unit_of(key));
}

std::string with_unit(const std::string& text, std::string_view key) {
  const std::string_view unit = unit_of(key);
  return unit.empty() || text == "-" ? text : fmt::format("{} {}", text, unit);
}

std::string claimed(const Claim& claim) {
  const bool whole = std::floor(claim.figure) == claim.figure;
  const std::string figure = figure_text(claim.figure, whole);
  switch (claim.kind) {
    case Claim::Kind::about:
      return with_unit(figure, key_of(claim.metric));
    case Claim::Kind::at_least:
      return ">= " + with_unit(figure, key_of(claim.metric));
    case Claim::Kind::at_most:
      return "<= " + with_unit(figure, key_of(claim.metric));
  }
  return figure;
}

std::string simulated(const Comparison& comparison, std::size_t claim) {
  const Claim& stated = comparison.plan.claims[claim];
  const Figure figure = comparison.variants[stated.variant].figure(stated.metric);
  return with_unit(figure_text(figure.value, figure.whole), key_of(stated.metric));
}

std::string claims_table(const Comparison& comparison) {
  TextTable table(3);
  table.row({"claim", "variant", "metric", "claimed", "simulated", "ratio", "verdict"});
  for (std::size_t i = 0; i < comparison.claims.size(); ++i) {
    const Claim& claim = comparison.plan.claims[i];
    table.row({claim.what, comparison.variants[claim.variant].name, claim.metric, claimed(claim),
               simulated(comparison, i), figure_text(comparison.claims[i].ratio),
               comparison.claims[i].confirmed ? "confirmed" : "differs"});
  }
  return table.text();
}

/// Why a claim differs: the author's reason, further figures, and where a latency went.
std::string reason(const Comparison& comparison, std::size_t claim) {
  constexpr std::size_t most_parts = 3;
  const Claim& stated = comparison.plan.claims[claim];
  const ClaimResult& result = comparison.claims[claim];
  std::string out = fmt::format("differs: {} (claimed {}, simulated {})\n", stated.what,
                                claimed(stated), simulated(comparison, claim));
  out += wrapped(stated.why, 2, page_width);
  std::string evidence;
  for (const auto& [metric, figure] : result.evidence)
    evidence += fmt::format("{}{} = {}", evidence.empty() ? "simulated: " : ", ", metric,
                            with_unit(figure_text(figure.value, figure.whole), key_of(metric)));
  out += wrapped(evidence, 2, page_width);
  std::string parts;
  for (std::size_t i = 0; i < std::min(most_parts, result.ledger.size()); ++i)
    parts += fmt::format("{}{} {:.0f} %", parts.empty() ? "ledger: " : ", ",
                         name(result.ledger[i].part), 100.0 * result.ledger[i].fraction);
  return out + wrapped(parts, 2, page_width);
}

/// A table of variants, with rank numbers when they are in an order.
std::string variants_table(const Comparison& comparison, const std::vector<std::size_t>& order,
                           bool numbered) {
  const StudyPlan& plan = comparison.plan;
  TextTable table(2);
  std::array<std::vector<std::string>, 3> head{
      {{"", ""}, {"", ""}, {numbered ? "#" : "", "variant"}}};
  for (const std::string& column : plan.columns) {
    head[0].emplace_back(scope_of(column));
    head[1].push_back(heading_of(key_of(column)));
    head[2].push_back(unit_line(key_of(column)));
  }
  if (plan.rank_by) {
    head[0].emplace_back(scope_of(*plan.rank_by));
    head[1].push_back(heading_of(key_of(*plan.rank_by)));
    head[2].emplace_back("x first");
  }
  for (auto& line : head) table.row(std::move(line));
  for (std::size_t i = 0; i < order.size(); ++i) {
    const VariantResult& variant = comparison.variants[order[i]];
    std::vector<std::string> cells{numbered ? fmt::format("{}", i + 1) : "", variant.name};
    for (const std::string& column : plan.columns) {
      const Figure figure = variant.figure(column);
      cells.push_back(figure_text(figure.value, figure.whole));
    }
    if (plan.rank_by) cells.push_back(figure_text(comparison.factor(order[i])));
    table.row(std::move(cells));
  }
  return table.text();
}

std::string notes(const Comparison& comparison) {
  std::string out;
  for (const VariantResult& variant : comparison.variants)
    if (!variant.note.empty())
      out += wrapped(fmt::format("{}: {}", variant.name, variant.note), 2, page_width);
  return out.empty() ? out : "\nNotes\n" + out;
}

std::string verdicts(const Comparison& comparison) {
  std::string out;
  std::size_t failed = 0;
  for (const VariantResult& variant : comparison.variants)
    if (!variant.summary.audit.passed) {
      ++failed;
      out += fmt::format("{}: {}", variant.name, audit_verdict(variant.summary.audit));
    }
  out += failed == 0
             ? fmt::format("audits: passed in all {} runs\n", comparison.variants.size())
             : fmt::format("audits: FAILED in {} of {} runs\n", failed, comparison.variants.size());
  for (const VariantResult& variant : comparison.variants) {
    std::istringstream lines(failed_asserts(variant.summary));
    for (std::string line; std::getline(lines, line);)
      out += fmt::format("{}: {}\n", variant.name, line);
  }
  return out;
}

/// How near the replays of the bases are; a miss that is to be ignored is not to be overlooked.
std::string replays(const Comparison& comparison) {
  std::string out;
  for (const BaseFidelity& base : comparison.observed)
    out += fmt::format("\n{}\n", base.file) + fidelity_text(base.fidelity);
  if (comparison.faithful()) return out;
  return out +
         (comparison.refused
              ? "\nREFUSED: the replay misses what was observed, so that what it says of variants "
                "is\nworth nothing. Find what the scenario lacks, or see it all the same with "
                "--ignore-fidelity.\n"
              : "\nWARNING: the replay MISSES what was observed, and --ignore-fidelity says to go "
                "on:\ndo not act on what follows.\n");
}

}  // namespace

std::string comparison_text(const Comparison& comparison) {
  const StudyPlan& plan = comparison.plan;
  std::string out = fmt::format("Study {}\n", plan.name) + wrapped(plan.description, 2, page_width);
  out += replays(comparison);
  if (comparison.refused) return out;
  if (!plan.claims.empty()) out += "\nClaimed and simulated\n" + claims_table(comparison);
  for (std::size_t i = 0; i < comparison.claims.size(); ++i)
    if (!comparison.claims[i].confirmed) out += '\n' + reason(comparison, i);
  if (!comparison.ranking.empty()) {
    out += plan.rank_by ? fmt::format("\nRanked by {}{}, {} first\n", *plan.rank_by,
                                      plan.then_by ? ", then " + *plan.then_by : "",
                                      plan.descending ? "largest" : "smallest")
                        : "\nVariants\n";
    out += variants_table(comparison, comparison.ranking, plan.rank_by.has_value());
  }
  if (!comparison.unranked.empty())
    out += "\nNot ranked\n" + variants_table(comparison, comparison.unranked, false);
  if (comparison.replicated) out += replications_text(*comparison.replicated);
  return out + notes(comparison) + '\n' + verdicts(comparison);
}

}  // namespace tokenline::report
