#include "sim/report/study_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>

namespace tokenline::report {
namespace {

using config::Document;
using config::Reader;

/// The places of a list of texts, item by item.
std::vector<MetricMention> mentions(const std::vector<std::string>& metrics,
                                    const config::Node* list, const std::string& path) {
  std::vector<MetricMention> all;
  for (std::size_t i = 0; i < metrics.size() && list != nullptr && i < list->items.size(); ++i)
    all.push_back({metrics[i], list->items[i].where, fmt::format("{}[{}]", path, i)});
  return all;
}

class StudyReader {
 public:
  explicit StudyReader(Document& document) : document_(document), root_(document) {}

  StudyText read() {
    StudyPlan& plan = text_.plan;
    plan.name = root_.text({"study", "Name of the study."});
    plan.description = root_.text({"description", "What it compares."}, "");
    const auto base = root_.optional_text(
        {"base", "Scenario of the variants that name none, relative to the study's folder."});
    const std::size_t before = document_.mistakes();
    plan.columns = root_.texts({"columns",
                                "Metrics shown of each variant: <class>.<metric> or "
                                "instances.<metric>."});
    if (plan.columns.empty() && document_.mistakes() == before)
      root_.error("columns", "no metric is given");
    text_.columns = mentions(plan.columns, document_.root().find("columns"), "columns");
    plan.rank_by = metric(root_, {"rank_by", "Metric that orders the variants, best first."});
    plan.then_by = metric(root_, {"then_by", "Metric that orders variants equal in rank_by."});
    if (plan.then_by && !plan.rank_by) root_.error("then_by", "there is no rank_by before it");
    plan.descending = root_.boolean({"descending", "Whether large values rank first."}, false);
    read_variants(base);
    read_claims();
    root_.finish();
    return std::move(text_);
  }

 private:
  /// An optional metric of the ranking.
  std::optional<std::string> metric(Reader& reader, config::Key key) {
    auto name = reader.optional_text(key);
    if (name) text_.ranking.push_back({*name, reader.where(key.name), std::string(key.name)});
    return name;
  }

  void read_variants(const std::optional<std::string>& base) {
    auto items = root_.items({"variants", "The scenarios to compare; the first is the reference."});
    for (std::size_t i = 0; i < items.size(); ++i) {
      VariantText variant = read_variant(items[i], base, i);
      const auto same = std::ranges::find(text_.variants, variant.name, &VariantText::name);
      if (same != text_.variants.end() && !variant.name.empty())
        items[i].error("name", fmt::format("there is another variant '{}' before", variant.name));
      text_.variants.push_back(std::move(variant));
    }
    if (items.empty() && root_.has("variants")) root_.error("variants", "no variant is given");
  }

  VariantText read_variant(Reader& reader, const std::optional<std::string>& base, std::size_t i) {
    VariantText variant;
    variant.name = reader.text({"name", "Name of the variant."});
    variant.note = reader.text({"note", "A remark shown beside it."}, "");
    variant.ranked = reader.boolean({"rank", "Whether it takes part in the ranking."}, true);
    variant.where = reader.where("");
    variant.path = reader.path();
    const auto own =
        reader.optional_text({"base", "Its scenario, where it is not that of the study."});
    const auto set = reader.assignments(
        {"set", "Overrides of the scenario: {engine.scheduler: chunked, …}."}, true);
    const config::Node* variants = document_.root().find("variants");
    for (const auto& [key, value] : set) {
      const config::Location where = variants->items[i].find("set")->find(key)->where;
      variant.overrides.emplace_back(fmt::format("{}={}", key, value), where);
    }
    variant.base = find_base(own ? reader : root_, own ? own : base, reader);
    reader.finish();
    return variant;
  }

  /// The path of a scenario that `named_in` names; mistakes without a name are `variant`'s.
  std::string find_base(const Reader& named_in, const std::optional<std::string>& name,
                        const Reader& variant) {
    if (!name) {
      if (variant.has("base") || root_.has("base")) return {};  // A mistake reported already.
      variant.error("", "no scenario: neither the variant nor the study has a base");
      return {};
    }
    const std::string path = named_in.file_path("base", *name);
    if (std::filesystem::is_regular_file(path)) return path;
    if (std::ranges::find(missing_, path) == missing_.end())
      named_in.error("base", fmt::format("there is no file '{}'", path));
    missing_.push_back(path);
    return {};
  }

  void read_claims() {
    auto items = root_.items({"claims", "Figures to hold against the simulation."}, true);
    const config::Node* claims = document_.root().find("claims");
    for (std::size_t i = 0; i < items.size(); ++i) {
      Reader& reader = items[i];
      Claim claim = read_claim(reader);
      auto& named = text_.claimed.emplace_back();
      if (!claim.metric.empty())
        named.push_back({claim.metric, reader.where("metric"), reader.path() + ".metric"});
      if (claims != nullptr)
        for (auto& mention : mentions(claim.evidence, claims->items[i].find("evidence"),
                                      reader.path() + ".evidence"))
          named.push_back(std::move(mention));
      text_.plan.claims.push_back(std::move(claim));
    }
  }

  Claim read_claim(Reader& reader) {
    Claim claim;
    claim.what = reader.text({"what", "What is claimed, in words."});
    claim.variant = variant_index(reader);
    claim.metric = reader.text({"metric", "The metric it is about."});
    read_figure(reader, claim);
    claim.why = reader.text({"why", "The reason shown when the simulation differs."}, "");
    claim.evidence =
        reader.texts({"evidence", "Further metrics of the variant, shown with the reason."}, true);
    reader.finish();
    return claim;
  }

  std::size_t variant_index(Reader& reader) {
    std::vector<std::string> names;
    for (const VariantText& variant : text_.variants) names.push_back(variant.name);
    const std::string name = reader.text({"variant", "The variant that must show it."});
    const auto found = std::ranges::find(names, name);
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    if (!name.empty())
      reader.error("variant", fmt::format("there is no variant '{}'", name),
                   config::suggestion(name, names));
    return 0;
  }

  void read_figure(Reader& reader, Claim& claim) {
    constexpr config::Range<double> any{-1e18, 1e18};
    int given = 0;
    const auto read = [&](config::Key key, Claim::Kind kind) {
      const auto figure = reader.optional_real(key, any);
      given += reader.has(key.name) ? 1 : 0;
      if (!figure) return;
      claim.figure = *figure;
      claim.kind = kind;
    };
    read({"claimed", "The figure, in the metric's own unit; or at_least, or at_most."},
         Claim::Kind::about);
    read({"at_least", "The metric is claimed to be at least this."}, Claim::Kind::at_least);
    read({"at_most", "The metric is claimed to be at most this."}, Claim::Kind::at_most);
    claim.tolerance =
        reader.real({"tolerance", "Relative difference from `claimed` that still confirms it."},
                    {0.0, 10.0}, 0.1);
    if (given != 1)
      reader.error("", "a claim needs exactly one of claimed, at_least and at_most");
    else if (claim.kind != Claim::Kind::about && reader.has("tolerance"))
      reader.error("tolerance", "only `claimed` has a tolerance");
  }

  Document& document_;
  Reader root_;
  StudyText text_;
  std::vector<std::string> missing_;  ///< Base files reported already.
};

}  // namespace

StudyText read_study(Document& document) { return StudyReader(document).read(); }

}  // namespace tokenline::report
