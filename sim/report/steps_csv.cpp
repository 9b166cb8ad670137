#include "sim/report/steps_csv.hpp"

#include <fmt/format.h>

#include <iterator>
#include <ostream>
#include <string_view>

namespace tokenline::report {
namespace {

constexpr std::string_view header =
    "instance,micro_batch,begin_s,end_s,host_ms,swap_ms,gpu_ms,pipeline_wait_ms,"
    "decode_sequences,decode_context,prompts,prefill_tokens,running,waiting,blocked,kv_used_blocks,"
    "flops,"
    "hbm_bytes\n";

/// `time` with `digits` decimals, in units of 10^digits nanoseconds.
void add_time(fmt::memory_buffer& row, Duration time, std::int64_t unit, int digits) {
  fmt::format_to(std::back_inserter(row), "{}.{:0{}},", time.count() / unit, time.count() % unit,
                 digits);
}
void add_step_s(fmt::memory_buffer& row, TimePoint when) {
  add_time(row, when.time_since_epoch(), 1'000'000'000, 9);
}
void add_step_ms(fmt::memory_buffer& row, Duration time) { add_time(row, time, 1'000'000, 6); }

void add_row(fmt::memory_buffer& row, std::string_view instance, const LoggedStep& step,
             TimePoint end) {
  fmt::format_to(std::back_inserter(row), "{},{},", instance, step.micro_batch);
  add_step_s(row, step.begin);
  add_step_s(row, end);
  add_step_ms(row, step.host);
  add_step_ms(row, step.swapping);
  add_step_ms(row, step.gpu);
  add_step_ms(row, step.waiting);
  fmt::format_to(std::back_inserter(row), "{},{},{},{},{},{},{},{},{},{}\n", step.decode_sequences,
                 step.decode_context, step.pieces, step.prefill_tokens, step.running,
                 step.waiting_requests, blocked_name(step.blocked), step.kv_used_blocks,
                 step.flops.value(), step.hbm_bytes.value());
}

}  // namespace

std::string_view blocked_name(Blocked blocked) {
  switch (blocked) {
    case Blocked::nothing:
      return "";
    case Blocked::sequence_slot:
      return "sequence_slot";
    case Blocked::kv_blocks:
      return "kv_blocks";
    case Blocked::token_budget:
      return "token_budget";
  }
  return "";
}

void write_steps_csv(std::ostream& out, const RunLog& log, const RunResult& run) {
  constexpr std::size_t enough = 1U << 20U;
  fmt::memory_buffer rows;
  rows.append(header);
  const auto flush = [&] {
    out.write(rows.data(), static_cast<std::streamsize>(rows.size()));
    rows.clear();
  };
  for (std::size_t i = 0; i < log.instances().size(); ++i) {
    const InstanceLog& instance = log.instances()[i];
    for (std::size_t step = 0; step < instance.steps.size(); ++step) {
      add_row(rows, run.instances[i].name, instance.steps[step], instance.ended(step));
      if (rows.size() >= enough) flush();
    }
  }
  flush();
}

}  // namespace tokenline::report
