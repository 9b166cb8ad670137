#include "calib/datasheet_form.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/node.hpp"

namespace tokenline::calib {
namespace {

bool is_marker(std::string_view line) {
  const std::string_view mark = line.substr(0, 3);
  return (mark == "---" || mark == "...") && (line.size() == 3 || line[3] == ' ');
}

/// Whether a line has neither keys nor values.
bool is_blank(std::string_view line) {
  const auto first = line.find_first_not_of(' ');
  return first == std::string_view::npos || line[first] == '#';
}

/// Mistakes that single lines show.
void check_lines(const std::string& path, std::string_view rest,
                 std::vector<config::Diagnostic>& mistakes) {
  constexpr const char* why = "the lines of a catalog entry stand before and after this text";
  const auto mistake = [&](int line, std::string message) {
    mistakes.push_back({{path, line, 1}, "", std::move(message), why});
  };
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (rest.starts_with(byte_order_mark)) {
    mistake(1, "a byte order mark");
    rest.remove_prefix(byte_order_mark.size());
  }
  bool first = true;
  int line = 0;
  while (!rest.empty()) {
    ++line;
    const auto end = rest.find('\n');
    std::string_view text = rest.substr(0, end);
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (is_marker(text)) mistake(line, fmt::format("'{}' marks a document", text.substr(0, 3)));
    if (first && !is_blank(text)) {
      first = false;
      if (text[text.find_first_not_of(' ')] == '{') mistake(line, "keys in braces");
    }
    if (end == std::string_view::npos) mistake(line, "the last line has no end");
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
}

}  // namespace

void check_datasheet_form(const std::string& path) {
  const std::string text = config::read_file(path);
  const config::Node root = config::parse_yaml(path, text);
  std::vector<config::Diagnostic> mistakes;
  check_lines(path, text, mistakes);
  if (mistakes.empty())
    for (const config::Node::Entry& entry : root.entries)
      if (entry.where.column != 1)
        mistakes.push_back({entry.where, entry.key, "keys of a datasheet stand in the first column",
                            "remove the indentation"});
  if (!mistakes.empty()) throw config::ConfigError(std::move(mistakes));
}

}  // namespace tokenline::calib
