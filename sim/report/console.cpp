#include "sim/report/console.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/report/text_table.hpp"

namespace tokenline::report {
namespace {

/// Width of the block of `vllm bench serve`, and of its labels.
constexpr int block_width = 50;
constexpr int label_width = 40;

std::string title(std::string_view text, char fill) {
  const std::string format = fmt::format("{{:{}^{}}}\n", fill, block_width);
  return fmt::format(fmt::runtime(format), text);
}

std::string entry(std::string_view label, const std::string& value) {
  return fmt::format("{:<{}} {}\n", label, label_width, value);
}

std::string figure_value(const Figure& figure) {
  if (!figure.value) return "-";
  return figure.whole ? fmt::format("{:.0f}", *figure.value) : fmt::format("{:.2f}", *figure.value);
}

std::string text_of(const Figures& figures, std::string_view key) {
  const Figure* figure = figures.find(key);
  return figure == nullptr ? "-" : figure_text(figure->value, figure->whole);
}

std::string percent(std::optional<double> fraction) {
  return fraction ? fmt::format("{:.1f} %", 100.0 * *fraction) : "-";
}

std::string percent_of(const Figures& figures, std::string_view key) {
  const Figure* figure = figures.find(key);
  return percent(figure == nullptr ? std::nullopt : figure->value);
}

/// Only where there are any: the block is otherwise that of `vllm bench serve`.
std::string failures(const ClassSummary& all) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> causes{
      {{"rejected", "  refused at the door:"},
       {"timed_out", "  given up by their clients:"},
       {"lost_crash", "  lost in crashes:"}}};
  std::string out;
  for (const auto& [key, label] : causes)
    if (const Figure& count = *all.figures.find(key); count.value != 0.0)
      out += entry(label, figure_value(count));
  return out;
}

std::string totals(const ClassSummary& all) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> lines{
      {{"completed", "Successful requests:"},
       {"failed", "Failed requests:"},
       {"duration_s", "Benchmark duration (s):"},
       {"total_input_tokens", "Total input tokens:"},
       {"total_output_tokens", "Total generated tokens:"},
       {"request_throughput", "Request throughput (req/s):"},
       {"output_throughput", "Output token throughput (tok/s):"},
       {"total_token_throughput", "Total Token throughput (tok/s):"}}};
  std::string out;
  for (const auto& [key, label] : lines) {
    out += entry(label, figure_value(*all.figures.find(key)));
    if (key == "failed") out += failures(all);
  }
  if (all.has_targets)
    out += entry("Request goodput (req/s):", figure_value(*all.figures.find("request_goodput")));
  return out;
}

std::string latencies(const ClassSummary& all) {
  struct Metric {
    std::string_view key;
    std::string_view name;
    std::string_view title;
  };
  constexpr std::array<Metric, 4> metrics{
      {{"ttft", "TTFT", "Time to First Token"},
       {"tpot", "TPOT", "Time per Output Token (excl. 1st token)"},
       {"itl", "ITL", "Inter-token Latency"},
       {"e2el", "E2EL", "End-to-end Latency"}}};
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> statistics{
      {{"mean", "Mean"}, {"median", "Median"}, {"p90", "P90"}, {"p99", "P99"}}};
  std::string out;
  for (const Metric& metric : metrics) {
    out += title(metric.title, '-');
    for (const auto& [key, label] : statistics)
      out += entry(fmt::format("{} {} (ms):", label, metric.name),
                   figure_value(*all.figures.find(fmt::format("{}_{}_ms", key, metric.key))));
  }
  return out;
}

