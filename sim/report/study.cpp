#include "sim/report/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "sim/report/metric.hpp"
#include "sim/report/parallel.hpp"
#include "sim/report/study_reader.hpp"

namespace tokenline::report {
namespace {

using config::Diagnostic;

/// A variant with its scenario, or the mistakes that keep it from being built.
struct Loaded {
  std::optional<Variant> variant;
  std::vector<Diagnostic> mistakes;
};

/// A mistake found while `text` was loaded, at its line in the study if an override made it.
Diagnostic relocated(Diagnostic mistake, const VariantText& text) {
  for (const auto& [assignment, where] : text.overrides)
    if (mistake.where.file == "--set " + assignment) mistake.where = where;
  return mistake;
}

Loaded load(const VariantText& text, std::uint64_t seed_shift) {
  Loaded loaded;
  if (text.base.empty()) return loaded;
  ScenarioOptions options;
  options.seed_shift = seed_shift;
  for (const auto& [assignment, where] : text.overrides) options.overrides.push_back(assignment);
  try {
    Variant variant{.name = text.name,
                    .note = text.note,
                    .ranked = text.ranked,
                    .scenario = load_scenario(text.base, options),
                    .conditions = {}};
    variant.conditions = read_conditions(variant.scenario);
    loaded.variant = std::move(variant);
  } catch (const config::ConfigError& error) {
    for (const Diagnostic& mistake : error.diagnostics())
      loaded.mistakes.push_back(relocated(mistake, text));
  }
  return loaded;
}

/// Adds what is wrong with the variants to the document: a mistake that several share, such as one
/// of their common base, once, with the name of the first.
void report_mistakes(config::Document& document, const std::vector<Loaded>& all,
                     const std::vector<VariantText>& texts) {
  std::set<std::tuple<std::string, int, int, std::string, std::string>> seen;
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const Diagnostic& d : all[i].mistakes)
      if (seen.emplace(d.where.file, d.where.line, d.where.column, d.path, d.message).second)
        document.error(d.where, d.path, fmt::format("{} (variant '{}')", d.message, texts[i].name),
                       d.hint);
}

/// Whether metrics exist, once the classes of the scenarios are known.
class MetricChecks {
 public:
  MetricChecks(config::Document& document, const std::vector<Loaded>& loaded)
      : document_(document), loaded_(loaded) {}

  /// In the i-th variant; one that was not loaded is not judged. False after a mistake.
  bool in_variant(const MetricMention& mention, std::size_t i) {
    if (i >= loaded_.size() || !loaded_[i].variant) return true;
    const Variant& variant = *loaded_[i].variant;
    const auto mistake =
        metric_mistake(mention.metric, class_names(variant.scenario), pool_names(variant.scenario));
    if (!mistake) return true;
    document_.error(mention.where, mention.path,
                    fmt::format("{} (variant '{}')", mistake->message, variant.name),
                    mistake->hint);
    return false;
  }

  void in_every_ranked_variant(const MetricMention& mention) {
    for (std::size_t i = 0; i < loaded_.size(); ++i)
      if (loaded_[i].variant && loaded_[i].variant->ranked && !in_variant(mention, i)) return;
  }

  /// A column may be empty for some variants, whose traffic has no such class, but not for all.
  void in_some_variant(const MetricMention& mention) {
    std::optional<MetricMistake> first;
    for (const Loaded& loaded : loaded_) {
      if (!loaded.variant) return;
      auto mistake = metric_mistake(mention.metric, class_names(loaded.variant->scenario),
                                    pool_names(loaded.variant->scenario));
      if (!mistake) return;
      if (!first) first = std::move(mistake);
    }
    if (first) document_.error(mention.where, mention.path, first->message, first->hint);
  }

 private:
  config::Document& document_;
  const std::vector<Loaded>& loaded_;
};

void add_observed(Study& study, const std::string& base) {
  if (std::ranges::find(study.observed, base, &ObservedBase::file) == study.observed.end())
    study.observed.push_back({base, load_scenario(base)});
}

/// A scenario is met with what reads it, and not with every key of it.
void refuse_scenario(const config::Node& root) {
  const config::Node* scenario = root.find("scenario");
  if (scenario == nullptr || root.find("study") != nullptr) return;
  throw config::ConfigError(
      {.where = scenario->where,
       .path = "scenario",
       .message = "this is a scenario, where a study is expected",
       .hint = "`tokenline run` simulates a scenario; a study names it as its `base`"});
}

Study build(config::Node root, std::uint64_t seed_shift) {
  refuse_scenario(root);
  config::Document document(std::move(root));
  StudyText text = read_study(document);
  std::vector<Loaded> loaded(text.variants.size());
  for_each_index(loaded.size(), hardware_threads(),
                 [&](std::size_t i) { loaded[i] = load(text.variants[i], seed_shift); });
  report_mistakes(document, loaded, text.variants);
  MetricChecks checks(document, loaded);
  for (const MetricMention& mention : text.columns) checks.in_some_variant(mention);
  for (const MetricMention& mention : text.ranking) checks.in_every_ranked_variant(mention);
  for (std::size_t i = 0; i < text.claimed.size(); ++i)
    for (const MetricMention& mention : text.claimed[i])
      checks.in_variant(mention, text.plan.claims[i].variant);
  document.throw_if_errors();

  Study study{.plan = std::move(text.plan), .variants = {}, .observed = {}};
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    Variant& variant = study.variants.emplace_back(*std::move(loaded[i].variant));
    if (variant.scenario.observed) add_observed(study, text.variants[i].base);
    // A what-if was not observed.
    if (!text.variants[i].overrides.empty()) variant.scenario.observed.reset();
  }
  return study;
}

}  // namespace

Study load_study(const std::string& path, std::uint64_t seed_shift) {
  return build(config::load_yaml(path), seed_shift);
}

Study parse_study(const std::string& file, std::string_view text, std::uint64_t seed_shift) {
  return build(config::parse_yaml(file, text), seed_shift);
}

std::vector<config::KeyInfo> study_keys() {
  config::Node empty;
  empty.kind = config::Node::Kind::mapping;
  config::Document document(std::move(empty), config::Document::Purpose::describe);
  const StudyText nothing = read_study(document);
  return {document.keys().begin(), document.keys().end()};
}

}  // namespace tokenline::report
