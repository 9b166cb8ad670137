#include "workloads/traffic/log_requests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "workloads/traffic/csv_file.hpp"
#include "workloads/traffic/trace_rows.hpp"

namespace tokenline::traffic {
namespace {

/// Mean time per output token after the first; tokens that leave in pairs count one by one.
std::optional<Duration> tpot_of(const LoggedRequest& request) {
  if (!request.ttft || !request.e2el || request.output_tokens < 2) return std::nullopt;
  const std::int64_t gaps = request.output_tokens - 1;
  return Duration(((*request.e2el - *request.ttft).count() + gaps / 2) / gaps);
}

}  // namespace

const std::vector<std::string>& log_formats() {
  static const std::vector<std::string> names{"access-log", "vllm-bench", "vllm-log"};
  return names;
}

bool LogRequests::check(const LoggedRequest& request) {
  const auto refuse = [&](std::string message, std::string hint = {}) {
    file_.error(request.line, request.column, std::move(message), std::move(hint));
    return false;
  };
  if (request.prompt_tokens < 1 || request.prompt_tokens > most_tokens)
    return refuse(token_count_problem(fmt::format("{}", request.prompt_tokens)));
  if (request.output_tokens < 1 || request.output_tokens > most_tokens)
    return refuse(token_count_problem(fmt::format("{}", request.output_tokens)),
                  request.output_tokens == 0
                      ? "a request without an answer: --unanswered leave_out leaves such rows out"
                      : "");
  if (request.ttft && request.e2el && *request.ttft > *request.e2el)
    return refuse("the first token comes after the last");
  return true;
}

void LogRequests::add(const LoggedRequest& request) {
  if (request.output_tokens == 0 && selection_.leave_out_unanswered)
    ++log_.left_out;
  else if (check(request))
    requests_.push_back(request);
}

IncidentLog LogRequests::finish() {
  std::ranges::stable_sort(requests_, {}, &LoggedRequest::nanoseconds);
  for (const LoggedRequest& r : requests_) {
    const TimePoint when{Duration(r.nanoseconds - requests_.front().nanoseconds)};
    const std::string_view name = r.class_name.empty() ? selection_.class_name : r.class_name;
    log_.arrivals.push_back({when, r.prompt_tokens, r.output_tokens, index_of(log_.classes, name)});
    log_.observed.requests.push_back({when, std::string(name), r.ttft, tpot_of(r), r.e2el});
  }
  if (requests_.empty() && file_.ok()) file_.error(1, 1, "no request is left");
  return std::move(log_);
}

IncidentLog read_incident_log(const LogSelection& selection) {
  config::Node nothing;
  nothing.kind = config::Node::Kind::mapping;
  nothing.where = {selection.file, 1, 1};
  config::Document document(std::move(nothing));
  IncidentLog log;
  switch (selection.format) {
    case LogFormat::access_log:
      log = read_access_log(document, selection);
      break;
    case LogFormat::vllm_bench:
      log = read_vllm_bench(document, selection);
      break;
    case LogFormat::vllm_log:
      log = read_vllm_log(document, selection);
      break;
  }
  document.throw_if_errors();
  return log;
}

}  // namespace tokenline::traffic
