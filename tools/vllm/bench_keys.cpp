#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/config/node.hpp"
#include "sim/config/numbers.hpp"
#include "tools/vllm/from_vllm.hpp"

namespace tokenline::vllm {
namespace {

using Json = nlohmann::ordered_json;

const std::string traffic = "traffic.bench.";
/// Steps of a rate that stand for a ramp-up; each holds its share of the requests.
constexpr std::int64_t ramp_steps = 64;

/// Turns the flags of the benchmark into keys.
class Bench {
 public:
  Bench(const CommandLine& line, const FromVllmOptions& options, Keys& keys)
      : line_(line), options_(options), keys_(keys) {}

  void translate() {
    keys_.set("seed", std::to_string(integer("seed", 0, 0)), from("seed"));
    prompts_ = integer("num-prompts", 1000, 1);
    const std::string dataset = word("dataset-name", "random");
    if (dataset == "random")
      random();
    else if (dataset == "prefix_repetition")
      prefix_repetition();
    else if (dataset == "sonnet")
      sonnet();
    else if (dataset == "sharegpt")
      sharegpt();
    else if (dataset == "burstgpt")
      burstgpt();
    else
      refuse(*line_.find("dataset-name"), "its lengths are not known here",
             "run it once with --save-result --save-detailed, and `tokenline incident import` it");
    keys_.set(traffic + "num_prompts", std::to_string(prompts_), from("num-prompts"));
    arrivals();
    goodput();
    if (line_.find("ignore-eos") == nullptr && !line_.flags.empty())
      keys_.note("answers have the lengths asked for, as with --ignore-eos");
    for (const std::string& extra : line_.positional)
      keys_.mistake(mistake_in("vllm bench serve", "", fmt::format("unexpected word '{}'", extra)));
  }

 private:
  [[nodiscard]] std::string from(std::string_view flag) const {
    const Given* given = line_.find(flag);
    return given == nullptr ? fmt::format("default of --{}", flag) : given->text;
  }

  void refuse(const Given& given, std::string message, std::string hint = {}) {
    keys_.mistake(mistake_in(given.text, "", std::move(message), std::move(hint)));
  }

  std::string word(std::string_view flag, const std::string& standard) const {
    const Given* given = line_.find(flag);
    return given == nullptr ? standard : given->values.front();
  }

  std::int64_t integer(std::string_view flag, std::int64_t standard, std::int64_t least) {
    const Given* given = line_.find(flag);
    if (given == nullptr) return standard;
    const auto number = config::parse_integer(given->values.front());
    if (number.ok() && number.value >= least) return number.value;
    refuse(*given, fmt::format("'{}' is no whole number from {} on", given->values.front(), least));
    return std::max(standard, least);
  }

  /// A length that `--input-len` or `--output-len` gives as well, which then counts.
  std::pair<std::int64_t, std::string> length(std::string_view flag, std::string_view general,
                                              std::int64_t standard, std::int64_t least = 1) {
    if (line_.find(general) != nullptr) return {integer(general, standard, least), from(general)};
    return {integer(flag, standard, least), from(flag)};
  }

  /// The shares by which prompts and answers may differ from their lengths: one number, or
  /// {"input": x, "output": y}.
  std::pair<double, double> range_ratio() {
    const Given* given = line_.find("random-range-ratio");
    if (given == nullptr) return {0.0, 0.0};
    const Json value = Json::parse(given->values.front(), nullptr, false);
    double input = -1.0;
    double output = -1.0;
    if (value.is_number()) {
      input = output = value.get<double>();
    } else if (value.is_object() && value.value("input", Json()).is_number() &&
               value.value("output", Json()).is_number()) {
      input = value["input"].get<double>();
      output = value["output"].get<double>();
    }
    if (input >= 0.0 && input < 1.0 && output >= 0.0 && output < 1.0) return {input, output};
    refuse(*given, "expected a number from 0 on and below 1");
    return {0.0, 0.0};
  }

  /// Uniform on [floor(n (1 - r)), ceil(n (1 + r))], as the benchmark draws lengths.
  void set_length(const std::string& key, const std::pair<std::int64_t, std::string>& length,
                  double ratio) {
    const auto n = static_cast<double>(length.first);
    const auto low =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(std::floor(n * (1.0 - ratio))));
    const auto high = static_cast<std::int64_t>(std::ceil(n * (1.0 + ratio)));
    const std::string value =
        ratio == 0.0 ? std::to_string(length.first)
                     : fmt::format("{{distribution: uniform, min: {}, max: {}}}", low, high);
    keys_.set(traffic + key, value,
              ratio == 0.0 ? length.second : length.second + ' ' + from("random-range-ratio"));
  }

