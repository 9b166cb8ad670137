#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/report/report_json.hpp"

namespace tokenline::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, gauge_count> gauge_names{
    "waiting", "running", "kv_fraction", "decode_sequences", "prompt_tokens", "step_ms"};

Json values_of(std::size_t bins, const auto& value) {
  Json list = Json::array();
  for (std::size_t i = 0; i < bins; ++i) {
    const double amount = value(i);
    list.push_back(std::isfinite(amount) ? Json(rounded(amount, 4)) : Json());
  }
  return list;
}

/// The bins of a run: the last one is shorter.
class Bins {
 public:
  Bins(Duration width, std::size_t count, TimePoint end)
      : width_(width), count_(count), end_(end) {}

  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] double elapsed_s(std::size_t i) const {
    const TimePoint from = TimePoint{} + width_ * static_cast<std::int64_t>(i);
    return to_seconds(std::min(end_ - from, width_)).value();
  }
  [[nodiscard]] std::size_t of(TimePoint when) const {
    return std::min(static_cast<std::size_t>(when.time_since_epoch() / width_), count_ - 1);
  }

 private:
  Duration width_;
  std::size_t count_;
  TimePoint end_;
};

/// Mean over time, smallest and largest; of the time of a step over the steps alone.
Json gauge_json(const Lane& lane, const Bins& bins, std::size_t gauge, double scale) {
  const bool of_steps = static_cast<Gauge>(gauge) == Gauge::step_time;
  const auto mean = [&](std::size_t i) {
    const TimelineBin& bin = lane.bins[i];
    return bin.gauges[gauge].integral * scale / (of_steps ? bin.busy_s : bins.elapsed_s(i));
  };
  const auto least = [&](std::size_t i) {
    const TimelineBin& bin = lane.bins[i];
    if (!of_steps && bin.busy_s < bins.elapsed_s(i) * (1.0 - 1e-9)) return 0.0;
    return bin.gauges[gauge].least * scale;
  };
  const auto most = [&](std::size_t i) {
    const TimelineBin& bin = lane.bins[i];
    if (of_steps && bin.busy_s <= 0.0) return std::nan("");
    return bin.gauges[gauge].most * scale;
  };
  return {{"mean", values_of(bins.count(), mean)},
          {"min", values_of(bins.count(), least)},
          {"max", values_of(bins.count(), most)}};
}

Json roofline_json(const Lane& lane, const ReplicaHardware& hardware) {
  double gpu = 0.0;
  for (const auto& [key, cell] : lane.roofline) gpu += cell.gpu_s;
  Json cells = Json::array();
  for (const auto& [key, cell] : lane.roofline) {
    // A stage has the mean of their FLOPs, in its share of their time.
    const double per_gpu = cell.gpu_s / static_cast<double>(hardware.stages);
    cells.push_back({key[0], cell.steps, rounded(cell.flops.value() / cell.hbm_bytes.value(), 4),
                     rounded(cell.flops.value() / per_gpu, 4), rounded(cell.gpu_s / gpu, 3)});
  }
  return {{"peak_16bit", hardware.peak_16bit.value()},
          {"peak_8bit", hardware.peak_8bit.value()},
          {"bandwidth", hardware.bandwidth.value()},
          {"cells", std::move(cells)}};
}

Json lane_json(const Lane& lane, const InstanceResult& instance, const ReplicaHardware& hardware,
               const Bins& bins) {
  Json gauges = Json::object();
  for (std::size_t i = 0; i < gauge_count; ++i) {
    const bool kv = static_cast<Gauge>(i) == Gauge::kv_blocks;
    const double scale = kv ? 1.0 / static_cast<double>(instance.kv_blocks) : 1.0;
    gauges[std::string(gauge_names[i])] = gauge_json(lane, bins, i, scale);
  }
  const auto share = [&](const auto& amount) {
    return values_of(bins.count(),
                     [&](std::size_t i) { return amount(lane.bins[i]) / bins.elapsed_s(i); });
  };
  Json down = Json::array();
  for (const DownTime& time : lane.down)
    down.push_back({seconds_of(time.from), seconds_of(time.until)});
  return {{"name", instance.name},
          {"gpu", hardware.gpu},
          {"gauges", std::move(gauges)},
          {"busy_fraction", share([](const TimelineBin& bin) { return bin.busy_s; })},
          {"flops_utilization", share([&](const TimelineBin& bin) {
             return bin.flops.value() / hardware.peak_16bit.value();
           })},
          {"bandwidth_utilization", share([&](const TimelineBin& bin) {
             return bin.hbm_bytes.value() / hardware.bandwidth.value();
           })},
          {"down_s", std::move(down)},
          {"roofline", roofline_json(lane, hardware)}};
}

