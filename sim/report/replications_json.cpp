#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/report/replications.hpp"

namespace tokenline::report {
namespace {

using Json = nlohmann::ordered_json;

/// A bound that is infinite is none.
Json bound(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json interval(const stats::Interval& of) {
  return {{"low", bound(of.low)}, {"estimate", of.estimate}, {"high", bound(of.high)}};
}

Json figures(const std::vector<PairedFigure>& all) {
  Json list = Json::array();
  for (const PairedFigure& f : all)
    list.push_back({{"metric", f.metric},
                    {"first_mean", f.first},
                    {"mean", f.mean},
                    {"difference", interval(f.difference)},
                    {"evidence", name(f.evidence)}});
  return list;
}

Json shifts(const std::vector<LengthShift>& all) {
  Json list = Json::array();
  for (const LengthShift& s : all)
    list.push_back({{"class", s.class_name},
                    {"from_prompt_tokens", s.from_tokens},
                    {"to_prompt_tokens", s.to_tokens ? Json(*s.to_tokens) : Json()},
                    {"pairs", s.pairs},
                    {"faster", s.faster},
                    {"slower", s.slower},
                    {"mean_ttft_change_ms", s.mean_ttft_change_ms},
                    {"mean_e2el_change_ms", s.mean_e2el_change_ms}});
  return list;
}

Json steadiness(const Steadiness& s) {
  Json growth = Json::array();
  for (const ClassGrowth& of : s.growth)
    growth.push_back({{"class", of.class_name},
                      {"requests", interval(of.requests)},
                      {"saturated", of.saturated}});
  return {{"steady_replications", s.steady},
          {"warm_up_s", s.steady > 0 ? Json(s.warm_up_s) : Json()},
          {"growth", std::move(growth)}};
}

}  // namespace

std::string replications_json(const Replicated& all) {
  Json root{{"count", all.count},
            {"confidence", all.confidence},
            {"precision", all.precision ? Json(*all.precision) : Json()},
            {"precision_reached", all.precision ? Json(all.reached) : Json()},
            {"measured_from_s", all.measured_from_s ? Json(*all.measured_from_s) : Json()},
            {"variants", Json::array()}};
  for (std::size_t v = 0; v < all.variants.size(); ++v)
    root["variants"].push_back({{"name", all.names[v]},
                                {"figures", figures(all.variants[v].figures)},
                                {"by_prompt_length", shifts(all.variants[v].shifts)},
                                {"unpaired", all.variants[v].unpaired},
                                {"steadiness", steadiness(all.variants[v].steadiness)}});
  return root.dump();
}

}  // namespace tokenline::report
