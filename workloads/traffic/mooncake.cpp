#include "workloads/traffic/mooncake.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/base/random.hpp"
#include "workloads/traffic/csv_file.hpp"
#include "workloads/traffic/json_problem.hpp"
#include "workloads/traffic/trace_rows.hpp"

namespace tokenline::traffic {
namespace {

using Json = nlohmann::json;

/// Tokens of a block with one hash.
constexpr std::int64_t block = 512;
/// The last whole millisecond well inside the clock.
constexpr std::int64_t last_millisecond = 9'200'000'000'000;

const std::vector<std::string> fields{"timestamp", "input_length", "output_length", "hash_ids"};

class MooncakeReader {
 public:
  MooncakeReader(config::Document& document, const TraceSelection& selection)
      : file_(document, selection.file),
        rows_(file_, selection),
        purpose_(RandomStream::hash(selection.file)) {}

  Trace read() {
    while (file_.next_line(line_))
      if (const auto object = parse()) read_request(*object);
    return rows_.finish(false);
  }

 private:
  std::optional<Json> parse();
  void read_request(const Json& object);
  /// A whole number from 0 to `most`, or -1 after reporting something else.
  Placed<std::int64_t> read_number(const Json& object, const std::string& field, std::int64_t most,
                                   std::string_view what);
  void check_hashes(const Json& object, std::int64_t prompt);
  [[nodiscard]] Content content(const Json& hashes, std::int64_t prompt) const;
  /// Of a field: lines are flat, so that its name stands there only once.
  [[nodiscard]] int column(const std::string& field) const {
    return column_of(line_, std::min(line_.find('"' + field + '"'), line_.size()));
  }
  /// The digits of a number, as they stand there.
  [[nodiscard]] std::string_view digits_of(const std::string& field) const;
  void error(const std::string& field, std::string message, std::string hint = {}) {
    file_.error(file_.line(), column(field), std::move(message), std::move(hint));
  }

  TextFile file_;
  TraceRows rows_;
  std::uint64_t purpose_;  ///< Equal hashes of one file are one text.
  std::string_view line_;
};

/// The object of a line, its names checked: each field once and no other.
std::optional<Json> MooncakeReader::parse() {
  std::vector<std::string> names;
  const auto collect = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::key && depth == 1) names.push_back(parsed.get<std::string>());
    return true;
  };
  Json object;
  try {
    object = Json::parse(line_, collect);
  } catch (const Json::parse_error& problem) {
    file_.error(file_.line(), column_of(line_, std::max<std::size_t>(problem.byte, 1) - 1),
                json_problem(problem.what()));
    return std::nullopt;
  }
  if (!object.is_object()) {
    file_.error(file_.line(), 1, "expected one JSON object per line");
    return std::nullopt;
  }
  for (const std::string& name : names)
    if (std::ranges::find(fields, name) == fields.end())
      error(name, fmt::format("unknown field '{}'", name), config::suggestion(name, fields));
  for (const std::string& field : fields) {
    const auto times = std::ranges::count(names, field);
    if (times == 0) file_.error(file_.line(), 1, fmt::format("field '{}' is missing", field));
    if (times > 1) error(field, fmt::format("field '{}' is given twice", field));
  }
  return object;
}

void MooncakeReader::read_request(const Json& object) {
  TraceRow request;
  const auto time = read_number(object, "timestamp", last_millisecond, "milliseconds");
  request.prompt = read_number(object, "input_length", most_tokens, "tokens");
  request.output = read_number(object, "output_length", most_tokens, "tokens");
  rows_.check(request);
  check_hashes(object, request.prompt.value);
  if (time.value < 0) return;
  constexpr std::int64_t nanoseconds = 1'000'000;  // Of a millisecond.
  const auto when =
      rows_.when({time.value * nanoseconds, time.line, time.column}, digits_of("timestamp"), false);
  if (!when) return;
  request.when = *when;
  if (rows_.take(request, false))
    rows_.begins_with(content(object["hash_ids"], request.prompt.value));
}

Content MooncakeReader::content(const Json& hashes, std::int64_t prompt) const {
  Content content;
  for (const Json& hash : hashes) {
    content.push_back({content_id(purpose_, hash.get<std::uint64_t>()), std::min(block, prompt)});
    prompt -= block;
  }
  return content;
}

Placed<std::int64_t> MooncakeReader::read_number(const Json& object, const std::string& field,
                                                 std::int64_t most, std::string_view what) {
  Placed<std::int64_t> number{-1, file_.line(), column(field)};
  const auto found = object.find(field);
  if (found == object.end()) return number;
  if (!found->is_number_integer())
    error(field, fmt::format("expected a whole number of {}, got {}", what, found->dump()));
  else if (*found < 0 || *found > most)
    error(field, fmt::format("{} is out of range: 0 to {} {}", found->dump(), most, what));
  else
    number.value = found->get<std::int64_t>();
  return number;
}

std::string_view MooncakeReader::digits_of(const std::string& field) const {
  constexpr std::string_view digits = "0123456789";
  std::string_view text = line_.substr(line_.find('"' + field + '"') + field.size() + 2);
  text.remove_prefix(text.find_first_of(digits));
  return text.substr(0, text.find_first_not_of(digits));
}

void MooncakeReader::check_hashes(const Json& object, std::int64_t prompt) {
  const std::string field = "hash_ids";
  const auto found = object.find(field);
  if (found == object.end()) return;
  const bool whole = found->is_array() && std::ranges::all_of(*found, [](const Json& hash) {
                       return hash.is_number_unsigned();
                     });
  const auto blocks = static_cast<std::size_t>((prompt + block - 1) / block);
  if (!whole)
    error(field, "expected a list of whole numbers");
  else if (prompt >= 0 && found->size() != blocks)
    error(field, fmt::format("{} hashes, where {} tokens begin {} blocks of {}", found->size(),
                             prompt, blocks, block));
}

}  // namespace

Trace read_mooncake(config::Document& document, const TraceSelection& selection) {
  return MooncakeReader(document, selection).read();
}

}  // namespace tokenline::traffic
