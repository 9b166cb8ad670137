// The cheapest fleet: sizes by bisection, designs by the least that they could cost, seeds by the
// first that misses.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "sim/report/figures.hpp"
#include "sim/report/parallel.hpp"
#include "tools/plan/load.hpp"
#include "tools/plan/problem.hpp"

namespace tokenline::plan {
namespace {

/// Designs whose sizes are tried at a time, and simulations of one fleet: for any number of
/// threads, so that nothing depends on it.
constexpr std::size_t wave = 4;
constexpr std::size_t batch = 8;

/// What is known of a design's sizes. Assumes that a fleet that misses makes smaller ones miss.
struct Sizing {
  std::int64_t low = 0;                ///< The largest size known to miss.
  std::optional<std::int64_t> high{};  ///< The smallest that met every SLO so far.
  bool verified = false;               ///< `high` met them with every seed.
};

class Search {
 public:
  Search(const Plan& plan, const Effort& effort)
      : problem_(plan, effort.threads), threads_(effort.threads), stop_(effort.stop) {
    result_.plan = plan;
    result_.designs = problem_.designs();
    bound_sizes(problem_, result_.designs, threads_);
    sizing_.resize(result_.designs.size());
    for (std::size_t i = 0; i < sizing_.size(); ++i)
      sizing_[i].low = fits(i) ? result_.designs[i].least_units - 1 : plan.max_units;
  }

  Result run(bool brute_force) {
    if (brute_force)
      try_everything();
    else
      find_cheapest();
    if (!brute_force && plan().size_all) size_all();
    choose_winner();
    for (std::size_t i = 0; i < result_.designs.size(); ++i) judge(i);
    if (!brute_force && result_.winner) explore_winner();
    find_fronts();
    return std::move(result_);
  }

 private:
  [[nodiscard]] const Plan& plan() const { return problem_.plan(); }
  [[nodiscard]] bool fits(std::size_t i) const {
    return result_.designs[i].verdict != Verdict::does_not_fit;
  }
  [[nodiscard]] double cost(std::size_t i, std::int64_t units) const {
    return static_cast<double>(units) * result_.designs[i].usd_per_unit_hour;
  }
  /// Whether a fleet of design i would be chosen over one of design j: the cheaper one, the first
  /// of equals.
  [[nodiscard]] static bool better(double cost_i, std::size_t i, double cost_j, std::size_t j) {
    return cost_i < cost_j || (cost_i == cost_j && i < j);
  }

  /// The largest size of a design that would still be chosen.
  [[nodiscard]] std::int64_t cap(std::size_t i) const {
    std::int64_t units = plan().max_units;
    if (incumbent_)
      while (units > 0 && !better(cost(i, units), i, incumbent_cost_, *incumbent_)) --units;
    return units;
  }

  /// Simulates side by side, and adds up what it took.
  std::vector<Outcome> simulate(const std::vector<Trial>& trials) {
    std::vector<Tried> tried(trials.size());
    report::for_each_index(trials.size(), threads_,
                           [&](std::size_t i) { tried[i] = evaluate(problem_, trials[i], stop_); });
    std::vector<Outcome> outcomes;
    for (Tried& one : tried) outcomes.push_back(count(std::move(one)));
    return outcomes;
  }

  Outcome count(Tried tried) {
    if (tried.outcome.steps > 0 || tried.outcome.simulated_s > 0.0) ++result_.simulations;
    result_.simulated_s += tried.outcome.simulated_s;
    result_.steps += tried.outcome.steps;
    result_.audits_passed = result_.audits_passed && tried.audit_passed;
    return std::move(tried.outcome);
  }

  Fleet& fleet(std::size_t i, std::int64_t units) {
    auto& fleets = result_.designs[i].fleets;
    const auto at = std::ranges::lower_bound(fleets, units, {}, &Fleet::units);
    if (at != fleets.end() && at->units == units) return *at;
    Fleet added;
    added.units = units;
    added.gpus = units * result_.designs[i].gpus_per_unit;
    added.usd_per_hour = cost(i, units);
    return *fleets.insert(at, std::move(added));
  }

  /// The trials of a fleet with the seeds [from, to), hardest case first.
  [[nodiscard]] std::vector<Trial> trials(std::size_t i, std::int64_t units, std::int64_t from,
                                          std::int64_t to) const {
    std::vector<Trial> all;
    for (std::int64_t seed = from; seed < to; ++seed)
      for (const auto& [which, pool] : cases_of(plan(), result_.designs[i]))
        all.push_back({.design = i, .units = units, .which = which, .pool = pool, .seed = seed});
    return all;
  }

