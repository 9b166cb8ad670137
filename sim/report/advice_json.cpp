#include <nlohmann/json.hpp>

#include "sim/report/advice.hpp"
#include "sim/report/version.hpp"

namespace tokenline::report {
namespace {

using Json = nlohmann::ordered_json;

Json number(const Figure& figure) {
  if (!figure.value) return {};
  if (figure.whole) return static_cast<std::int64_t>(*figure.value);
  return *figure.value;
}

/// By class, the headline metrics of a run.
Json metrics(const Summary& summary) {
  Json classes = Json::object();
  for (const ClassSummary& c : summary.classes) {
    classes[c.name] = Json::object();
    for (const std::string_view key : headline_metrics())
      classes[c.name][std::string(key)] = number(*c.figures.find(key));
  }
  return classes;
}

Json remedy_json(const Remedy& remedy) {
  Json object{{"name", remedy.proposal.name},
              {"set", remedy.proposal.overrides},
              {"by_the_rule", remedy.proposal.by_the_rule}};
  object["refused"] = remedy.refusal.empty() ? Json() : Json(remedy.refusal);
  object["verdict"] = remedy.summary ? Json(name(remedy.verdict)) : Json();
  object["better"] = remedy.effect.better;
  object["worse"] = remedy.effect.worse;
  object["metrics"] = remedy.summary ? metrics(*remedy.summary) : Json();
  return object;
}

Json finding_json(const Finding& finding, std::size_t number) {
  Json object{{"number", number},
              {"rule", finding.rule->name},
              {"text", finding.rule->text},
              {"verdict", name(finding.judgement.verdict)},
              {"evidence", finding.judgement.evidence},
              {"note", finding.judgement.note}};
  object["remedies"] = Json::array();
  for (const Remedy& remedy : finding.remedies) object["remedies"].push_back(remedy_json(remedy));
  return object;
}

}  // namespace

std::string advice_json(const Advice& advice) {
  Json root{{"tokenline", version()},
            {"scenario", advice.base.scenario},
            {"seed", advice.base.seed},
            {"config_sha256", advice.base.config_sha256}};
  root["metrics"] = metrics(advice.base);
  root["rules"] = Json::array();
  for (std::size_t i = 0; i < advice.findings.size(); ++i)
    root["rules"].push_back(finding_json(advice.findings[i], i + 1));
  root["audits_passed"] = advice.audits_passed();
  return root.dump(2) + '\n';
}

}  // namespace tokenline::report
