#include "sim/report/fidelity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/report/text_table.hpp"
#include "sim/stats/summary.hpp"

namespace tokenline::report {
namespace {

using traffic::ObservedRequest;

bool measured(const Scenario& scenario, TimePoint when) {
  const auto& window = scenario.measure;
  return !window || (when >= window->from && (!window->to || when < *window->to));
}

/// As many answers at least; what was observed may be a part of the traffic.
FidelityFigure answers(FidelityFigure figure, double tolerance) {
  figure.gated = true;
  figure.within = *figure.replayed >= (1.0 - tolerance) * *figure.observed;
  return figure;
}

FidelityFigure gated(FidelityFigure figure, double tolerance) {
  figure.gated = true;
  figure.within = figure.observed && figure.replayed &&
                  std::abs(*figure.replayed - *figure.observed) <= tolerance * *figure.observed;
  return figure;
}

class Judge {
 public:
  Judge(const Scenario& scenario, const RunResult& run, std::span<const ClassSummary> classes)
      : scenario_(scenario), run_(run), classes_(classes) {
    fidelity_.tolerance = scenario.observed->tolerance;
  }

  Fidelity judge() {
    for (const ClassSummary& c : classes_)
      if (c.name != "all" || classes_.size() > 2 || !has_classes()) judge_class(c);
    if (!scenario_.observed->data.queue.empty()) judge_queue();
    return std::move(fidelity_);
  }

 private:
  [[nodiscard]] bool has_classes() const {
    return std::ranges::any_of(scenario_.observed->data.requests,
                               [](const auto& request) { return !request.class_name.empty(); });
  }

  void judge_class(const ClassSummary& c) {
    constexpr std::array<std::pair<std::string_view, std::optional<Duration> ObservedRequest::*>, 3>
        latencies{{{"ttft", &ObservedRequest::ttft},
                   {"tpot", &ObservedRequest::tpot},
                   {"e2el", &ObservedRequest::e2el}}};
    std::vector<const ObservedRequest*> requests;
    for (const ObservedRequest& request : scenario_.observed->data.requests)
      if ((c.name == "all" || c.name == request.class_name) &&
          measured(scenario_, request.arrival) && (request.ttft || request.tpot || request.e2el))
        requests.push_back(&request);
    if (requests.empty()) return;
    fidelity_.figures.push_back(answers({.metric = c.name + ".completed",
                                         .observed = static_cast<double>(requests.size()),
                                         .replayed = c.figures.find("completed")->value},
                                        fidelity_.tolerance));
    for (const auto& [name, latency] : latencies) {
      std::vector<double> samples;
      for (const ObservedRequest* request : requests)
        if (request->*latency) samples.push_back(milliseconds(*(request->*latency)));
      if (!samples.empty()) judge_latency(c, name, stats::summarize(samples));
    }
  }

  void judge_latency(const ClassSummary& c, std::string_view latency,
                     const stats::Distribution& observed) {
    const std::array<std::pair<std::string_view, std::optional<double>>, 4> statistics{
        {{"mean", observed.mean},
         {"median", observed.median},
         {"p90", observed.p90},
         {"p99", observed.p99}}};
    for (const auto& [statistic, value] : statistics) {
      const std::string key = fmt::format("{}_{}_ms", statistic, latency);
      const FidelityFigure figure{.metric = fmt::format("{}.{}", c.name, key),
                                  .observed = value,
                                  .replayed = c.figures.find(key)->value};
      fidelity_.figures.push_back(statistic == "p99" ? gated(figure, fidelity_.tolerance) : figure);
    }
  }

