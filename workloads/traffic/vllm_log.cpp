#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/config/numbers.hpp"
#include "workloads/traffic/csv_file.hpp"
#include "workloads/traffic/log_requests.hpp"
#include "workloads/traffic/timestamp.hpp"

namespace tokenline::traffic {
namespace {

/// What one line says: rates over the time since the line before, and the queue at its instant.
struct ThroughputLine {
  std::int64_t nanoseconds = 0;
  double prompt_rate = 0.0;  ///< Tokens per second, of prompts whose computation began.
  double output_rate = 0.0;
  std::int64_t running = 0;
  std::int64_t waiting = 0;
};

constexpr double ns_per_second = 1e9;

class VllmLogReader {
 public:
  VllmLogReader(config::Document& document, const LogSelection& selection)
      : selection_(selection), file_(document, selection.file) {}

  IncidentLog read() {
    // Why not next_line(): an empty line is no mistake in a log.
    std::string_view rest = file_.text();
    while (file_.ok() && !rest.empty()) {
      const std::string_view text = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(rest.size(), text.size() + 1));
      ++number_;
      if (text.find("Avg prompt throughput:") != std::string_view::npos) read_line(text);
    }
    if (file_.ok() && lines_.size() < 2)
      file_.error(
          1, 1,
          fmt::format("{} lines with 'Avg prompt throughput:': two are needed", lines_.size()));
    if (!selection_.prompt_tokens)
      file_.error(1, 1, "the lines say tokens per second, not how long a prompt is",
                  "give the mean with --prompt-tokens");
    return file_.ok() ? spread() : IncidentLog{};
  }

 private:
  void read_line(std::string_view text) {
    ThroughputLine line;
    line.nanoseconds = time_of(text);
    line.prompt_rate = number_after(text, "Avg prompt throughput: ");
    line.output_rate = number_after(text, "Avg generation throughput: ");
    line.running = static_cast<std::int64_t>(number_after(text, "Running: "));
    line.waiting = static_cast<std::int64_t>(number_after(text, "Waiting: "));
    check_engine(text);
    if (!lines_.empty() && line.nanoseconds <= lines_.back().nanoseconds)
      error("the line is not later than the one before",
            "a log across the end of a year is imported in two parts");
    lines_.push_back(line);
  }

  void error(std::string message, std::string hint = {}) {
    file_.error(number_, 1, std::move(message), std::move(hint));
  }

  /// "INFO 02-26 11:54:39": a log does not say its year. Why 2023: it is no leap year, and a log
  /// has a 29th of February or goes past it so rarely that it is refused instead.
  std::int64_t time_of(std::string_view text) {
    constexpr std::size_t length = 14;
    for (std::size_t i = 0; i + length <= text.size(); ++i) {
      const std::string_view stamp = text.substr(i, length);
      if (stamp[2] != '-' || stamp[5] != ' ' || stamp[8] != ':' || stamp[11] != ':') continue;
      const Timestamp time = parse_calendar_time("2023-" + std::string(stamp));
      if (time.nanoseconds) return *time.nanoseconds;
    }
    error("no time like '02-26 11:54:39' in the line");
    return lines_.empty() ? 0 : lines_.back().nanoseconds + 1;
  }

  double number_after(std::string_view text, std::string_view label) {
    const auto at = text.find(label);
    if (at != std::string_view::npos) {
      const std::string_view rest = text.substr(at + label.size());
      const auto number = config::parse_real(rest.substr(0, rest.find_first_not_of("0123456789.")));
      if (number.ok()) return number.value;
    }
    error(fmt::format("no number after '{}'", label));
    return 0.0;
  }

  void check_engine(std::string_view text) {
    const auto at = text.find("Engine ");
    const std::string_view engine =
        at == std::string_view::npos ? "" : text.substr(at, text.find(':', at) - at);
    if (lines_.empty())
      engine_ = engine;
    else if (engine != engine_)
      error(fmt::format("'{}', where the lines before are of '{}'", engine, engine_),
            "import one engine at a time");
  }

