// What `tokenline plan` prints.
#include <fmt/format.h>

#include <algorithm>

#include "sim/report/figures.hpp"
#include "sim/report/text_table.hpp"
#include "tools/plan/economics.hpp"

namespace tokenline::plan {
namespace {

using report::figure_text;
using report::TextTable;

std::string dollars(double usd) { return fmt::format("${:.2f}", usd); }

/// "3 replicas (24 GPUs)", "2 x (1 prefill + 3 decode) (32 GPUs)".
std::string size_of(const Design& design, const Fleet& fleet) {
  std::string pools;
  for (const auto& [pool, replicas] : design.pools)
    pools += fmt::format("{}{} {}", pools.empty() ? "" : " + ", fleet.units * replicas, pool);
  return fmt::format(
      "{} ({} GPU{})",
      pools.empty() ? fmt::format("{} replica{}", fleet.units, fleet.units == 1 ? "" : "s") : pools,
      fleet.gpus, fleet.gpus == 1 ? "" : "s");
}

std::string heading(const Result& result) {
  const Plan& plan = result.plan;
  std::string text = fmt::format("Plan {}", plan.name);
  if (!plan.description.empty()) text += ": " + plan.description;
  text += fmt::format("\nLoad of {}", plan.base);
  if (plan.growth != 1.0) text += fmt::format(" times {}", figure_text(plan.growth));
  if (plan.burst != 1.0) text += fmt::format(", in bursts {} times that", figure_text(plan.burst));
  if (plan.survive > 0)
    text +=
        fmt::format(", and with {} replica{} fewer", plan.survive, plan.survive == 1 ? "" : "s");
  std::string slo;
  for (const auto& condition : plan.slo) slo += (slo.empty() ? "" : ", ") + condition.text;
  text += "\nSLOs: " + slo + "\n";
  text += fmt::format("Prices: {}, {}", plan.prices.source, plan.prices.date);
  if (!plan.prices.own.empty())
    text += fmt::format("; of the plan: {}", fmt::join(plan.prices.own, ", "));
  return text + "\n";
}

std::string costs(const Fleet& fleet) {
  const Economics e = economics(fleet);
  std::string text = fmt::format(
      "  Planned load: {} per million output tokens, {} per million tokens in and out",
      e.usd_per_million_output_tokens ? dollars(*e.usd_per_million_output_tokens) : "-",
      e.usd_per_million_tokens ? fmt::format("${:.3f}", *e.usd_per_million_tokens) : "-");
  if (e.kwh_per_day)
    text += fmt::format(";\n  {} J per output token, {} kWh a day (GPU boards alone)",
                        figure_text(e.joules_per_output_token), figure_text(e.kwh_per_day));
  return text + "\n";
}

std::string slo_table(const Fleet& fleet) {
  TextTable table(2);
  table.row({"SLO", "case", "worst seed", "share of the bound"});
  for (const WorstCheck& worst : worst_checks(fleet))
    table.row({worst.check.condition, std::string(name(worst.which)),
               figure_text(worst.check.value),
               worst.check.stress ? fmt::format("{:.0f} %", 100.0 * *worst.check.stress) : "-"});
  return table.text();
}

std::string winner_text(const Result& result) {
  const Design& design = result.designs[*result.winner];
  const Fleet& fleet = *result.winning_fleet();
  const Plan& plan = result.plan;
  std::string text =
      fmt::format("Cheapest fleet that meets every SLO: {}\n  {}, {}/h, {} a month of 730 h\n",
                  design.name, size_of(design, fleet), dollars(fleet.usd_per_hour),
                  fmt::format("${:.0f}", fleet.usd_per_hour * 730.0));
  text += fmt::format(
      "  Met in {} of {} seeds: with {:.3g} % confidence at least {:.1f} % of such stretches of "
      "traffic meet them\n",
      fleet.seeds, plan.seeds, 100.0 * plan.confidence,
      100.0 * passing_share(plan.seeds, plan.confidence));
  if (result.holds_at)
    text += fmt::format("  All replicas hold {} times the planned load in every seed{}\n",
                        figure_text(result.holds_at),
                        result.breaks_at
                            ? fmt::format(", and not {} times", figure_text(result.breaks_at))
                            : std::string());
  return text + costs(fleet) + "\n" + slo_table(fleet);
}

std::string nothing_text(const Result& result) {
  std::string text = "No fleet of this search space meets every SLO\n";
  const auto near = closest(result);
  if (!near) return text;
  const Design& design = result.designs[near->design];
  text += fmt::format("  Closest: {}, {}, {}/h\n", design.name, size_of(design, *near->fleet),
                      dollars(near->fleet->usd_per_hour));
  for (const Check& check : near->outcome->checks)
    if (!check.passed)
      text += fmt::format("  misses {} ({}, seed {}): {}{}\n", check.condition,
                          name(near->outcome->which), near->outcome->seed, figure_text(check.value),
                          check.limit.empty() ? "" : "; " + check.limit);
  return text;
}

/// By verdict, then cost.
std::vector<std::size_t> order_of(const std::vector<Design>& designs) {
  std::vector<std::size_t> order(designs.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    const Fleet* fleet = designs[i].passing();
    return std::pair(designs[i].verdict, fleet == nullptr ? 0.0 : fleet->usd_per_hour);
  });
  return order;
}

std::string designs_text(const Result& result) {
  TextTable table(2);
  table.row({"design", "verdict", "GPUs", "$/h", "$/M out", "J/token", "P99 TTFT ms", "tok/s/GPU",
             "tok/s/user"});
  const auto order = order_of(result.designs);
  for (const std::size_t i : order) {
    const Design& design = result.designs[i];
    std::vector<std::string> row{design.name, std::string(name(design.verdict))};
    std::ranges::replace(row.back(), '_', ' ');
    if (const Fleet* fleet = design.passing()) {
      const Economics e = economics(*fleet);
      for (const std::string& cell :
           {fmt::format("{}", fleet->gpus), fmt::format("{:.2f}", fleet->usd_per_hour),
            figure_text(e.usd_per_million_output_tokens), figure_text(e.joules_per_output_token),
            figure_text(e.p99_ttft_ms), figure_text(e.output_tokens_per_gpu),
            figure_text(e.tokens_per_user)})
        row.push_back(cell);
    } else {
      row.resize(9, "-");
    }
    table.row(std::move(row));
  }
  std::string text = fmt::format("{} designs\n{}\n", result.designs.size(), table.text());
  text += "Why\n";
  for (const std::size_t i : order)
    text += report::wrapped(fmt::format("{}: {}", result.designs[i].name, result.designs[i].reason),
                            2, 160);
  return text;
}

std::string front_text(const Result& result) {
  std::string text;
  const auto list = [&](std::string_view title, const std::vector<std::size_t>& front) {
    if (front.size() < 2) return;
    text += fmt::format("\n{}\n", title);
    for (const std::size_t i : front) text += fmt::format("  {}\n", result.designs[i].name);
  };
  list("Nothing sized is cheaper and has a shorter P99 TTFT than", result.cost_latency_front);
  list("Nothing sized gives more tokens/s per GPU and per user than",
       result.throughput_speed_front);
  return text;
}

std::string changes_text(const Result& result) {
  if (result.changes.empty()) return {};
  TextTable table(3);
  table.row({"knob", "from", "to", "$/h", "of the winner", "tightest SLO, same size"});
  std::vector<const Change*> order;
  for (const Change& change : result.changes) order.push_back(&change);
  const double paid = result.winning_fleet()->usd_per_hour;
  std::ranges::stable_sort(order, std::greater<>(), [](const Change* change) {
    return change->usd_per_hour.value_or(std::numeric_limits<double>::infinity());
  });
  for (const Change* change : order) {
    const Design& design = result.designs[change->design];
    const Check* tightest = change->same_size ? change->same_size->tightest() : nullptr;
    std::string same = "cannot be built";
    if (tightest != nullptr)
      same = fmt::format("{} is {}", tightest->condition, figure_text(tightest->value));
    std::string verdict(name(design.verdict));
    std::ranges::replace(verdict, '_', ' ');
    table.row({result.plan.axes[change->axis].name, change->from, change->to,
               change->usd_per_hour ? fmt::format("{:.2f}", *change->usd_per_hour) : verdict,
               change->usd_per_hour
                   ? fmt::format("{:+.0f} %", 100.0 * (*change->usd_per_hour / paid - 1.0))
                   : "-",
               same});
  }
  return "\nOne knob changed, the others as in the winner\n" + table.text();
}

}  // namespace

std::string plan_text(const Result& result) {
  std::string text = heading(result) + "\n";
  text += result.winner ? winner_text(result) : nothing_text(result);
  text += "\n" + designs_text(result) + front_text(result);
  if (result.winner) text += changes_text(result);
  text += fmt::format("\n{} simulations of {} s together\n", result.simulations,
                      figure_text(result.simulated_s));
  if (!result.audits_passed) text += "An audit of a simulation failed: our bug\n";
  return text;
}

}  // namespace tokenline::plan
