#include "sim/engine/audit.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tokenline {
namespace {

/// Sums over the records that the checks compare with the instances' own counts.
struct Totals {
  std::uint64_t in_flight = 0;
  std::uint64_t completed = 0;
  std::uint64_t lost = 0;
  std::uint64_t rejected = 0;
  std::uint64_t timed_out = 0;
  std::uint64_t out_of_order = 0;  ///< Not arrival <= first token <= finish.
  std::uint64_t ledger_mismatches = 0;
  std::int64_t output_tokens = 0;  ///< Of completed requests.
  std::int64_t kv_tokens = 0;      ///< prompt + output - 1 of completed requests.
  std::int64_t gaps = 0;           ///< output - 1 of measured completed requests.
  stats::Int128 sojourn = 0;
};

Totals total(const RequestLog& log) {
  Totals t;
  for (const RequestRecord& r : log.records) {
    t.sojourn += (r.finish - r.arrival).count();
    if (r.outcome == Outcome::in_flight) ++t.in_flight;
    if (r.outcome == Outcome::lost_oom || r.outcome == Outcome::lost_crash) ++t.lost;
    if (r.outcome == Outcome::rejected) ++t.rejected;
    if (r.outcome == Outcome::timed_out) ++t.timed_out;
    if (r.parts.sum() != r.e2el()) ++t.ledger_mismatches;
    if (r.outcome != Outcome::completed) continue;
    ++t.completed;
    t.output_tokens += r.output_tokens;
    t.kv_tokens += r.prompt_tokens + r.output_tokens - 1;
    if (r.measured) t.gaps += r.output_tokens - 1;
    if (r.first_token < r.arrival || r.finish < r.first_token) ++t.out_of_order;
    if (r.ttft_parts.sum() != r.ttft()) ++t.ledger_mismatches;
  }
  return t;
}

/// Sums of one counter over the instances.
std::int64_t over(const AuditInput& input, std::int64_t InstanceStats::* counter) {
  std::int64_t sum = 0;
  for (const AuditedInstance& instance : input.instances) sum += instance.stats.*counter;
  return sum;
}

AuditCheck requests_conserved(const AuditInput& input, const Totals& t) {
  std::int64_t outstanding = 0;
  for (const AuditedInstance& instance : input.instances) outstanding += instance.outstanding;
  std::string how =
      input.rejected > 0 ? fmt::format(" ({} refused at the door)", input.rejected) : "";
  if (input.timed_out > 0) how += fmt::format(" ({} given up by clients)", input.timed_out);
  return {.id = "A1",
          .name = "requests are conserved",
          .passed = input.offered == input.log.records.size() && input.ended == input.offered &&
                    t.in_flight == 0 && outstanding == 0 && t.rejected == input.rejected &&
                    t.timed_out == input.timed_out &&
                    t.completed + t.lost + t.rejected + t.timed_out == input.offered,
          .details = fmt::format("{} offered, {} ended{}, {} left", input.offered, input.ended, how,
                                 outstanding)};
}

std::string_view and_given_up(const AuditInput& input) {
  return over(input, &InstanceStats::abandoned) > 0 ? " and given up" : "";
}

AuditCheck tokens_conserved(const AuditInput& input, const Totals& t) {
  const std::int64_t emitted = over(input, &InstanceStats::emitted_tokens);
  const std::int64_t discarded = over(input, &InstanceStats::discarded_tokens);
  return {.id = "A2",
          .name = "output tokens are conserved",
          .passed = emitted == t.output_tokens + discarded,
          .details = fmt::format("{} emitted, {} delivered, {} discarded by crashes{}", emitted,
                                 t.output_tokens, discarded, and_given_up(input))};
}

AuditCheck kv_conserved(const AuditInput& input, const Totals& t) {
  const std::int64_t written =
      over(input, &InstanceStats::prefilled_tokens) + over(input, &InstanceStats::decoded_tokens);
  const std::int64_t thrown_away = over(input, &InstanceStats::recomputed_tokens);
  const std::int64_t lost = over(input, &InstanceStats::lost_kv_tokens);
  const std::int64_t found = over(input, &InstanceStats::hit_tokens) +
                             over(input, &InstanceStats::external_hit_tokens) -
                             over(input, &InstanceStats::spared_tokens);
  const std::string cached = found > 0 ? fmt::format(", {} found in the prefix cache", found) : "";
  return {
      .id = "A3",
      .name = "KV entries are conserved",
      .passed = written + found == t.kv_tokens + thrown_away + lost,
      .details = fmt::format("{} written, {} needed, {} preempted, {} lost in crashes{}{}", written,
                             t.kv_tokens, thrown_away, lost, and_given_up(input), cached)};
}

AuditCheck blocks_conserved(const AuditInput& input) {
  std::int64_t allocated = 0;
  std::int64_t released = 0;
  bool passed = true;
  for (const AuditedInstance& instance : input.instances) {
    allocated += instance.blocks_allocated;
    released += instance.blocks_released;
    passed = passed && instance.blocks_allocated == instance.blocks_released;
  }
  return {.id = "A4",
          .name = "KV blocks are conserved",
          .passed = passed,
          .details = fmt::format("{} allocated, {} released", allocated, released)};
}

AuditCheck causality(const Totals& t) {
  return {.id = "A5",
          .name = "no answer precedes its request",
          .passed = t.out_of_order == 0,
          .details = fmt::format("{} requests out of order", t.out_of_order)};
}

AuditCheck ledger_sums(const Totals& t) {
  return {.id = "A6",
          .name = "ledger parts sum to the latencies",
          .passed = t.ledger_mismatches == 0,
          .details = fmt::format("{} requests differ", t.ledger_mismatches)};
}

AuditCheck littles_law(const AuditInput& input, const Totals& t) {
  return {.id = "A7",
          .name = "Little's law",
          .passed = input.in_system == t.sojourn,
          .details = fmt::format("{:.6f} request-seconds in the system, {:.6f} by request",
                                 static_cast<double>(input.in_system) * 1e-9,
                                 static_cast<double>(t.sojourn) * 1e-9)};
}

AuditCheck memory_bounded(const AuditInput& input) {
  double peak = 0.0;
  bool passed = true;
  for (const AuditedInstance& instance : input.instances) {
    const InstanceStats& stats = instance.stats;
    peak = std::max(peak, stats.hbm_peak / instance.hbm_capacity);
    passed = passed && stats.hbm_peak <= instance.hbm_capacity &&
             (stats.hbm_peak_asked > instance.hbm_capacity) == (stats.restarts > stats.failures);
  }
  return {.id = "A8",
          .name = "HBM is never exceeded silently",
          .passed = passed,
          .details = fmt::format("peak {:.4f} of HBM, {} crashes", peak,
                                 over(input, &InstanceStats::restarts))};
}

AuditCheck time_bounded(const AuditInput& input) {
  bool passed = true;
  Duration busy{};
  for (const AuditedInstance& instance : input.instances) {
    const InstanceStats& stats = instance.stats;
    busy += stats.busy;
    passed = passed && stats.busy + stats.down <= input.end - TimePoint{};
  }
  return {
      .id = "A9",
      .name = "no instance is busier than time allows",
      .passed = passed,
      .details = fmt::format("{:.6f} s busy on {} instances in {:.6f} s", to_seconds(busy).value(),
                             input.instances.size(), to_seconds(input.end - TimePoint{}).value())};
}

AuditCheck gaps_counted(const AuditInput& input, const Totals& t) {
  std::int64_t counted = 0;
  for (const stats::Histogram& gaps : input.log.token_gaps) counted += gaps.count();
  // Attempts lost in a crash or given up have delivered tokens that no completed request accounts
  // for.
  const bool attempts_failed =
      over(input, &InstanceStats::restarts) + over(input, &InstanceStats::abandoned) > 0;
  return {.id = "A10",
          .name = "every inter-token gap is counted once",
          .passed = attempts_failed ? counted >= t.gaps : counted == t.gaps,
          .details = fmt::format("{} counted, {} between delivered tokens", counted, t.gaps)};
}

bool has_cache(const AuditInput& input) {
  return std::ranges::any_of(input.instances,
                             [](const AuditedInstance& i) { return i.cache.has_value(); });
}

AuditCheck cached_blocks_conserved(const AuditInput& input) {
  std::int64_t blocks = 0;
  PrefixCache::Census sum;
  bool passed = true;
  for (const AuditedInstance& instance : input.instances) {
    if (!instance.cache) continue;
    const CacheAudit& cache = *instance.cache;
    blocks += cache.blocks;
    sum.blank += cache.census.blank;
    sum.cached += cache.census.cached;
    sum.referenced += cache.census.referenced;
    // At the end of a run every block in use would be one that a sequence still holds.
    passed = passed && cache.census.referenced == cache.used &&
             cache.census.blank + cache.census.cached + cache.census.referenced == cache.blocks;
  }
  return {.id = "A11",
          .name = "blocks of the prefix cache are conserved",
          .passed = passed,
          .details = fmt::format("{} blank, {} cached, {} held of {}", sum.blank, sum.cached,
                                 sum.referenced, blocks)};
}

AuditCheck swapped_blocks_conserved(const AuditInput& input) {
  const std::int64_t out = over(input, &InstanceStats::swapped_out_blocks);
  const std::int64_t in = over(input, &InstanceStats::swapped_in_blocks);
  const std::int64_t dropped = over(input, &InstanceStats::swap_dropped_blocks);
  bool passed = out == in + dropped;
  for (const AuditedInstance& instance : input.instances)
    if (instance.swap)
      passed = passed && instance.swap->allocated == instance.swap->released &&
               instance.swap->allocated == instance.stats.swapped_out_blocks &&
               instance.stats.swap_peak_blocks <= instance.swap->blocks;
  return {.id = "A13",
          .name = "swapped KV comes back",
          .passed = passed,
          .details = fmt::format("{} blocks swapped out, {} swapped in, {} lost in crashes{}", out,
                                 in, dropped, and_given_up(input))};
}

AuditCheck tier_blocks_conserved(const AuditInput& input) {
  bool passed = true;
  std::int64_t there = 0;
  std::int64_t read = 0;
  for (const AuditedInstance& instance : input.instances) {
    if (!instance.tiers) continue;
    const TierAudit& tiers = *instance.tiers;
    std::int64_t own = 0;
    for (std::size_t i = 0; i < most_tiers; ++i) {
      own += tiers.census[i];
      read += instance.stats.tiers[i].read_blocks * tiers.block_size;
      passed = passed && instance.stats.tiers[i].peak_blocks <= tiers.blocks[i] &&
               tiers.census[i] <= instance.stats.tiers[i].peak_blocks;
    }
    passed = passed && own == tiers.known;
    there += own;
  }
  const std::int64_t used = over(input, &InstanceStats::loaded_tokens);
  const std::int64_t lost = over(input, &InstanceStats::lost_load_tokens);
  return {.id = "A14",
          .name = "KV that is loaded from tiers is used",
          .passed = passed && read == used + lost,
          .details = fmt::format("{} tokens read, {} used, {} lost in crashes; {} blocks kept",
                                 read, used, lost, there)};
}

bool has_tiers(const AuditInput& input) {
  return std::ranges::any_of(input.instances,
                             [](const AuditedInstance& i) { return i.tiers.has_value(); });
}

bool swaps(const AuditInput& input) {
  return std::ranges::any_of(input.instances,
                             [](const AuditedInstance& i) { return i.swap.has_value(); });
}

AuditCheck transfers_conserved(const TransferCounts& t) {
  return {.id = "A12",
          .name = "KV that is sent arrives",
          .passed = t.left == 0 && t.begun == t.landed + t.cancelled &&
                    t.flows.begun == t.flows.delivered + t.flows.cancelled &&
                    t.flows.delivered - t.delivered_of_cancelled == t.received_bytes,
          .details = fmt::format("{} transfers begun, {} landed, {} cancelled; {} B sent, {} "
                                 "delivered, {} kept by receivers",
                                 t.begun, t.landed, t.cancelled, t.flows.begun, t.flows.delivered,
                                 t.received_bytes)};
}

}  // namespace

AuditReport audit(const AuditInput& input) {
  const Totals t = total(input.log);
  AuditReport report;
  report.checks = {requests_conserved(input, t),
                   tokens_conserved(input, t),
                   kv_conserved(input, t),
                   blocks_conserved(input),
                   causality(t),
                   ledger_sums(t),
                   littles_law(input, t),
                   memory_bounded(input),
                   time_bounded(input),
                   gaps_counted(input, t)};
  if (has_cache(input)) report.checks.push_back(cached_blocks_conserved(input));
  if (swaps(input)) report.checks.push_back(swapped_blocks_conserved(input));
  if (has_tiers(input)) report.checks.push_back(tier_blocks_conserved(input));
  if (input.transfers) report.checks.push_back(transfers_conserved(*input.transfers));
  report.passed = std::ranges::all_of(report.checks, &AuditCheck::passed);
  return report;
}

}  // namespace tokenline