  /// Whether each fleet meets every SLO with the first seed; cases after one that misses are not
  /// simulated. Fleets side by side.
  void screen(const std::vector<std::pair<std::size_t, std::int64_t>>& fleets) {
    std::vector<std::vector<Tried>> tried(fleets.size());
    report::for_each_index(fleets.size(), threads_, [&](std::size_t k) {
      for (const Trial& trial : trials(fleets[k].first, fleets[k].second, 0, 1)) {
        tried[k].push_back(evaluate(problem_, trial, stop_));
        if (!tried[k].back().outcome.passed) break;
      }
    });
    for (std::size_t k = 0; k < fleets.size(); ++k) {
      const auto [i, units] = fleets[k];
      Fleet& entry = fleet(i, units);
      for (Tried& one : tried[k]) entry.outcomes.push_back(count(std::move(one)));
      entry.passed = entry.outcomes.back().passed;
      entry.seeds = entry.passed ? 1 : 0;
      note(i, units, entry.passed);
    }
  }

  void note(std::size_t i, std::int64_t units, bool passed) {
    Sizing& sizing = sizing_[i];
    if (passed) {
      sizing.high = units;
    } else {
      sizing.low = units;
      if (sizing.high && *sizing.high <= units) sizing.high.reset();
      result_.designs[i].misses_up_to = std::max(result_.designs[i].misses_up_to, units);
    }
  }

  /// The other seeds of a fleet that met the SLOs with the first.
  void verify(std::size_t i) {
    const std::int64_t units = *sizing_[i].high;
    const auto all = trials(i, units, 1, plan().seeds);
    Fleet& entry = fleet(i, units);
    for (std::size_t from = 0; from < all.size() && entry.passed; from += batch) {
      const auto to = std::min(all.size(), from + batch);
      const std::vector<Trial> some(all.begin() + static_cast<std::ptrdiff_t>(from),
                                    all.begin() + static_cast<std::ptrdiff_t>(to));
      for (Outcome& outcome : simulate(some)) {
        entry.passed = entry.passed && outcome.passed;
        if (outcome.passed && entry.passed) entry.seeds = outcome.seed + 1;
        entry.outcomes.push_back(std::move(outcome));
      }
    }
    if (!entry.passed) entry.seeds = first_missed(entry);
    sizing_[i].verified = entry.passed;
    note(i, units, entry.passed);
  }

  static std::int64_t first_missed(const Fleet& entry) {
    std::int64_t seed = std::numeric_limits<std::int64_t>::max();
    for (const Outcome& outcome : entry.outcomes)
      if (!outcome.passed) seed = std::min(seed, outcome.seed);
    return seed;
  }

  /// The next size of a design to look at, between what misses and what is known to be enough.
  [[nodiscard]] std::int64_t probe(std::size_t i, std::int64_t largest) const {
    const Sizing& sizing = sizing_[i];
    if (sizing.high && *sizing.high <= largest) return (sizing.low + *sizing.high) / 2;
    // The price to beat: one simulation shows whether the design can.
    if (incumbent_ && largest < plan().max_units) return largest;
    return std::min(largest, std::max(sizing.low + 1, sizing.low + (sizing.low + 1) / 2));
  }

  [[nodiscard]] bool sized(std::size_t i, std::int64_t largest) const {
    const Sizing& sizing = sizing_[i];
    return sizing.high && *sizing.high <= largest && *sizing.high == sizing.low + 1;
  }

  void find_cheapest() {
    while (true) {
      std::vector<std::size_t> open;
      for (std::size_t i = 0; i < result_.designs.size(); ++i)
        if (fits(i) && sizing_[i].low < cap(i) && !(incumbent_ && *incumbent_ == i))
          open.push_back(i);
      if (open.empty()) return;
      std::ranges::stable_sort(open, {},
                               [&](std::size_t i) { return cost(i, sizing_[i].low + 1); });
      if (sized(open.front(), cap(open.front()))) {
        settle(open.front());
        continue;
      }
      std::vector<std::pair<std::size_t, std::int64_t>> fleets;
      for (const std::size_t i : open)
        if (fleets.size() < wave && !sized(i, cap(i))) fleets.emplace_back(i, probe(i, cap(i)));
      screen(fleets);
    }
  }