/// What became of the requests, by the bin in which they arrived.
Json arrivals_json(const RunResult& run, const Bins& bins) {
  std::vector<std::int64_t> offered(bins.count());
  std::vector<std::int64_t> failed(bins.count());
  std::vector<std::int64_t> completed(bins.count());
  std::vector<double> sum(bins.count());
  std::vector<double> most(bins.count());
  for (const RequestRecord& r : run.log.records) {
    const std::size_t i = bins.of(r.arrival);
    ++offered[i];
    if (r.outcome != Outcome::completed) {
      ++failed[i];
      continue;
    }
    ++completed[i];
    sum[i] += milliseconds(r.ttft());
    most[i] = std::max(most[i], milliseconds(r.ttft()));
  }
  const auto known = [&](std::size_t i, double value) {
    return completed[i] > 0 ? value : std::nan("");
  };
  return {
      {"offered", offered},
      {"failed", failed},
      {"mean_ttft_ms", values_of(bins.count(),
                                 [&](std::size_t i) {
                                   return known(i, sum[i] / static_cast<double>(completed[i]));
                                 })},
      {"max_ttft_ms", values_of(bins.count(), [&](std::size_t i) { return known(i, most[i]); })}};
}

Json tail_json(const RunResult& run, const Bins& bins) {
  const auto tail = tail_interval(run);
  if (!tail) return {};
  std::vector<std::int64_t> arrivals(bins.count());
  for (const TimePoint when : tail->arrivals) ++arrivals[bins.of(when)];
  return {{"from_s", seconds_of(tail->from)},
          {"to_s", seconds_of(tail->to)},
          {"requests", tail->arrivals.size()},
          {"arrivals", arrivals}};
}

Json measure_json(const std::optional<MeasureWindow>& window) {
  if (!window) return {};
  return {{"from_s", seconds_of(window->from)},
          {"to_s", window->to ? Json(seconds_of(*window->to)) : Json()}};
}

Json faults_json(const std::vector<FaultResult>& all) {
  Json list = Json::array();
  for (const auto& [fault, happened] : all) {
    if (!happened) continue;
    const bool crash = fault.kind == FaultKind::instance_crash;
    Json item{{"kind", name(fault.kind)}};
    if (fault.kind == FaultKind::link_brownout)
      item["links"] = hw::name(fault.brownout);
    else
      item["replica"] = fault.replica;
    item["from_s"] = seconds_of(fault.at);
    item["to_s"] = seconds_of(crash ? fault.at + fault.restart : fault.to);
    list.push_back(std::move(item));
  }
  return list;
}

}  // namespace

std::string timeline_json(const Timeline& timeline, const Scenario& scenario,
                          const RunResult& run) {
  const std::size_t count = timeline.lanes().empty() ? 1 : timeline.lanes().front().bins.size();
  const Bins bins(timeline.width(), count, run.end);
  Json instances = Json::array();
  for (std::size_t i = 0; i < timeline.lanes().size(); ++i) {
    const InstanceResult& instance = run.instances[i];
    instances.push_back(
        lane_json(timeline.lanes()[i], instance, hardware_of(scenario, instance.pool), bins));
  }
  return Json{{"width_s", to_seconds(timeline.width()).value()},
              {"end_s", seconds_of(run.end)},
              {"measure", measure_json(scenario.measure)},
              {"tail", tail_json(run, bins)},
              {"faults", faults_json(run.faults)},
              {"arrivals", arrivals_json(run, bins)},
              {"instances", std::move(instances)}}
      .dump();
}

}  // namespace tokenline::report