std::string class_table(const Summary& summary) {
  TextTable table(1);
  table.row({"", "", "", "TTFT", "TTFT", "TPOT", "TPOT", "ITL", "ITL", "E2EL", "output", ""});
  table.row({"class", "done", "failed", "mean ms", "P99 ms", "mean ms", "P99 ms", "P99 ms",
             "max ms", "P99 ms", "tok/s", "goodput"});
  for (const ClassSummary& c : summary.classes) {
    std::vector<std::string> cells{c.name};
    for (const std::string_view key :
         {"completed", "failed", "mean_ttft_ms", "p99_ttft_ms", "mean_tpot_ms", "p99_tpot_ms",
          "p99_itl_ms", "max_itl_ms", "p99_e2el_ms", "output_throughput"})
      cells.push_back(text_of(c.figures, key));
    cells.push_back(percent_of(c.figures, "goodput_fraction"));
    table.row(std::move(cells));
  }
  return table.text();
}

bool has_prefix_cache(const Summary& summary) {
  return std::ranges::any_of(summary.instances, [](const InstanceSummary& i) {
    return i.figures.find("prefix_cache_hit_rate") != nullptr;
  });
}

std::string instance_table(const Summary& summary) {
  TextTable table(2);
  std::vector<std::string> titles{"instance", "gpu",     "busy",      "FLOPs",
                                  "HBM bw",   "KV peak", "KV waste",  "HBM peak",
                                  "running",  "waiting", "preempted", "restarts"};
  const bool cached = has_prefix_cache(summary);
  if (cached) titles.emplace_back("KV hits");
  table.row(std::move(titles));
  for (const InstanceSummary& i : summary.instances) {
    std::vector<std::string> cells{i.name,
                                   fmt::format("{} x {}", text_of(i.figures, "gpus"), i.gpu)};
    for (const std::string_view key :
         {"busy_fraction", "flops_utilization", "bandwidth_utilization", "kv_peak_fraction",
          "kv_waste_fraction", "hbm_peak_fraction"})
      cells.push_back(percent_of(i.figures, key));
    for (const std::string_view key : {"mean_running", "mean_waiting", "preemptions", "restarts"})
      cells.push_back(text_of(i.figures, key));
    if (cached) cells.push_back(percent_of(i.figures, "prefix_cache_hit_rate"));
    table.row(std::move(cells));
  }
  return table.text();
}

/// Nothing without pools.
std::string pool_lines(const Summary& summary) {
  std::string out;
  for (const PoolSummary& pool : summary.pools)
    out += fmt::format(
        "pool {} ({}): {} replicas, {} x {}, busy {}, FLOPs {}, HBM bw {}, KV peak {}\n", pool.name,
        pool.role, text_of(pool.figures, "replicas"), text_of(pool.figures, "gpus"), pool.gpu,
        percent_of(pool.figures, "busy_fraction"), percent_of(pool.figures, "flops_utilization"),
        percent_of(pool.figures, "bandwidth_utilization"),
        percent_of(pool.figures, "kv_peak_fraction"));
  if (!summary.transfers) return out;
  const Figures& t = *summary.transfers;
  out += fmt::format("transfers: {} landed, {} cancelled, {} B", text_of(t, "landed"),
                     text_of(t, "cancelled"), text_of(t, "delivered_bytes"));
  for (const std::string_view what : {"queue", "wire"})
    out += fmt::format(
        "; {} mean {}, median {}, P90 {}, P99 {} ms", what,
        text_of(t, fmt::format("mean_{}_ms", what)), text_of(t, fmt::format("median_{}_ms", what)),
        text_of(t, fmt::format("p90_{}_ms", what)), text_of(t, fmt::format("p99_{}_ms", what)));
  return out + '\n';
}

std::string ledger_line(std::string_view label, const std::vector<double>& by_part_ms) {
  constexpr std::size_t most = 4;
  const auto shares = largest_parts(by_part_ms);
  std::string line;
  for (std::size_t i = 0; i < std::min(most, shares.size()); ++i)
    line += fmt::format("{}{} {} ms ({})", i == 0 ? "" : ", ", name(shares[i].part),
                        figure_text(shares[i].amount_ms), percent(shares[i].fraction));
  return fmt::format("  {}: {}\n", label, line.empty() ? "-" : line);
}

