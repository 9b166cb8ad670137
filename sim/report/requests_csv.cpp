#include "sim/report/requests_csv.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <iterator>
#include <ostream>
#include <string_view>

namespace tokenline::report {
namespace {

using Buffer = fmt::memory_buffer;

void add(Buffer& row, std::string_view text) { row.append(text.data(), text.data() + text.size()); }

/// `,` and the duration in milliseconds.
void add_ms(Buffer& row, Duration duration) {
  const auto ns = duration.count();
  fmt::format_to(std::back_inserter(row), ",{}.{:06}", ns / 1'000'000, ns % 1'000'000);
}

/// `,` and the instant in seconds.
void add_s(Buffer& row, TimePoint when) {
  const auto ns = when.time_since_epoch().count();
  fmt::format_to(std::back_inserter(row), ",{}.{:09}", ns / 1'000'000'000, ns % 1'000'000'000);
}

void add_tpot(Buffer& row, const RequestRecord& r) {
  const std::int64_t gaps = r.output_tokens - 1;
  if (gaps == 0) return add(row, ",");
  add_ms(row, Duration(((r.e2el() - r.ttft()).count() + gaps / 2) / gaps));
}

void add_commas(Buffer& row, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) add(row, ",");
}

void add_row(Buffer& row, std::size_t id, const RequestRecord& r, const RunResult& run) {
  fmt::format_to(std::back_inserter(row), "{},{},{},{}", id, run.classes[r.class_index].name,
                 r.outcome == Outcome::rejected ? "" : run.instances[r.instance].name,
                 name(r.outcome));
  add_s(row, r.arrival);
  fmt::format_to(std::back_inserter(row), ",{},{}", r.prompt_tokens, r.output_tokens);
  const bool completed = r.outcome == Outcome::completed;
  if (completed) {
    add_ms(row, r.ttft());
    add_tpot(row, r);
    add_ms(row, r.e2el());
    add_s(row, r.first_token);
  } else {
    add_commas(row, 4);
  }
  if (r.outcome == Outcome::in_flight)
    add(row, ",");
  else
    add_s(row, r.finish);
  fmt::format_to(std::back_inserter(row), ",{},{},{}", r.preemptions, r.retries,
                 r.recomputed_tokens);
  if (!run.log.cached_tokens.empty())
    fmt::format_to(std::back_inserter(row), ",{}", run.log.cached_tokens[id]);
  if (completed) {
    for (std::size_t i = 0; i < ttft_part_count; ++i)
      add_ms(row, r.ttft_parts[static_cast<Part>(i)]);
    for (std::size_t i = 0; i < part_count; ++i) add_ms(row, r.parts[static_cast<Part>(i)]);
  } else {
    add_commas(row, ttft_part_count + part_count);
  }
  add(row, "\n");
}

}  // namespace

std::string requests_csv_header(bool cached_tokens) {
  std::string header =
      "request_id,class,instance,outcome,arrival_s,prompt_tokens,output_tokens,ttft_ms,tpot_ms,"
      "e2el_ms,first_token_s,finish_s,preemptions,retries,recomputed_tokens";
  if (cached_tokens) header += ",cached_tokens";
  for (std::size_t i = 0; i < ttft_part_count; ++i)
    header += fmt::format(",ttft_{}_ms", name(static_cast<Part>(i)));
  for (std::size_t i = 0; i < part_count; ++i)
    header += fmt::format(",e2el_{}_ms", name(static_cast<Part>(i)));
  return header;
}

void write_requests_csv(std::ostream& out, const RunResult& run) {
  constexpr std::size_t enough = 1U << 20U;
  Buffer rows;
  add(rows, requests_csv_header(!run.log.cached_tokens.empty()) + "\n");
  std::size_t id = 0;
  for (const RequestRecord& record : run.log.records) {
    add_row(rows, id++, record, run);
    if (rows.size() < enough) continue;
    out.write(rows.data(), static_cast<std::streamsize>(rows.size()));
    rows.clear();
  }
  out.write(rows.data(), static_cast<std::streamsize>(rows.size()));
}

}  // namespace tokenline::report