  void judge_queue() {
    const auto figures = [](const auto& samples) {
      std::vector<double> running;
      std::vector<double> waiting;
      std::vector<double> both;
      for (const auto& sample : samples) {
        running.push_back(static_cast<double>(sample.running));
        waiting.push_back(static_cast<double>(sample.waiting));
        both.push_back(running.back() + waiting.back());
      }
      return std::array{stats::summarize(running).mean, stats::summarize(waiting).mean,
                        stats::summarize(both).p99};
    };
    std::vector<traffic::ObservedQueue> looks;
    std::vector<QueueDepth> depths;
    for (std::size_t i = 0; i < run_.depths.size(); ++i) {
      const traffic::ObservedQueue& look = scenario_.observed->data.queue[i];
      // Why: nothing against nothing holds of every replay, and there can be any number of it.
      if (look.when > run_.end && look.running + look.waiting == 0) continue;
      looks.push_back(look);
      depths.push_back(run_.depths[i]);
    }
    fidelity_.idle_after_end = std::ssize(run_.depths) - std::ssize(depths);
    if (looks.empty()) return;
    const auto observed = figures(looks);
    const auto replayed = figures(depths);
    for (std::size_t i = 0; i < 2; ++i)
      fidelity_.figures.push_back({.metric = i == 0 ? "queue.mean_running" : "queue.mean_waiting",
                                   .observed = observed.at(i),
                                   .replayed = replayed.at(i)});
    fidelity_.figures.push_back(
        gated({.metric = "queue.p99_requests", .observed = observed[2], .replayed = replayed[2]},
              fidelity_.tolerance));
  }

  const Scenario& scenario_;
  const RunResult& run_;
  std::span<const ClassSummary> classes_;
  Fidelity fidelity_;
};

std::string percent_text(std::optional<double> error) {
  return error ? fmt::format("{:+.1f} %", 100.0 * *error) : "-";
}

}  // namespace

std::optional<double> FidelityFigure::error() const {
  if (!observed || !replayed || *observed == 0.0) return std::nullopt;
  return (*replayed - *observed) / *observed;
}

bool Fidelity::passed() const {
  return std::ranges::any_of(figures, &FidelityFigure::gated) &&
         std::ranges::all_of(figures, &FidelityFigure::within);
}

std::optional<Fidelity> fidelity(const Scenario& scenario, const RunResult& run,
                                 std::span<const ClassSummary> classes) {
  if (!scenario.observed) return std::nullopt;
  return Judge(scenario, run, classes).judge();
}

std::string fidelity_json(const Fidelity& fidelity) {
  using Json = nlohmann::ordered_json;
  const auto optional = [](std::optional<double> value) { return value ? Json(*value) : Json(); };
  Json root{{"tolerance", fidelity.tolerance}, {"passed", fidelity.passed()}};
  if (fidelity.idle_after_end > 0) root["idle_after_end"] = fidelity.idle_after_end;
  root["figures"] = Json::array();
  for (const FidelityFigure& figure : fidelity.figures)
    root["figures"].push_back({{"metric", figure.metric},
                               {"observed", optional(figure.observed)},
                               {"replayed", optional(figure.replayed)},
                               {"error", optional(figure.error())},
                               {"gated", figure.gated},
                               {"within", figure.within}});
  return root.dump(2);
}

std::string fidelity_text(const Fidelity& fidelity) {
  TextTable table(1);
  table.row({"metric", "observed", "replayed", "error", ""});
  for (const FidelityFigure& figure : fidelity.figures)
    table.row({figure.metric, figure_text(figure.observed), figure_text(figure.replayed),
               percent_text(figure.error()), figure.within ? "" : "MISSED"});
  const auto missed = std::ranges::count(fidelity.figures, false, &FidelityFigure::within);
  const auto gated = std::ranges::count(fidelity.figures, true, &FidelityFigure::gated);
  std::string left_out;
  if (fidelity.idle_after_end > 0)
    left_out = fmt::format("left out: {} looks at the idle server after the replay's end\n",
                           fidelity.idle_after_end);
  return "Observed and replayed\n" + table.text() + left_out +
         fmt::format("fidelity: {}, {} of {} gated figures within {:.4g} %\n",
                     fidelity.passed() ? "passed" : "FAILED", gated - missed, gated,
                     100.0 * fidelity.tolerance);
}

}  // namespace tokenline::report
