#include <nlohmann/json.hpp>

#include "sim/report/comparison.hpp"
#include "sim/report/version.hpp"

namespace tokenline::report {
namespace {

using Json = nlohmann::ordered_json;

Json optional(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json figure(const Figure& figure) {
  if (!figure.whole || !figure.value) return optional(figure.value);
  return static_cast<std::int64_t>(*figure.value);
}

Json ledger(const std::vector<Share>& shares) {
  Json list = Json::array();
  for (const Share& share : shares)
    list.push_back(
        {{"part", name(share.part)}, {"ms", share.amount_ms}, {"fraction", share.fraction}});
  return list;
}

Json claim(const Claim& stated, const ClaimResult& result, const VariantResult& variant) {
  Json object{{"what", stated.what}, {"variant", variant.name}, {"metric", stated.metric}};
  switch (stated.kind) {
    case Claim::Kind::about:
      object["claimed"] = stated.figure;
      object["tolerance"] = stated.tolerance;
      break;
    case Claim::Kind::at_least:
      object["at_least"] = stated.figure;
      break;
    case Claim::Kind::at_most:
      object["at_most"] = stated.figure;
      break;
  }
  object["simulated"] = optional(result.simulated);
  object["ratio"] = optional(result.ratio);
  object["verdict"] = result.confirmed ? "confirmed" : "differs";
  object["why"] = stated.why;
  object["evidence"] = Json::object();
  for (const auto& [metric, value] : result.evidence) object["evidence"][metric] = figure(value);
  object["ledger"] = ledger(result.ledger);
  return object;
}

Json row(const Comparison& comparison, std::size_t index) {
  const VariantResult& variant = comparison.variants[index];
  Json object{{"variant", variant.name}, {"note", variant.note}, {"columns", Json::object()}};
  for (const std::string& column : comparison.plan.columns)
    object["columns"][column] = figure(variant.figure(column));
  object["factor"] = optional(comparison.factor(index));
  return object;
}

}  // namespace

std::string comparison_json(const Comparison& comparison) {
  const StudyPlan& plan = comparison.plan;
  Json root{{"tokenline", version()}, {"study", plan.name}, {"description", plan.description}};
  if (!comparison.observed.empty()) {
    root["observed"] = Json::array();
    for (const BaseFidelity& base : comparison.observed)
      root["observed"].push_back(
          {{"base", base.file}, {"fidelity", Json::parse(fidelity_json(base.fidelity))}});
    root["refused"] = comparison.refused;
    if (comparison.refused) return root.dump(2) + '\n';
  }
  root["claims"] = Json::array();
  for (std::size_t i = 0; i < plan.claims.size(); ++i)
    root["claims"].push_back(
        claim(plan.claims[i], comparison.claims[i], comparison.variants[plan.claims[i].variant]));
  root["rank_by"] = plan.rank_by ? Json(*plan.rank_by) : Json();
  root["then_by"] = plan.then_by ? Json(*plan.then_by) : Json();
  root["descending"] = plan.descending;
  root["ranking"] = Json::array();
  for (const std::size_t index : comparison.ranking)
    root["ranking"].push_back(row(comparison, index));
  root["unranked"] = Json::array();
  for (const std::size_t index : comparison.unranked)
    root["unranked"].push_back(row(comparison, index));
  if (comparison.replicated)
    root["replications"] = Json::parse(replications_json(*comparison.replicated));
  root["audits_passed"] = comparison.audits_passed();
  root["asserts_passed"] = comparison.asserts_passed();
  root["variants"] = Json::array();
  for (const VariantResult& variant : comparison.variants)
    root["variants"].push_back(
        {{"name", variant.name}, {"summary", Json::parse(summary_json(variant.summary))}});
  return root.dump(2) + '\n';
}

}  // namespace tokenline::report
