#include "sim/report/replications.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/base/random.hpp"
#include "sim/engine/run.hpp"
#include "sim/report/console.hpp"
#include "sim/report/metric.hpp"
#include "sim/report/parallel.hpp"

namespace tokenline::report {
namespace {

constexpr std::size_t first_look = 10;  ///< Replications before a width may end them.
constexpr std::array<std::int64_t, 5> length_edges{0, 512, 2'048, 8'192, 32'768};

/// A completed and measured request; the same in two runs when all but the latencies are equal.
struct PairedRequest {
  std::uint32_t class_index = 0;
  std::uint32_t class_number = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;
  Duration ttft{};
  Duration e2el{};

  [[nodiscard]] auto key() const { return std::tuple(class_index, class_number); }
};

/// What is kept of one run.
struct Sample {
  std::vector<std::optional<double>> values;  ///< By metric.
  std::vector<PairedRequest> requests;        ///< By key.
  std::vector<std::string> classes;
  /// By class, over the middle and the last third of its arrivals; empty where all come at once.
  std::vector<std::optional<std::pair<double, double>>> in_system;
  std::optional<double> warm_up_s;
};

/// Requests in the system on average from `from` to `to`.
double mean_in_system(std::span<const RequestRecord* const> records, TimePoint from, TimePoint to) {
  double inside = 0.0;
  for (const RequestRecord* r : records) {
    const Duration both = std::min(r->finish, to) - std::max(r->arrival, from);
    if (both > Duration{}) inside += static_cast<double>(both.count());
  }
  return inside / static_cast<double>((to - from).count());
}

std::optional<std::pair<double, double>> in_system(std::span<const RequestRecord* const> records) {
  if (records.empty()) return std::nullopt;
  const auto [first, last] =
      std::ranges::minmax(records, {}, [](const RequestRecord* r) { return r->arrival; });
  const Duration third = (last->arrival - first->arrival) / 3;
  if (third <= Duration{}) return std::nullopt;
  const TimePoint middle = first->arrival + third;
  return std::pair(mean_in_system(records, middle, middle + third),
                   mean_in_system(records, middle + third, last->arrival));
}

std::vector<std::optional<std::pair<double, double>>> in_system(const RunResult& result) {
  std::vector<std::vector<const RequestRecord*>> by_class(result.classes.size());
  for (const RequestRecord& r : result.log.records) by_class[r.class_index].push_back(&r);
  std::vector<std::optional<std::pair<double, double>>> thirds;
  for (const auto& records : by_class) thirds.push_back(in_system(records));
  return thirds;
}

/// When the first request after the warm-up arrives, by TTFT in the order of arrival.
std::optional<double> warm_up(const RequestLog& log) {
  std::vector<const RequestRecord*> completed;
  for (const RequestRecord& r : log.records)
    if (r.outcome == Outcome::completed) completed.push_back(&r);
  std::ranges::stable_sort(completed, {}, &RequestRecord::arrival);
  std::vector<double> ttft;
  for (const RequestRecord* r : completed) ttft.push_back(milliseconds(r->ttft()));
  const auto cut = stats::mser5(ttft);
  if (!cut) return std::nullopt;
  return to_seconds(completed[*cut]->arrival.time_since_epoch()).value();
}

std::vector<PairedRequest> paired_requests(const RequestLog& log) {
  std::vector<PairedRequest> requests;
  for (const RequestRecord& r : log.records)
    if (r.outcome == Outcome::completed && r.measured)
      requests.push_back(
          {r.class_index, r.class_number, r.prompt_tokens, r.output_tokens, r.ttft(), r.e2el()});
  std::ranges::sort(requests, {}, &PairedRequest::key);
  return requests;
}

Sample sample_of(Variant& variant, const std::vector<std::string>& metrics) {
  const RunResult result = run(variant.scenario);
  const Summary summary = summarize(variant.scenario, result);
  TOKENLINE_CHECK(summary.audit.passed, "variant '{}' with seed {}:\n{}", variant.name,
                  variant.scenario.seed, audit_verdict(summary.audit));
  Sample sample{.values = {},
                .requests = paired_requests(result.log),
                .classes = {},
                .in_system = in_system(result),
                .warm_up_s = warm_up(result.log)};
  for (const auto& c : result.classes) sample.classes.push_back(c.name);
  for (const std::string& path : metrics)
    sample.values.push_back(has_scope(summary, path) ? metric(summary, path).value : std::nullopt);
  return sample;
}

/// The columns and what ranks, each once; those of `all` are followed by those of the classes.
std::vector<std::string> metrics_of(const Study& study) {
  std::vector<std::string> named = study.plan.columns;
  if (study.plan.rank_by) named.insert(named.begin(), *study.plan.rank_by);
  std::vector<std::string> metrics;
  const auto add = [&](const std::string& path) {
    if (std::ranges::find(metrics, path) == metrics.end()) metrics.push_back(path);
  };
  const std::vector<std::string> classes = class_names(study.variants.front().scenario);
  for (const std::string& path : named) {
    add(path);
    if (scope_of(path) != "all" || classes.size() == 1) continue;
    for (const std::string& name : classes) add(name + '.' + std::string(key_of(path)));
  }
  return metrics;
}

/// Runs of variants by seed, and what follows from them.
class Replications {
 public:
  Replications(const std::function<Study(std::uint64_t)>& load, const ReplicationOptions& options)
      : load_(load), options_(options) {
    Study study = load_(0);
    metrics_ = metrics_of(study);
    for (const Variant& variant : study.variants) {
      result_.names.push_back(variant.name);
      ranked_.push_back(variant.ranked);
    }
    result_.confidence = options.confidence;
    result_.precision = options.precision;
    shifts_.resize(study.variants.size());
    unpaired_.resize(study.variants.size());
    columns_.resize(study.variants.size());
    if (options.drop_warm_up) find_warm_up(study);
  }

  Replicated all() {
    const std::size_t fewest =
        options_.precision ? std::max(options_.count, first_look) : options_.count;
    run_until(fewest);
    if (options_.precision) {
      while (!precise() && result_.count < options_.most) run_until(result_.count + 1);
      result_.reached = precise();
    }
    for (std::size_t v = 0; v < columns_.size(); ++v) result_.variants.push_back(variant(v));
    return std::move(result_);
  }

 private:
  /// By metric, the value in each replication.
  struct Columns {
    std::vector<std::vector<std::optional<double>>> values;
    std::vector<std::optional<double>> warm_ups;
    /// By class.
    std::map<std::string, std::vector<std::pair<double, double>>> in_system;
  };
  using ShiftKey = std::pair<std::string, std::size_t>;

  void find_warm_up(Study& study) {
    std::vector<std::optional<double>> ends(study.variants.size());
    for_each_index(ends.size(), options_.threads,
                   [&](std::size_t v) { ends[v] = sample_of(study.variants[v], {}).warm_up_s; });
    for (const auto& end : ends)
      if (end) result_.measured_from_s = std::max(result_.measured_from_s.value_or(0.0), *end);
  }

  [[nodiscard]] Study loaded(std::size_t replication) const {
    Study study = load_(replication);
    if (result_.measured_from_s)
      for (Variant& variant : study.variants)
        if (!variant.scenario.measure)
          variant.scenario.measure =
              MeasureWindow{TimePoint{} + to_duration(Seconds(*result_.measured_from_s)), {}};
    return study;
  }

  /// As many replications at a time as keep all threads busy; kept ones only are counted.
  void run_until(std::size_t count) {
    while (result_.count < count) {
      if (ready_.empty()) {
        const std::size_t variants = columns_.size();
        const std::size_t wanted = options_.precision ? options_.most : count;
        const std::size_t round =
            std::min((options_.threads + variants - 1) / variants, wanted - result_.count);
        std::vector<Study> studies;
        for (std::size_t i = 0; i < round; ++i) studies.push_back(loaded(result_.count + i));
        ready_.assign(round, std::vector<Sample>(variants));
        for_each_index(round * variants, options_.threads, [&](std::size_t i) {
          ready_[i / variants][i % variants] =
              sample_of(studies[i / variants].variants[i % variants], metrics_);
        });
        std::ranges::reverse(ready_);
      }
      add(ready_.back());
      ready_.pop_back();
      ++result_.count;
    }
  }

  void add(const std::vector<Sample>& samples) {
    for (std::size_t v = 0; v < samples.size(); ++v) {
      const Sample& sample = samples[v];
      Columns& columns = columns_[v];
      columns.values.resize(metrics_.size());
      for (std::size_t m = 0; m < metrics_.size(); ++m)
        columns.values[m].push_back(sample.values[m]);
      columns.warm_ups.push_back(sample.warm_up_s);
      for (std::size_t c = 0; c < sample.classes.size(); ++c)
        if (sample.in_system[c])
          columns.in_system[sample.classes[c]].push_back(*sample.in_system[c]);
      if (v > 0) add_pairs(samples.front(), sample, v);
    }
  }

  void add_pairs(const Sample& first, const Sample& other, std::size_t v) {
    std::map<std::tuple<std::string, std::uint32_t>, const PairedRequest*> partners;
    for (const PairedRequest& r : first.requests)
      partners[{first.classes[r.class_index], r.class_number}] = &r;
    for (const PairedRequest& r : other.requests) {
      const std::string& name = other.classes[r.class_index];
      const auto found = partners.find({name, r.class_number});
      if (found == partners.end() || found->second->prompt_tokens != r.prompt_tokens ||
          found->second->output_tokens != r.output_tokens) {
        ++unpaired_[v];
        continue;
      }
      const auto edge = std::ranges::upper_bound(length_edges, r.prompt_tokens) - 1;
      add_pair(shifts_[v][{name, static_cast<std::size_t>(edge - length_edges.begin())}],
               *found->second, r);
    }
  }

  static void add_pair(LengthShift& shift, const PairedRequest& first, const PairedRequest& other) {
    ++shift.pairs;
    shift.faster += other.e2el < first.e2el;
    shift.slower += other.e2el > first.e2el;
    // Sums until the end.
    shift.mean_ttft_change_ms += milliseconds(other.ttft - first.ttft);
    shift.mean_e2el_change_ms += milliseconds(other.e2el - first.e2el);
  }

  [[nodiscard]] std::optional<PairedFigure> figure(std::size_t v, std::size_t m) const {
    std::vector<double> differences;
    PairedFigure figure{.metric = metrics_[m], .difference = {}};
    for (std::size_t i = 0; i < result_.count; ++i) {
      const auto& first = columns_.front().values[m][i];
      const auto& value = columns_[v].values[m][i];
      if (!first || !value) return std::nullopt;
      figure.first += *first / static_cast<double>(result_.count);
      figure.mean += *value / static_cast<double>(result_.count);
      differences.push_back(*value - *first);
    }
    figure.difference = stats::bootstrap_mean(differences, options_.confidence, m);
    const auto& [low, estimate, high] = figure.difference;
    if (low <= 0.0 && high >= 0.0) return figure;
    const int direction = good_side(figure.metric);
    figure.evidence = direction == 0                        ? PairedVerdict::differs
                      : (estimate > 0.0) == (direction > 0) ? PairedVerdict::better
                                                            : PairedVerdict::worse;
    return figure;
  }

  /// Whether the first metric is known well enough in every ranked variant.
  [[nodiscard]] bool precise() const {
    for (std::size_t v = 1; v < columns_.size(); ++v) {
      if (!ranked_[v]) continue;
      const auto known = figure(v, 0);
      if (!known) continue;
      if (!(known->difference.half_width() <= *options_.precision * std::abs(known->first)))
        return false;
    }
    return true;
  }

  [[nodiscard]] Steadiness steadiness(std::size_t v) const {
    const Columns& columns = columns_[v];
    Steadiness result;
    for (const auto& end : columns.warm_ups)
      if (end) {
        ++result.steady;
        result.warm_up_s = std::max(result.warm_up_s, *end);
      }
    for (const auto& [class_name, thirds] : columns.in_system)
      if (thirds.size() == result_.count) result.growth.push_back(growth(class_name, thirds));
    return result;
  }

  [[nodiscard]] ClassGrowth growth(const std::string& class_name,
                                   const std::vector<std::pair<double, double>>& thirds) const {
    std::vector<double> changes;
    double middle = 0.0;
    for (const auto& [second, last] : thirds) {
      changes.push_back(last - second);
      middle += second / static_cast<double>(thirds.size());
    }
    const stats::Interval change =
        stats::bootstrap_mean(changes, options_.confidence, RandomStream::hash(class_name));
    return {class_name, change, change.low > 0.0 && change.estimate >= std::max(0.2 * middle, 1.0)};
  }

  [[nodiscard]] ReplicatedVariant variant(std::size_t v) {
    ReplicatedVariant variant{
        .figures = {}, .shifts = {}, .unpaired = unpaired_[v], .steadiness = steadiness(v)};
    if (v == 0) return variant;
    for (std::size_t m = 0; m < metrics_.size(); ++m)
      if (const auto known = figure(v, m)) variant.figures.push_back(*known);
    for (auto& [key, shift] : shifts_[v]) {
      const auto pairs = static_cast<double>(shift.pairs);
      shift.class_name = key.first;
      shift.from_tokens = length_edges.at(key.second);
      if (key.second + 1 < length_edges.size()) shift.to_tokens = length_edges.at(key.second + 1);
      shift.mean_ttft_change_ms /= pairs;
      shift.mean_e2el_change_ms /= pairs;
      variant.shifts.push_back(shift);
    }
    return variant;
  }

  const std::function<Study(std::uint64_t)>& load_;
  const ReplicationOptions& options_;
  std::vector<std::string> metrics_;
  std::vector<bool> ranked_;
  std::vector<Columns> columns_;                         ///< By variant.
  std::vector<std::map<ShiftKey, LengthShift>> shifts_;  ///< By variant.
  std::vector<std::uint64_t> unpaired_;
  std::vector<std::vector<Sample>> ready_;  ///< Run ahead of their turn, the next one last.
  Replicated result_;
};

}  // namespace

std::string_view name(PairedVerdict evidence) {
  static constexpr std::array<std::string_view, 4> names{"better", "worse", "differs",
                                                         "no evidence"};
  return names.at(static_cast<std::size_t>(evidence));
}

Replicated replicate(const std::function<Study(std::uint64_t)>& load,
                     const ReplicationOptions& options) {
  TOKENLINE_CHECK(options.count >= fewest_replications, "{} replications", options.count);
  return Replications(load, options).all();
}

}  // namespace tokenline::report
