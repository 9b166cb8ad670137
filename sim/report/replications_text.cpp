#include <fmt/format.h>

#include <array>
#include <cmath>

#include "sim/report/metric.hpp"
#include "sim/report/replications.hpp"
#include "sim/report/text_table.hpp"

namespace tokenline::report {
namespace {

/// "+3.1" of a hundred; "-" where there is nothing to divide by.
std::string signed_percent(double change, double of) {
  if (!std::isfinite(change)) return change > 0.0 ? "+inf" : "-inf";
  return of == 0.0 ? "-" : fmt::format("{:+.1f}", 100.0 * change / std::abs(of));
}

std::string figures_table(const Replicated& all) {
  TextTable table(2);
  table.row({"variant", "metric", "first", "this", "change %", "from", "to", "evidence"});
  for (std::size_t v = 1; v < all.variants.size(); ++v)
    for (const PairedFigure& f : all.variants[v].figures)
      table.row({all.names[v], f.metric, figure_text(f.first), figure_text(f.mean),
                 signed_percent(f.difference.estimate, f.first),
                 signed_percent(f.difference.low, f.first),
                 signed_percent(f.difference.high, f.first), std::string(name(f.evidence))});
  return table.text();
}

std::string length_text(const LengthShift& shift) {
  if (!shift.to_tokens) return fmt::format(">= {}", shift.from_tokens);
  return fmt::format("{}..{}", shift.from_tokens, *shift.to_tokens - 1);
}

std::string share_text(std::uint64_t part, std::uint64_t of) {
  return fmt::format("{:.1f}", 100.0 * static_cast<double>(part) / static_cast<double>(of));
}

std::string shifts_table(const Replicated& all) {
  TextTable table(3);
  table.row(
      {"variant", "class", "prompt", "requests", "faster %", "slower %", "TTFT ms", "E2EL ms"});
  for (std::size_t v = 1; v < all.variants.size(); ++v)
    for (const LengthShift& shift : all.variants[v].shifts)
      table.row({all.names[v], shift.class_name, length_text(shift), fmt::format("{}", shift.pairs),
                 share_text(shift.faster, shift.pairs), share_text(shift.slower, shift.pairs),
                 fmt::format("{:+.1f}", shift.mean_ttft_change_ms),
                 fmt::format("{:+.1f}", shift.mean_e2el_change_ms)});
  return table.text();
}

std::string steadiness_text(const std::string& name, const Steadiness& s, std::size_t count) {
  const std::string warm_up =
      s.steady == 0 ? "no steady state in any replication"
                    : fmt::format("warm-up ends by {:.3g} s{}", s.warm_up_s,
                                  s.steady == count ? ""
                                                    : fmt::format(" ({} of {} replications come to "
                                                                  "a steady state)",
                                                                  s.steady, count));
  std::string out = fmt::format("{}: {}", name, warm_up);
  for (const ClassGrowth& growth : s.growth)
    if (growth.saturated)
      out += fmt::format(
          "; SATURATED: {:.3g} more requests of class {} in the system in the last third of its "
          "arrivals than in the middle one. Percentiles depend on how long is simulated",
          growth.requests.estimate, growth.class_name);
  return out;
}

}  // namespace

std::string replications_text(const Replicated& all) {
  std::string out = fmt::format(
      "\nAgainst '{}', {} replications (seed, seed + 1, ... of each variant), {:.4g} % intervals "
      "of "
      "the change\n",
      all.names.front(), all.count, 100.0 * all.confidence);
  if (all.measured_from_s)
    out += fmt::format("measured from {:.4g} s on, where all variants have warmed up (MSER-5)\n",
                       *all.measured_from_s);
  out += figures_table(all);
  if (all.precision)
    out += fmt::format("precision of {:.3g} %: {} after {} replications\n", 100.0 * *all.precision,
                       all.reached ? "reached" : "NOT reached", all.count);
  out += "Each interval holds by itself: of twenty without a difference one may show evidence.\n";
  out += "\nThe same requests, by the length of their prompts\n" + shifts_table(all);
  for (std::size_t v = 1; v < all.variants.size(); ++v)
    if (all.variants[v].unpaired > 0)
      out += wrapped(fmt::format("{}: {} requests have no partner in '{}' that completed with the "
                                 "same lengths",
                                 all.names[v], all.variants[v].unpaired, all.names.front()),
                     2, 100);
  out += "\nSteady state\n";
  for (std::size_t v = 0; v < all.variants.size(); ++v)
    out += wrapped(steadiness_text(all.names[v], all.variants[v].steadiness, all.count), 2, 100);
  return out;
}

}  // namespace tokenline::report