std::string ledger(const Summary& summary) {
  std::string out = "Where the time to the first token went:\n";
  const bool one = summary.classes.size() <= 2;
  for (const ClassSummary& c : summary.classes) {
    if (one && c.name != "all") continue;
    out += ledger_line(fmt::format("{} mean", c.name), c.ttft.mean_ms);
    out += ledger_line(fmt::format("{} P99", c.name), c.ttft.p99_ms);
  }
  return out;
}

}  // namespace

std::string audit_verdict(const AuditReport& audit) {
  const auto held = std::ranges::count_if(audit.checks, &AuditCheck::passed);
  std::string out = fmt::format("audit: {}, {} of {} checks hold\n",
                                audit.passed ? "passed" : "FAILED", held, audit.checks.size());
  for (const AuditCheck& check : audit.checks)
    if (!check.passed) out += fmt::format("  {} {}: {}\n", check.id, check.name, check.details);
  return out;
}

std::string failed_asserts(const Summary& summary) {
  std::string out;
  for (const AssertResult& result : summary.asserts)
    if (!result.passed)
      out += fmt::format("assert failed: {} (it is {})\n", result.condition,
                         result.value ? figure_text(result.value) : "without a value");
  return out;
}

/// " (mla 10.2 %, gemm 0.1 %)", or nothing.
std::string off_grid_operators(const Summary& summary) {
  std::string out;
  for (const auto& [kind, share] : summary.off_grid_by_operator)
    out += fmt::format("{}{} {}", out.empty() ? " (" : ", ", kind, percent(share));
  return out.empty() ? out : out + ")";
}

/// "sessions 40, sessions_completed 38, …" and the rows that were left out; nothing where there are
/// none.
std::string traffic_counts(const Summary& summary) {
  std::string out;
  for (const auto& [name, count] : summary.sessions)
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", name, count);
  if (!out.empty()) out += '\n';
  for (const auto& [path, rows] : summary.left_out)
    out += fmt::format("left out: {} rows, as {} says\n", rows, path);
  return out;
}

std::string fleet_life(const Summary& summary) {
  std::string out;
  if (summary.fleet) {
    const auto text = [&](std::string_view key) { return text_of(summary.fleet_figures, key); };
    out += fmt::format("fleet: {} replicas in the mean, {} to {}; {} up, {} down, {} GPU hours\n",
                       text("mean_replicas"), text("least_replicas"), text("most_replicas"),
                       text("scale_ups"), text("scale_downs"), text("gpu_hours"));
  }
  if (!summary.faults.empty())
    out += fmt::format("faults: {} of {} happened\n",
                       std::ranges::count_if(summary.faults, &FaultResult::happened),
                       summary.faults.size());
  return out;
}

std::string console_text(const Summary& summary) {
  const ClassSummary& all = *summary.find_class("all");
  std::string out = title(" Serving Benchmark Result ", '=');
  out += totals(all) + latencies(all) + std::string(block_width, '=') + '\n';
  if (summary.classes.size() > 2) out += '\n' + class_table(summary);
  out += '\n' + instance_table(summary) + pool_lines(summary) + '\n' + ledger(summary) + '\n';
  if (summary.fidelity) out += fidelity_text(*summary.fidelity) + '\n';
  out += fmt::format("engine: {} ({}), scheduler {}; seed {}\n", summary.engine.preset,
                     summary.engine.modelled, summary.engine.scheduler, summary.seed);
  out += traffic_counts(summary) + fleet_life(summary);
  out += fmt::format("prices: {} of GPU time outside the measured grid{}\n",
                     percent(summary.off_grid_fraction), off_grid_operators(summary));
  out += audit_verdict(summary.audit);
  if (!summary.asserts.empty())
    out += fmt::format("asserts: {} of {} hold\n",
                       std::ranges::count_if(summary.asserts, &AssertResult::passed),
                       summary.asserts.size());
  return out + failed_asserts(summary);
}

}  // namespace tokenline::report
