#include "workloads/traffic/sharegpt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "sim/config/utf8.hpp"
#include "workloads/traffic/csv_file.hpp"
#include "workloads/traffic/json_problem.hpp"
#include "workloads/traffic/trace_rows.hpp"

namespace tokenline::traffic {
namespace {

using Json = nlohmann::json;

/// Walks through a text and lets others know how far the parser has come.
struct Cursor {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at = nullptr;
  const char** seen = nullptr;

  reference operator*() const { return *at; }
  Cursor& operator++() {
    *seen = ++at;
    return *this;
  }
  friend bool operator==(const Cursor& a, const Cursor& b) { return a.at == b.at; }
};

class ShareGptReader {
 public:
  ShareGptReader(config::Document& document, const TraceSelection& selection,
                 double characters_per_token)
      : selection_(selection),
        characters_per_token_(characters_per_token),
        file_(document, selection.file),
        rows_(file_, selection) {}

  Trace read();

 private:
  /// Moves the place of mistakes on to a byte of the text.
  void advance_to(std::size_t byte);
  /// Reads one element of the list, which begins at the place of mistakes.
  void read_conversation(const Json& conversation);
  /// The text of a message, or null and a mistake.
  const std::string* text_of(const Json& message);
  [[nodiscard]] std::int64_t tokens(const std::string& text) const {
    return static_cast<std::int64_t>(
        std::ceil(config::count_characters(text) / characters_per_token_));
  }
  void error(std::string message, std::string hint = {}) {
    file_.error(line_, column_, std::move(message), std::move(hint));
  }

  const TraceSelection& selection_;
  double characters_per_token_;
  TextFile file_;
  TraceRows rows_;
  std::size_t byte_ = 0;
  int line_ = 1;
  int column_ = 1;
};

Trace ShareGptReader::read() {
  if (!file_.ok()) return {};
  const std::string_view text = file_.text();
  const char* seen = text.data();
  // Why: a published file has hundreds of megabytes; each conversation is dropped once it is read.
  const auto drop = [&](int depth, Json::parse_event_t event, const Json& parsed) {
    if (depth == 1 && event == Json::parse_event_t::object_start)
      advance_to(static_cast<std::size_t>(seen - text.data()) - 1);
    if (depth != 1 || event != Json::parse_event_t::object_end) return true;
    read_conversation(parsed);
    return false;
  };
  try {
    const Json rest =
        Json::parse(Cursor{text.data(), &seen}, Cursor{text.data() + text.size(), &seen}, drop);
    if (!rest.is_array() || !rest.empty())
      file_.error(1, 1, "expected a list of conversations, each an object");
  } catch (const Json::parse_error& problem) {
    advance_to(std::max<std::size_t>(problem.byte, 1) - 1);
    error(json_problem(problem.what()));
  }
  return rows_.finish(false);
}

void ShareGptReader::advance_to(std::size_t byte) {
  const std::string_view text = file_.text();
  for (; byte_ < std::min(byte, text.size()); ++byte_) {
    const auto code = static_cast<unsigned char>(text[byte_]);
    if (code == '\n') {
      ++line_;
      column_ = 1;
    } else if ((code & 0xC0U) != 0x80U) {  // Not the continuation of a character.
      ++column_;
    }
  }
}

void ShareGptReader::read_conversation(const Json& conversation) {
  const auto messages = conversation.find("conversations");
  if (messages == conversation.end() || !messages->is_array()) {
    error("a conversation without a list 'conversations'");
    return;
  }
  TraceRow row{.prompt = {0, line_, column_}, .output = {0, line_, column_}};
  if (messages->size() >= 2) {
    const std::string* prompt = text_of((*messages)[0]);
    const std::string* answer = prompt == nullptr ? nullptr : text_of((*messages)[1]);
    if (answer == nullptr) return;
    row.prompt.value = tokens(*prompt);
    row.output.value = row.prompt.value == 0 ? 0 : tokens(*answer);
  }
  if (row.output.value == 0 && !selection_.leave_out_unanswered)
    error("a conversation without a prompt and an answer", leave_out_hint);
  rows_.take(row, false);
}

const std::string* ShareGptReader::text_of(const Json& message) {
  if (message.is_object())
    if (const auto value = message.find("value"); value != message.end() && value->is_string())
      return value->get_ptr<const std::string*>();
  error("a conversation whose first two messages have no text 'value'");
  return nullptr;
}

}  // namespace

Trace read_sharegpt(config::Document& document, const TraceSelection& selection,
                    double characters_per_token) {
  return ShareGptReader(document, selection, characters_per_token).read();
}

}  // namespace tokenline::traffic