  void settle(std::size_t i) {
    if (!sizing_[i].verified) verify(i);
    if (!sizing_[i].verified) return;
    incumbent_ = i;
    incumbent_cost_ = cost(i, *sizing_[i].high);
  }

  /// Every design in the smallest size that meets the SLOs with the first seed.
  void size_all() {
    const std::int64_t most = plan().max_units;
    while (true) {
      std::vector<std::pair<std::size_t, std::int64_t>> fleets;
      for (std::size_t i = 0; i < result_.designs.size(); ++i)
        if (fits(i) && sizing_[i].low < most && !sized(i, most)) {
          const Sizing& s = sizing_[i];
          fleets.emplace_back(
              i, s.high ? (s.low + *s.high) / 2
                        : std::min(most, std::max(s.low + 1, s.low + (s.low + 1) / 2)));
        }
      if (fleets.empty()) return;
      screen(fleets);
    }
  }

  void try_everything() {
    for (std::size_t i = 0; i < result_.designs.size(); ++i) {
      if (!fits(i)) continue;
      for (std::int64_t units = plan().min_units; units <= plan().max_units; ++units) {
        Fleet& entry = fleet(i, units);
        entry.outcomes = simulate(trials(i, units, 0, plan().seeds));
        entry.passed = std::ranges::all_of(entry.outcomes, &Outcome::passed);
        entry.seeds = entry.passed ? plan().seeds : first_missed(entry);
      }
      sizing_[i].low = plan().max_units;
    }
  }

  void choose_winner() {
    for (std::size_t i = 0; i < result_.designs.size(); ++i) {
      const Fleet* found = result_.designs[i].passing();
      if (found == nullptr || found->seeds < plan().seeds) continue;
      if (!result_.winner ||
          better(found->usd_per_hour, i, result_.winning_fleet()->usd_per_hour, *result_.winner))
        result_.winner = i;
    }
  }

  void judge(std::size_t i) {
    Design& design = result_.designs[i];
    if (!fits(i) || design.verdict == Verdict::bound) return;
    const Fleet* found = design.passing();
    if (result_.winner == i) {
      design.verdict = Verdict::winner;
      design.reason = fmt::format("meets every SLO in {} of {} seeds", found->seeds, plan().seeds);
    } else if (found != nullptr) {
      design.verdict = Verdict::costs_more;
      design.reason =
          fmt::format("{} units at ${}/h meet every SLO in {} of {} simulated seeds", found->units,
                      report::figure_text(found->usd_per_hour), found->seeds, found->seeds);
    } else if (sizing_[i].low < plan().max_units) {
      design.verdict = Verdict::dominated;
      design.reason = dominated(i);
    } else {
      design.verdict = Verdict::misses;
      design.reason = missed(design);
    }
  }

  [[nodiscard]] std::string dominated(std::size_t i) const {
    const Design& design = result_.designs[i];
    const std::int64_t least = sizing_[i].low + 1;
    const std::string why = design.misses_up_to >= least - 1 && design.misses_up_to > 0
                                ? fmt::format("{} simulated: misses", design.misses_up_to)
                                : std::string(least > plan().min_units ? "bound" : "smallest size");
    return fmt::format("at least {} units, ${}/h ({})", least, report::figure_text(cost(i, least)),
                       why);
  }

  static std::string missed(const Design& design) {
    if (design.fleets.empty()) return "was not simulated";
    const Fleet& largest = design.fleets.back();
    for (const Outcome& outcome : largest.outcomes)
      for (const Check& check : outcome.checks)
        if (!check.passed)
          return fmt::format("{} units ({}, seed {}): {} is {}{}", largest.units,
                             name(outcome.which), outcome.seed, check.condition,
                             report::figure_text(check.value),
                             check.limit.empty() ? "" : "; " + check.limit);
    return {};
  }

  /// How far the winner's load may grow, what its neighbours do, and its scenario.
  void explore_winner() {
    const std::size_t i = *result_.winner;
    const Fleet winner = *result_.winning_fleet();
    if (unscalable(problem_.base()).empty()) find_capacity(i, winner.units);
    for (std::size_t axis = 0; axis < plan().axes.size(); ++axis)
      for (std::size_t choice = 0; choice < plan().axes[axis].choices.size(); ++choice)
        if (choice != result_.designs[i].choice[axis]) add_change(axis, choice, winner.units);
    result_.overrides =
        problem_.overrides(result_.designs[i], {.design = i, .units = winner.units});
  }

