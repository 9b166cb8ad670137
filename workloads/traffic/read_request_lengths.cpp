#include "workloads/traffic/read_request_lengths.hpp"

#include <algorithm>
#include <utility>

#include "workloads/traffic/csv_trace.hpp"
#include "workloads/traffic/read_lengths.hpp"
#include "workloads/traffic/read_rows.hpp"
#include "workloads/traffic/sharegpt.hpp"

namespace tokenline::traffic {
namespace {

ReadRequestLengths read_apart(config::Reader& entry) {
  ReadLengths prompt = read_lengths(entry, {"prompt_tokens", "Length of the prompts."});
  ReadLengths output = read_lengths(entry, {"output_tokens", "Length of the answers."});
  const std::int64_t prompt_tokens = longest(prompt.lengths);
  const std::int64_t output_tokens = longest(output.lengths);
  const ReadLengths& blamed = prompt_tokens >= output_tokens ? prompt : output;
  return {IndependentLengths{std::move(prompt.lengths), std::move(output.lengths)},
          {prompt_tokens, prompt_tokens + output_tokens, blamed.where, blamed.path}};
}

/// The formats of traces, and two that have no times.
const std::vector<std::string>& formats() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = trace_formats();
    all.insert(all.end(), {"pairs", "sharegpt"});
    return all;
  }();
  return names;
}

Trace read_rows(config::Document& document, TraceSelection& selection, const std::string& format,
                double characters_per_token) {
  if (format == "sharegpt") return read_sharegpt(document, selection, characters_per_token);
  if (format == "pairs")
    return read_csv_trace(document, selection,
                          {.prompt = "prompt_tokens", .output = "output_tokens"});
  selection.format =
      static_cast<TraceFormat>(std::ranges::find(formats(), format) - formats().begin());
  return read_trace(document, selection);
}

ReadRequestLengths read_joint(config::Reader& section, Traffic& traffic) {
  config::Document& document = section.document();
  const std::size_t before = document.mistakes();
  ReadRequestLengths result;
  TraceSelection selection = read_row_keys(section);
  const std::string format =
      section.word({"format", "How the file spells a request; its times are not used."}, formats());
  double characters_per_token = 1.0;
  section.alternative("with format: sharegpt", format == "sharegpt", [&] {
    characters_per_token = section.real(
        {"characters_per_token", "Texts are counted as tokens of so many characters each."},
        {0.1, 100.0});
  });
  section.finish();
  // Why: with a wrong format or file name every line of the file would look wrong.
  if (selection.file.empty() || document.mistakes() != before) return result;
  const Trace trace = read_rows(document, selection, format, characters_per_token);
  if (document.mistakes() == before) check_rows(section, selection, trace, traffic);
  if (document.mistakes() != before) return result;
  auto rows = std::make_shared<std::vector<TokenCounts>>();
  for (const Arrival& arrival : trace.arrivals)
    rows->push_back({arrival.prompt_tokens, arrival.output_tokens});
  return {JointLengths{std::move(rows)},
          {trace.longest_prompt, trace.longest_total, trace.longest_at, "trace"}};
}

}  // namespace

ReadRequestLengths read_request_lengths(config::Reader& entry, Traffic& traffic) {
  ReadRequestLengths result;
  const bool joint = entry.has("lengths");
  entry.alternative("without lengths", !joint, [&] { result = read_apart(entry); });
  entry.alternative("without prompt_tokens and output_tokens", joint, [&] {
    config::Reader section =
        entry.section({"lengths",
                       "Measured requests, of which prompt and output are drawn "
                       "together."});
    result = read_joint(section, traffic);
  });
  return result;
}

}  // namespace tokenline::traffic
