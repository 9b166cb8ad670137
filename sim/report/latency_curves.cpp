#include "sim/report/latency_curves.hpp"

#include <algorithm>

#include "sim/report/figures.hpp"

namespace tokenline::report {
namespace {

constexpr std::int64_t most_quantiles = 10'000;

/// Calls `point(slower)` for the number of samples from each point of a curve on.
template <class Point>
void for_each_point(std::int64_t samples, const Point& point) {
  for (std::int64_t slower = samples; slower > 0; slower -= std::max<std::int64_t>(1, slower / 16))
    point(slower);
}

LatencyCurve curve(const stats::Histogram& gaps) {
  LatencyCurve result;
  if (!gaps.max()) return result;
  result.samples = std::min<std::int64_t>(most_quantiles, static_cast<std::int64_t>(gaps.count()));
  const auto samples = static_cast<double>(result.samples);
  for_each_point(result.samples, [&](std::int64_t slower) {
    const double q = 1.0 - static_cast<double>(slower - 1) / samples;
    result.points.push_back({gaps.quantile(q)->value() * 1e3, slower});
  });
  result.points.back().ms = milliseconds(*gaps.max());
  return result;
}

/// The requests of a class, or of all.
struct CurveSamples {
  std::vector<double> ttft;
  std::vector<double> tpot;
  std::vector<double> e2el;
  stats::Histogram gaps;

  void add(const RequestRecord& r) {
    ttft.push_back(milliseconds(r.ttft()));
    e2el.push_back(milliseconds(r.e2el()));
    if (r.output_tokens > 1)
      tpot.push_back(milliseconds(r.e2el() - r.ttft()) / static_cast<double>(r.output_tokens - 1));
  }
};

}  // namespace

LatencyCurve curve(std::vector<double> samples) {
  std::ranges::sort(samples);
  LatencyCurve result{.samples = static_cast<std::int64_t>(samples.size()), .points = {}};
  for_each_point(result.samples, [&](std::int64_t slower) {
    result.points.push_back({samples[samples.size() - static_cast<std::size_t>(slower)], slower});
  });
  return result;
}

std::vector<ClassCurves> latency_curves(const RunResult& run) {
  std::vector<CurveSamples> by_class(run.classes.size() + 1);
  for (const RequestRecord& r : run.log.records) {
    if (!r.measured || r.outcome != Outcome::completed) continue;
    by_class.front().add(r);
    by_class[r.class_index + 1].add(r);
  }
  std::vector<ClassCurves> curves;
  for (std::size_t i = 0; i < by_class.size(); ++i) {
    CurveSamples& samples = by_class[i];
    if (i > 0) samples.gaps = run.log.token_gaps[i - 1];
    if (i == 0)
      for (const stats::Histogram& gaps : run.log.token_gaps) samples.gaps.merge(gaps);
    if (i == 0 && run.classes.size() == 1) continue;
    curves.push_back({.name = i == 0 ? "all" : run.classes[i - 1].name,
                      .ttft = curve(std::move(samples.ttft)),
                      .tpot = curve(std::move(samples.tpot)),
                      .itl = curve(samples.gaps),
                      .e2el = curve(std::move(samples.e2el))});
  }
  return curves;
}

}  // namespace tokenline::report
