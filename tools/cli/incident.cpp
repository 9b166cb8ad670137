#include "sim/report/incident.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "sim/base/check.hpp"
#include "sim/config/numbers.hpp"
#include "sim/report/console.hpp"
#include "sim/report/summary.hpp"
#include "tools/cli/arguments.hpp"
#include "tools/cli/commands.hpp"
#include "workloads/traffic/class_name.hpp"
#include "workloads/traffic/incident_log.hpp"

namespace tokenline::cli {
namespace {

/// Marks a folder that `incident import` may overwrite.
constexpr std::string_view import_marker = "import.json";

Usage incident_usage() {
  return {
      .synopsis = "incident import FILE --format FORMAT --out DIR [options]",
      .about =
          "Makes a scenario of what a server logged, replays it, and says how near the replay is.\n"
          "FORMAT is access-log (CSV: arrival_s, or timestamp as in 2026-11-29T10:00:00.03Z,\n"
          "prompt_tokens, output_tokens, ttft_ms or ttft_s, e2el_ms or e2el_s, class; other "
          "columns "
          "are\nnamed and ignored), vllm-bench (the JSON of `vllm bench serve --save-result "
          "--save-detailed`)\nor vllm-log (the throughput lines of a vLLM server).",
      .positional = "FILE",
      .options =
          {{"format", "FORMAT", "access-log, vllm-bench or vllm-log.", false},
           {"out", "DIR", "Write scenario.yaml, trace.csv, observed.csv and import.json there.",
            false},
           {"base", "SCENARIO", "The fleet that served it; its own traffic is left out.", false},
           {"model", "MODEL", "Without --base: the model, and", false},
           {"gpu", "GPU", "the GPU of one replica.", false},
           {"set", "PATH=VALUE", "Override a key of that scenario; repeatable.", true},
           {"class", "NAME", "The class of requests where the file has none; 'requests'.", false},
           {"tolerance", "X", "How far a replayed P99 may be from the observed one; 0.2.", false},
           {"unanswered", "leave_out", "Leave out requests without output tokens, and count them.",
            false},
           {"prompt-tokens", "N", "Mean prompt of a vllm-log, which does not say it.", false},
           {"json", "", "Print one JSON object.", false}},
      .epilogue =
          "`tokenline compare` of a study over DIR/scenario.yaml refuses to say what would have "
          "happened\nwhere the replay misses what did. Exit code 1 where it does.\n" +
          std::string(exit_codes())};
}

double tolerance(const Arguments& arguments) {
  const std::string text = arguments.value("tolerance").value_or("0.2");
  const auto number = config::parse_real(text);
  if (!number.ok() || number.value < 0.0 || number.value > 10.0)
    throw UsageError(fmt::format("--tolerance {}: expected a number from 0 to 10", text));
  return number.value;
}

std::optional<std::int64_t> prompt_tokens(const Arguments& arguments) {
  const auto text = arguments.value("prompt-tokens");
  if (!text) return std::nullopt;
  const auto number = config::parse_integer(*text);
  if (!number.ok() || number.value < 1 || number.value > 1'000'000'000)
    throw UsageError(fmt::format("--prompt-tokens {}: expected a whole number of tokens", *text));
  return number.value;
}

traffic::LogSelection selection(const Arguments& arguments) {
  traffic::LogSelection selection{.file = arguments.positional()};
  const std::string format = arguments.required("format");
  const auto& formats = traffic::log_formats();
  const auto found = std::ranges::find(formats, format);
  if (found == formats.end()) throw UsageError(unknown("format", format, formats));
  selection.format = static_cast<traffic::LogFormat>(found - formats.begin());
  selection.class_name = arguments.value("class").value_or(selection.class_name);
  if (const auto problem = traffic::class_name_problem(selection.class_name); !problem.empty())
    throw UsageError("--class: " + problem);
  const auto unanswered = arguments.value("unanswered");
  if (unanswered && *unanswered != "leave_out")
    throw UsageError(fmt::format("--unanswered {}: expected leave_out", *unanswered));
  selection.leave_out_unanswered = unanswered.has_value();
  selection.prompt_tokens = prompt_tokens(arguments);
  if (selection.prompt_tokens && selection.format != traffic::LogFormat::vllm_log)
    throw UsageError("--prompt-tokens: the file says how long prompts are");
  return selection;
}

/// The fleet: of a scenario, or one replica of a model on a GPU, to which nothing arrives.
Scenario fleet(const Arguments& arguments) {
  const ScenarioOptions options{.overrides = arguments.values("set")};
  const auto base = arguments.value("base");
  if (base && (arguments.has("model") || arguments.has("gpu")))
    throw UsageError("--base names the model and the GPU: leave out --model and --gpu");
  if (base) return load_scenario(*base, options);
  const auto quoted = [&](const char* option) {
    return config::emit_scalar(arguments.required(option), true);
  };
  const std::string model = quoted("model");
  const std::string gpu = quoted("gpu");
  const std::string text = fmt::format(
      "scenario: {}\nmodel: {}\ncluster: {{gpu: {}}}\ntraffic:\n  none:\n"
      "    arrival: {{process: poisson, rate: [{{at: 1 s, rate: 1/s}}]}}\n"
      "    stop: 1 s\n    prompt_tokens: 1\n    output_tokens: 1\n",
      config::emit_scalar(arguments.required("model") + ", " + arguments.required("gpu"), true),
      model, gpu);
  return parse_scenario("incident.yaml", text, options);
}

report::IncidentTraffic traffic_of(traffic::IncidentLog& log) {
  report::IncidentTraffic incident{
      .requests = {.arrivals = std::move(log.arrivals), .contents = {}},
      .classes = {},
      .left_out = log.left_out,
      .assumed = std::move(log.assumed),
      .ignored_columns = std::move(log.ignored_columns)};
  for (const std::string& name : log.classes) incident.classes.push_back({name, {}});
  return incident;
}

void write(const std::string& directory, const Scenario& base, const report::IncidentSource& source,
           const report::IncidentTraffic& incident, const traffic::Observed& observed,
           double tolerance) {
  const std::filesystem::path folder(directory);
  std::vector<std::uint32_t> all(incident.requests.arrivals.size());
  std::iota(all.begin(), all.end(), 0U);
  const auto file = [&](std::string_view name, std::string text) {
    return report::OutputFile{(folder / name).string(), std::move(text)};
  };
  report::write_files(std::vector<report::OutputFile>{
      file("scenario.yaml", report::incident_yaml(base, source, incident, tolerance, directory)),
      file("trace.csv", traffic::trace_csv(incident.requests, all, incident.classes)),
      file("observed.csv", traffic::observed_csv(observed)),
      file(import_marker, report::import_json(incident))});
}

/// Says which columns of a log do not matter, so that a latency or a class under another name is
/// not lost in silence.
std::string ignored_note(const std::string& file, const std::vector<std::string>& columns) {
  if (columns.empty()) return {};
  return fmt::format("{}: ignored: column{} {}\n", file, columns.size() == 1 ? "" : "s",
                     fmt::join(columns, ", "));
}

Outcome import(const Arguments& arguments) {
  const std::string out = arguments.required("out");
  const double allowed = tolerance(arguments);
  const Scenario base = fleet(arguments);
  traffic::IncidentLog log = traffic::read_incident_log(selection(arguments));
  report::claim_directory(out, import_marker);
  std::set<std::string> inputs = report::input_files(base);
  inputs.insert(std::filesystem::weakly_canonical(arguments.positional()).string());
  report::refuse_inputs(out, inputs);
  const report::IncidentTraffic incident = traffic_of(log);
  const report::IncidentSource source{
      .log = std::filesystem::path(arguments.positional()).filename().string(),
      .format = arguments.required("format")};
  write(out, base, source, incident, log.observed, allowed);

  Scenario scenario = load_scenario((std::filesystem::path(out) / "scenario.yaml").string());
  const RunResult result = run(scenario, probes(scenario.observed));
  const report::Summary summary = report::summarize(scenario, result);
  TOKENLINE_CHECK(summary.audit.passed, "{}", report::audit_verdict(summary.audit));
  const report::Fidelity& fidelity = summary.fidelity.value();
  return {fidelity.passed() ? success : assert_failed,
          arguments.has("json") ? report::fidelity_json(fidelity) + '\n'
                                : report::import_text(incident, fidelity),
          ignored_note(arguments.positional(), incident.ignored_columns)};
}

}  // namespace

Outcome incident_command(const std::vector<std::string>& words) {
  std::vector<std::string> rest = words;
  const bool named = !rest.empty() && rest.front() == "import";
  if (named) rest.erase(rest.begin());
  const bool help = !rest.empty() && (rest.front() == "--help" || rest.front() == "-h");
  if (!named && !help)
    throw UsageError(rest.empty() ? "incident: what to do is missing: tokenline incident import"
                                  : unknown("action", rest.front(), {"import"}));
  const auto arguments = parse(incident_usage(), rest);
  if (!arguments) return {success, help_text(incident_usage())};
  return import(*arguments);
}

}  // namespace tokenline::cli
