#include "sim/report/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "sim/base/check.hpp"
#include "sim/report/console.hpp"
#include "sim/report/metric.hpp"
#include "sim/report/parallel.hpp"
#include "sim/report/run_directory.hpp"

namespace tokenline::report {
namespace {

constexpr std::string_view comparison_marker = "compare.json";

/// A folder per variant below `out`, claimed before anything runs.
std::vector<std::string> claim_directories(const std::string& out, const Study& study) {
  claim_directory(out, comparison_marker);
  std::vector<std::string> names;
  std::set<std::string> inputs;
  for (const Variant& variant : study.variants) {
    std::string name = slug(variant.name);
    const auto taken = [&] {
      return name == comparison_marker || std::ranges::find(names, name) != names.end();
    };
    for (int n = 2; taken(); ++n) name = fmt::format("{}-{}", slug(variant.name), n);
    names.push_back(name);
    inputs.merge(input_files(variant.scenario));
  }
  refuse_inputs(out, inputs);
  for (std::string& name : names) {
    name = (std::filesystem::path(out) / name).string();
    claim_directory(name, run_marker);
    refuse_inputs(name, inputs);
  }
  return names;
}

VariantResult run_variant(Variant& variant, const std::string* directory,
                          const ComparisonOptions& options) {
  const RunResult result =
      run(variant.scenario, probes(variant.scenario.observed), nullptr, options.stop);
  VariantResult finished{.name = variant.name,
                         .note = variant.note,
                         .ranked = variant.ranked,
                         .summary = summarize(variant.scenario, result)};
  finished.summary.asserts = check(variant.conditions, finished.summary);
  if (options.report) {
    finished.curves = latency_curves(result);
    finished.ledgers = ledger_bands(result);
  }
  if (directory != nullptr) write_run(*directory, variant.scenario, result, finished.summary);
  return finished;
}

BaseFidelity replay(ObservedBase& base, const std::stop_token& stop) {
  const RunResult result = run(base.scenario, probes(base.scenario.observed), nullptr, stop);
  const Summary summary = summarize(base.scenario, result);
  TOKENLINE_CHECK(summary.audit.passed, "{}:\n{}", base.file, audit_verdict(summary.audit));
  return {base.file, summary.fidelity.value()};
}

/// Runs the variants and holds the claims against them.
void run_variants(Study& study, const ComparisonOptions& options,
                  const std::vector<std::string>& directories, Comparison& comparison) {
  comparison.variants.resize(study.variants.size());
  for_each_index(study.variants.size(), options.threads, [&](std::size_t i) {
    comparison.variants[i] =
        run_variant(study.variants[i], directories.empty() ? nullptr : &directories[i], options);
  });
  for (const Claim& claim : study.plan.claims)
    comparison.claims.push_back(judge(claim, comparison.variants[claim.variant]));
  comparison.ranking = rank(study.plan, comparison.variants);
  for (std::size_t i = 0; i < comparison.variants.size(); ++i)
    if (!comparison.variants[i].ranked) comparison.unranked.push_back(i);
}

bool confirms(const Claim& claim, double simulated) {
  switch (claim.kind) {
    case Claim::Kind::about:
      return std::abs(simulated - claim.figure) <= claim.tolerance * std::abs(claim.figure);
    case Claim::Kind::at_least:
      return simulated >= claim.figure;
    case Claim::Kind::at_most:
      return simulated <= claim.figure;
  }
  return false;
}

std::vector<double> after_first_token(const ClassSummary& c) {
  std::vector<double> parts = c.e2el.mean_ms;
  for (std::size_t i = 0; i < std::min(parts.size(), c.ttft.mean_ms.size()); ++i)
    parts[i] -= c.ttft.mean_ms[i];
  return parts;
}

/// Whether `a` ranks before `b` by one metric; values that are missing rank last.
bool before(std::optional<double> a, std::optional<double> b, bool descending) {
  if (!a || !b) return a.has_value() && !b.has_value();
  return descending ? *a > *b : *a < *b;
}

}  // namespace

Figure VariantResult::figure(const std::string& path) const {
  if (!has_scope(summary, path))
    return {.key = std::string(key_of(path)), .value = {}, .whole = false};
  return metric(summary, path);
}

bool Comparison::faithful() const {
  return std::ranges::all_of(observed, [](const auto& base) { return base.fidelity.passed(); });
}

bool Comparison::audits_passed() const {
  return std::ranges::all_of(variants, [](const auto& v) { return v.summary.audit.passed; });
}

bool Comparison::asserts_passed() const {
  return std::ranges::all_of(variants, [](const auto& v) { return v.summary.asserts_passed(); });
}

std::optional<double> Comparison::factor(std::size_t variant) const {
  if (!plan.rank_by) return std::nullopt;
  const auto reference = variants.front().figure(*plan.rank_by).value;
  const auto value = variants[variant].figure(*plan.rank_by).value;
  if (!reference || !value) return std::nullopt;
  return ratio(*value, *reference);
}

std::vector<Share> ledger_of(const Summary& summary, const std::string& metric) {
  const ClassSummary* c = summary.find_class(scope_of(metric));
  if (c == nullptr) return {};
  const std::string_view key = key_of(metric);
  const bool p99 = key.starts_with("p99_");
  if (key.ends_with("_ttft_ms")) return largest_parts(p99 ? c->ttft.p99_ms : c->ttft.mean_ms);
  if (key.ends_with("_e2el_ms")) return largest_parts(p99 ? c->e2el.p99_ms : c->e2el.mean_ms);
  if (key.ends_with("_tpot_ms") || key.ends_with("_itl_ms"))
    return largest_parts(after_first_token(*c));
  return {};
}

ClaimResult judge(const Claim& claim, const VariantResult& variant) {
  ClaimResult result;
  result.simulated = variant.figure(claim.metric).value;
  if (result.simulated) {
    result.ratio = ratio(*result.simulated, claim.figure);
    result.confirmed = confirms(claim, *result.simulated);
  }
  for (const std::string& metric : claim.evidence)
    result.evidence.emplace_back(metric, variant.figure(metric));
  result.ledger = ledger_of(variant.summary, claim.metric);
  return result;
}

std::vector<std::size_t> rank(const StudyPlan& plan, const std::vector<VariantResult>& variants) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < variants.size(); ++i)
    if (variants[i].ranked) order.push_back(i);
  for (const auto& metric : {plan.then_by, plan.rank_by})
    if (metric)
      std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
        return before(variants[a].figure(*metric).value, variants[b].figure(*metric).value,
                      plan.descending);
      });
  return order;
}

Comparison compare(Study& study, const ComparisonOptions& options) {
  std::vector<std::string> directories;
  if (options.out) directories = claim_directories(*options.out, study);
  Comparison comparison;
  comparison.plan = study.plan;
  comparison.observed.resize(study.observed.size());
  for_each_index(study.observed.size(), options.threads, [&](std::size_t i) {
    comparison.observed[i] = replay(study.observed[i], options.stop);
  });
  comparison.refused = !options.ignore_fidelity && !comparison.faithful();
  if (!comparison.refused) run_variants(study, options, directories, comparison);
  if (!comparison.refused && options.replications)
    comparison.replicated = replicate(options.reload, *options.replications);
  if (options.out) {
    write_file((std::filesystem::path(*options.out) / comparison_marker).string(),
               comparison_json(comparison));
    remove_stale_report(*options.out);
  }
  return comparison;
}

std::string slug(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '.' || c == '_';
    if (kept && (c != '.' || !out.empty()))
      out += c;
    else if (!out.empty() && out.back() != '-')
      out += '-';
  }
  while (out.ends_with('-')) out.pop_back();
  return out.empty() ? "variant" : out;
}

}  // namespace tokenline::report