  void set_prefix(std::int64_t tokens, std::int64_t groups, const std::string& origin) {
    if (tokens > 0)
      keys_.set(traffic + "shared_prefix",
                groups == 1 ? fmt::format("{{tokens: {}}}", tokens)
                            : fmt::format("{{tokens: {}, groups: {}}}", tokens, groups),
                origin);
  }

  void random() {
    const auto [input, output] = range_ratio();
    set_length("prompt_tokens", length("random-input-len", "input-len", 1024), input);
    set_length("output_tokens", length("random-output-len", "output-len", 128), output);
    set_prefix(integer("random-prefix-len", 0, 0), 1, from("random-prefix-len"));
  }

  void prefix_repetition() {
    const std::int64_t prefixes = integer("prefix-repetition-num-prefixes", 10, 1);
    set_prefix(integer("prefix-repetition-prefix-len", 256, 1), prefixes,
               from("prefix-repetition-prefix-len") + ' ' + from("prefix-repetition-num-prefixes"));
    set_length("prompt_tokens", length("prefix-repetition-suffix-len", "", 256), 0.0);
    set_length("output_tokens", length("prefix-repetition-output-len", "output-len", 128), 0.0);
    // The tool makes as many of each prefix as divide evenly.
    if (prompts_ < prefixes)
      keys_.mistake(mistake_in(from("num-prompts"), "", "fewer prompts than prefixes"));
    prompts_ -= prompts_ % prefixes;
  }

  void sonnet() {
    const std::int64_t prefix = integer("sonnet-prefix-len", 200, 0);
    auto prompt = length("sonnet-input-len", "", 550);
    prompt.first = std::max<std::int64_t>(1, prompt.first - prefix);
    set_prefix(prefix, 1, from("sonnet-prefix-len"));
    set_length("prompt_tokens", prompt, 0.0);
    set_length("output_tokens", length("sonnet-output-len", "", 150), 0.0);
    keys_.note("sonnet: prompts have the length asked for; the tool's end with a whole line");
  }

  /// The data file, named from where the scenario will stand.
  bool dataset_file() {
    const Given* given = line_.find("dataset-path");
    if (given == nullptr) {
      refuse(*line_.find("dataset-name"), "needs --dataset-path");
      return false;
    }
    keys_.set(traffic + "lengths.file",
              config::emit_scalar(named_from(options_, given->values.front()), true), given->text);
    return true;
  }

  void sharegpt() {
    if (!dataset_file()) return;
    keys_.set(traffic + "lengths.format", "sharegpt", from("dataset-name"));
    keys_.set(traffic + "lengths.unanswered", "leave_out", from("dataset-name"));
    const bool counted = std::ranges::any_of(options_.overrides, [](const std::string& o) {
      return o.starts_with(traffic + "lengths.characters_per_token=");
    });
    if (!counted)
      refuse(*line_.find("dataset-name"), "no flag says how many characters a token has",
             "--set traffic.bench.lengths.characters_per_token=4.5, counted on a sample");
    keys_.unmodelled(from("dataset-name"),
                     "the tool drops pairs with a side under 4 tokens and prompts over 1,024");
    for (const std::string_view flag : {"sharegpt-output-len", "output-len"})
      if (line_.find(flag) != nullptr)
        keys_.unmodelled(from(flag), "answers have the lengths of the file");
  }

  void burstgpt() {
    if (!dataset_file()) return;
    keys_.set(traffic + "lengths.format", "burstgpt", from("dataset-name"));
    keys_.set(traffic + "lengths.class", "GPT-4", "the rows that the tool takes");
    keys_.set(traffic + "lengths.unanswered", "leave_out", "as the tool does");
  }

  std::optional<double> positive(const Given& given) {
    const auto number = config::parse_real(given.values.front());
    if (number.ok() && number.value > 0.0) return number.value;
    refuse(given, fmt::format("'{}' is no number above 0", given.values.front()));
    return std::nullopt;
  }