  /// The time that the rates of line `i` are about: vLLM logs at equal intervals and is silent
  /// while it is idle.
  [[nodiscard]] std::int64_t interval() const {
    std::int64_t least = lines_[1].nanoseconds - lines_[0].nanoseconds;
    for (std::size_t i = 2; i < lines_.size(); ++i)
      least = std::min(least, lines_[i].nanoseconds - lines_[i - 1].nanoseconds);
    return least;
  }

  /// Requests spread over the intervals: in each arrive those that began to be computed and those
  /// by which the queue grew.
  IncidentLog spread() {
    const auto prompt = static_cast<double>(*selection_.prompt_tokens);
    const std::int64_t step = interval();
    double prompts = 0.0;
    double outputs = 0.0;
    for (std::size_t i = 1; i < lines_.size(); ++i) {
      prompts += lines_[i].prompt_rate;
      outputs += lines_[i].output_rate;
    }
    const double answer = prompts > 0.0 ? outputs / prompts * prompt : 0.0;
    if (answer < 0.5 || answer > static_cast<double>(most_tokens)) {
      file_.error(
          1, 1, fmt::format("{:.1f} output tokens per request: no answer can be so long", answer));
      return {};
    }
    output_ = static_cast<std::int64_t>(std::llround(answer));
    double begun = static_cast<double>(lines_[0].running);
    double arrived = begun + static_cast<double>(lines_[0].waiting);
    add_until(0, 0, 0.0, arrived);
    for (std::size_t i = 1; i < lines_.size(); ++i) {
      const ThroughputLine& line = lines_[i];
      begun += line.prompt_rate * static_cast<double>(step) / ns_per_second / prompt;
      const double until = std::max(arrived, begun + static_cast<double>(line.waiting));
      const std::int64_t end = line.nanoseconds - lines_[0].nanoseconds;
      add_until(end - step, end, arrived, until);
      arrived = until;
    }
    return finish(step);
  }

  /// The requests whose number lies in (`from`, `to`], evenly from `begin` to `end`.
  void add_until(std::int64_t begin, std::int64_t end, double from, double to) {
    while (static_cast<double>(log_.arrivals.size() + 1) <= to) {
      const double number = static_cast<double>(log_.arrivals.size() + 1);
      const double share = to > from ? (number - from) / (to - from) : 1.0;
      const auto offset = std::llround(std::max(0.0, share) * static_cast<double>(end - begin));
      log_.arrivals.push_back(
          {TimePoint(Duration(begin + offset)), *selection_.prompt_tokens, output_, 0});
    }
  }

  IncidentLog finish(std::int64_t step) {
    log_.classes = {selection_.class_name};
    for (const ThroughputLine& line : lines_)
      log_.observed.queue.push_back({TimePoint(Duration(line.nanoseconds - lines_[0].nanoseconds)),
                                     line.running, line.waiting});
    if (log_.arrivals.empty()) file_.error(1, 1, "no request arrives in this log");
    log_.assumed = {
        fmt::format("Every prompt has {} tokens (--prompt-tokens), every answer {}: generated by "
                    "prompt tokens of the whole log.",
                    *selection_.prompt_tokens, output_),
        fmt::format("In each interval of {:.0f} s arrive, evenly, the requests whose prompts were "
                    "computed and those by which the queue grew.",
                    static_cast<double>(step) / ns_per_second),
        fmt::format("The {} requests of the first line arrive with it, with all their tokens to "
                    "come.",
                    lines_[0].running + lines_[0].waiting)};
    return std::move(log_);
  }

  const LogSelection& selection_;
  TextFile file_;
  std::vector<ThroughputLine> lines_;
  std::string engine_;
  int number_ = 0;  ///< Of the line of the file.
  std::int64_t output_ = 0;
  IncidentLog log_;
};

}  // namespace

IncidentLog read_vllm_log(config::Document& document, const LogSelection& selection) {
  return VllmLogReader(document, selection).read();
}

}  // namespace tokenline::traffic