  bool holds(std::size_t i, std::int64_t units, double factor) {
    std::vector<Trial> all;
    for (std::int64_t seed = 0; seed < plan().seeds; ++seed)
      all.push_back({.design = i, .units = units, .seed = seed, .factor = factor});
    for (std::size_t from = 0; from < all.size(); from += batch) {
      const auto to = std::min(all.size(), from + batch);
      const auto outcomes = simulate({all.begin() + static_cast<std::ptrdiff_t>(from),
                                      all.begin() + static_cast<std::ptrdiff_t>(to)});
      if (!std::ranges::all_of(outcomes, &Outcome::passed)) return false;
    }
    return true;
  }

  /// By doubling steps from the burst, then bisection until one twentieth is left.
  void find_capacity(std::size_t i, std::int64_t units) {
    double holds_at = plan().burst;
    double step = 0.1;
    std::optional<double> breaks_at;
    while (!breaks_at && holds_at < 8.0 * plan().burst) {
      if (const double factor = holds_at + step; holds(i, units, factor))
        holds_at = factor;
      else
        breaks_at = factor;
      step *= 2.0;
    }
    while (breaks_at && *breaks_at - holds_at > 0.05 * holds_at) {
      const double middle = 0.5 * (holds_at + *breaks_at);
      (holds(i, units, middle) ? holds_at : *breaks_at) = middle;
    }
    result_.holds_at = holds_at;
    result_.breaks_at = breaks_at;
  }

  void add_change(std::size_t axis, std::size_t choice, std::int64_t units) {
    const Design& winner = result_.designs[*result_.winner];
    std::vector<std::size_t> wanted = winner.choice;
    wanted[axis] = choice;
    const auto found = std::ranges::find(result_.designs, wanted, &Design::choice);
    const auto index = static_cast<std::size_t>(found - result_.designs.begin());
    Change change{.axis = axis,
                  .from = plan().axes[axis].choices[winner.choice[axis]].name,
                  .to = plan().axes[axis].choices[choice].name,
                  .design = index,
                  .usd_per_hour = {},
                  .same_size = {}};
    if (const Fleet* fleet = found->passing()) change.usd_per_hour = fleet->usd_per_hour;
    if (fits(index)) change.same_size = simulate({{.design = index, .units = units}}).front();
    result_.changes.push_back(std::move(change));
  }

  /// The planned load with the first seed.
  static const Outcome* planned(const Design& design) {
    const Fleet* fleet = design.passing();
    if (fleet == nullptr) return nullptr;
    const auto found = std::ranges::find_if(
        fleet->outcomes, [](const Outcome& o) { return o.which == Case::planned && o.seed == 0; });
    return found == fleet->outcomes.end() ? nullptr : &*found;
  }

  void find_fronts() {
    struct Point {
      std::size_t design;
      double x;  ///< Both the smaller, the better.
      double y;
    };
    const auto front = [](const std::vector<Point>& points) {
      std::vector<std::size_t> kept;
      for (const Point& p : points)
        if (std::ranges::none_of(points, [&](const Point& q) {
              return q.x <= p.x && q.y <= p.y && (q.x < p.x || q.y < p.y);
            }))
          kept.push_back(p.design);
      return kept;
    };
    std::vector<Point> cost_latency;
    std::vector<Point> throughput_speed;
    for (std::size_t i = 0; i < result_.designs.size(); ++i) {
      const Outcome* outcome = planned(result_.designs[i]);
      if (outcome == nullptr) continue;
      const Fleet& fleet = *result_.designs[i].passing();
      if (outcome->p99_ttft_ms)
        cost_latency.push_back({i, fleet.usd_per_hour, *outcome->p99_ttft_ms});
      if (outcome->output_throughput && outcome->tokens_per_user)
        throughput_speed.push_back({i,
                                    -*outcome->output_throughput / static_cast<double>(fleet.gpus),
                                    -*outcome->tokens_per_user});
    }
    result_.cost_latency_front = front(cost_latency);
    result_.throughput_speed_front = front(throughput_speed);
  }

  Problem problem_;
  std::size_t threads_;
  std::stop_token stop_;
  Result result_;
  std::vector<Sizing> sizing_;
  std::optional<std::size_t> incumbent_;
  double incumbent_cost_ = 0.0;
};

}  // namespace

Result solve(const Plan& plan, const Effort& effort) {
  return Search(plan, effort).run(effort.brute_force);
}

}  // namespace tokenline::plan