  void arrivals() {
    const Given* rate = line_.find("request-rate");
    const bool flood = rate == nullptr || rate->values.front() == "inf";
    const Given* concurrency = line_.find("max-concurrency");
    if (line_.find("ramp-up-strategy") != nullptr) return ramp_up(flood, concurrency);
    for (const std::string_view flag : {"ramp-up-start-rps", "ramp-up-end-rps"})
      if (const Given* given = line_.find(flag)) refuse(*given, "goes with --ramp-up-strategy");
    if (flood) {
      const std::int64_t clients = std::min(integer("max-concurrency", prompts_, 1), prompts_);
      keys_.set(traffic + "arrival",
                fmt::format("{{process: closed_loop, max_concurrency: {}}}", clients),
                concurrency == nullptr ? from("request-rate") : concurrency->text);
      return;
    }
    limit_beside_rate(concurrency);
    if (const auto per_second = positive(*rate)) open_loop(fmt::format("{}/s", *per_second), *rate);
  }

  void limit_beside_rate(const Given* concurrency) {
    if (concurrency != nullptr && integer("max-concurrency", prompts_, 1) < prompts_)
      keys_.unmodelled(concurrency->text, "requests beside a finite rate are not held back here");
  }

  void open_loop(const std::string& rate, const Given& given) {
    const Given* burstiness = line_.find("burstiness");
    std::string process = "poisson";
    std::string shape;
    std::string origin = given.text;
    if (burstiness != nullptr) {
      origin += ' ' + burstiness->text;
      if (burstiness->values.front() == "inf") {
        process = "constant";
      } else if (const auto k = positive(*burstiness); k && *k != 1.0) {
        process = "gamma";
        shape = fmt::format(", burstiness: {}", *k);
      }
    }
    keys_.set(traffic + "arrival", fmt::format("{{process: {}{}, rate: {}}}", process, shape, rate),
              origin);
  }

  /// Request i follows the one before it after 1 / r_i on average, with r_i growing from the start
  /// to the end evenly or by equal factors. Steps of a rate hold as many requests in as much time.
  void ramp_up(bool flood, const Given* concurrency) {
    const Given& strategy = *line_.find("ramp-up-strategy");
    const bool linear = strategy.values.front() == "linear";
    const Given* start = line_.find("ramp-up-start-rps");
    const Given* end = line_.find("ramp-up-end-rps");
    if (!linear && strategy.values.front() != "exponential")
      return refuse(strategy, "expected linear or exponential");
    if (!flood) return refuse(strategy, "instead of --request-rate, not beside it");
    if (start == nullptr || end == nullptr)
      return refuse(strategy, "needs --ramp-up-start-rps and --ramp-up-end-rps");
    const auto low = positive(*start);
    const auto high = positive(*end);
    if (!low || !high) return;
    if (*low > *high) return refuse(*start, "more than --ramp-up-end-rps");
    limit_beside_rate(concurrency);
    std::string points;
    double time = 0.0;
    std::int64_t request = 0;
    const std::int64_t steps = std::min(ramp_steps, prompts_);
    for (std::int64_t k = 1; k <= steps; ++k) {
      const std::int64_t until = prompts_ * k / steps;
      const std::int64_t count = until - request;
      double lasts = 0.0;
      for (; request < until; ++request) {
        const double progress = static_cast<double>(request) /
                                static_cast<double>(std::max<std::int64_t>(prompts_ - 1, 1));
        lasts += 1.0 / (linear ? *low + (*high - *low) * progress
                               : *low * std::pow(*high / *low, progress));
      }
      points += fmt::format("{}{{at: {:.6f} s, rate: {:.9g}/s}}", points.empty() ? "" : ", ", time,
                            static_cast<double>(count) / lasts);
      time += lasts;
    }
    Given whole = strategy;
    whole.text += ' ' + start->text + ' ' + end->text;
    open_loop("[" + points + "]", whole);
  }

  void goodput() {
    const Given* given = line_.find("goodput");
    if (given == nullptr) return;
    for (const std::string& pair : given->values) {
      const auto colon = pair.find(':');
      const std::string name = pair.substr(0, colon);
      const auto value = colon == std::string::npos
                             ? config::Number<double>{{}, std::errc::invalid_argument}
                             : config::parse_real(pair.substr(colon + 1));
      if ((name != "ttft" && name != "tpot" && name != "e2el") || !value.ok() || value.value < 0.0)
        refuse(*given, fmt::format("'{}': expected ttft, tpot or e2el, and milliseconds", pair),
               "as in --goodput ttft:200 tpot:50");
      else
        keys_.set(traffic + "slo." + name, fmt::format("{} ms", value.value), given->text);
    }
  }

  const CommandLine& line_;
  const FromVllmOptions& options_;
  Keys& keys_;
  std::int64_t prompts_ = 0;
};

}  // namespace

void bench_keys(const CommandLine& line, const FromVllmOptions& options, Keys& keys) {
  Bench(line, options, keys).translate();
}

}  // namespace tokenline::vllm
