#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "workloads/traffic/csv_file.hpp"
#include "workloads/traffic/json_problem.hpp"
#include "workloads/traffic/log_requests.hpp"

namespace tokenline::traffic {
namespace {

using Json = nlohmann::json;

/// Longer than any clock of a benchmark has run, and within int64 nanoseconds.
constexpr double most_seconds = 9.2e9;

class VllmBenchReader {
 public:
  VllmBenchReader(config::Document& document, const LogSelection& selection)
      : file_(document, selection.file), requests_(file_, selection) {}

  IncidentLog read() {
    if (!file_.ok() || !parse()) return {};
    const std::size_t count = list_of("input_lens").size();
    for (const char* name : {"output_lens", "ttfts"}) check_length(name, count);
    for (const char* name : {"itls", "errors"})
      if (json_.contains(name)) check_length(name, count);
    const bool at_once = starts(count);
    if (!file_.ok()) return {};
    for (std::size_t i = 0; i < count && file_.ok(); ++i) read_request(i, at_once);
    IncidentLog log = requests_.finish();
    if (at_once)
      log.assumed.emplace_back(
          "The result has no start_times; with request_rate inf and no max_concurrency all "
          "requests "
          "were sent at once.");
    return log;
  }

 private:
  bool parse() {
    try {
      json_ = Json::parse(file_.text());
    } catch (const Json::parse_error& problem) {
      file_.error(1, 1, json_problem(problem.what()));
      return false;
    }
    if (json_.is_object()) return true;
    file_.error(1, 1, "expected one JSON object");
    return false;
  }

  const Json& list_of(const std::string& name) {
    static const Json none = Json::array();
    const auto found = json_.find(name);
    if (found != json_.end() && found->is_array()) return *found;
    file_.error(1, 1, fmt::format("there is no list '{}'", name),
                "write the result with --save-result --save-detailed");
    return none;
  }

  void check_length(const std::string& name, std::size_t count) {
    const std::size_t size = list_of(name).size();
    if (size != count)
      file_.error(1, 1,
                  fmt::format("'{}' has {} items, where input_lens has {}", name, size, count));
  }

  /// Whether all requests were sent at once, as a result without start times may say.
  bool starts(std::size_t count) {
    if (json_.contains("start_times")) {
      check_length("start_times", count);
      return false;
    }
    const Json rate = json_.value("request_rate", Json());
    if (rate == "inf" && json_.value("max_concurrency", Json()).is_null()) return true;
    file_.error(1, 1, "there are no 'start_times', so that nothing says when requests were sent",
                "vLLM writes them from January 2026 on (its pull request 32667)");
    return false;
  }

  void read_request(std::size_t i, bool at_once) {
    LoggedRequest request;
    request.prompt_tokens = count(json_["input_lens"][i], "input_lens", i);
    request.output_tokens = failed(i) ? 0 : count(json_["output_lens"][i], "output_lens", i);
    request.ttft = seconds(json_["ttfts"][i], "ttfts", i);
    if (!at_once) request.nanoseconds = seconds(json_["start_times"][i], "start_times", i).count();
    if (json_.contains("itls")) request.e2el = *request.ttft + gaps(json_["itls"][i], i);
    if (file_.ok()) requests_.add(request);
  }

  /// Whether the client says so; it may have had a part of the answer.
  [[nodiscard]] bool failed(std::size_t i) const {
    return json_.contains("errors") && json_["errors"][i].is_string() &&
           !json_["errors"][i].get_ref<const std::string&>().empty();
  }

  /// The client takes the end of an answer for the last gap's (`latency` of its RequestFuncOutput).
  Duration gaps(const Json& list, std::size_t i) {
    Duration sum{};
    if (!list.is_array()) wrong("itls", i, list, "a list of seconds");
    for (const Json& gap : list.is_array() ? list : Json::array()) sum += seconds(gap, "itls", i);
    return sum;
  }

  std::int64_t count(const Json& value, const char* name, std::size_t i) {
    if (value.is_number_integer() && value >= 0 && value <= most_tokens)
      return value.get<std::int64_t>();
    wrong(name, i, value, "a whole number of tokens");
    return 0;
  }

  Duration seconds(const Json& value, const char* name, std::size_t i) {
    if (value.is_number() && value.get<double>() >= 0.0 && value.get<double>() < most_seconds)
      return to_duration(Seconds(value.get<double>()));
    wrong(name, i, value, "seconds");
    return {};
  }

  void wrong(const char* name, std::size_t i, const Json& value, const char* expected) {
    file_.error(
        1, 1,
        fmt::format("{}[{}]: expected {}, got {}", name, i, expected, value.dump().substr(0, 40)));
  }

  TextFile file_;
  LogRequests requests_;
  Json json_;
};

}  // namespace

IncidentLog read_vllm_bench(config::Document& document, const LogSelection& selection) {
  return VllmBenchReader(document, selection).read();
}

}  // namespace tokenline::traffic
