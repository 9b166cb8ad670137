#include "sim/config/places.hpp"

#include <yaml-cpp/mark.h>

#include <algorithm>

#include "sim/config/utf8.hpp"

namespace tokenline::config {

Location Places::at(const YAML::Mark& mark) {
  if (mark.is_null()) return {file_, 1, 1};
  const auto byte = static_cast<std::size_t>(mark.column);
  const auto begin = static_cast<std::size_t>(mark.pos) - byte;
  if (mark.line != line_ || byte < byte_) {
    line_ = mark.line;
    byte_ = 0;
    column_ = 1;
  }
  column_ += count_characters(text_.substr(std::min(begin + byte_, text_.size()), byte - byte_));
  byte_ = byte;
  return {file_, line_ + 1, column_};
}

std::string_view Places::text_at(const YAML::Mark& mark) const {
  const auto position = static_cast<std::size_t>(mark.pos);
  return mark.is_null() || position > text_.size() ? std::string_view{} : text_.substr(position);
}

std::optional<Location> Places::indenting_tab(const YAML::Mark& mark) const {
  if (mark.is_null()) return std::nullopt;
  const auto position = std::min(static_cast<std::size_t>(mark.pos), text_.size());
  const auto before = text_.substr(0, position).rfind('\n');
  const auto line = text_.substr(before == std::string_view::npos ? 0 : before + 1);
  const auto indent = line.find_first_not_of(' ');
  if (indent == std::string_view::npos || line[indent] != '\t') return std::nullopt;
  return Location{file_, mark.line + 1, static_cast<int>(indent) + 1};
}

bool opens_endless_quote(std::string_view text) {
  while (!text.empty() && std::string_view("&! \t\r\n#").find(text[0]) != std::string_view::npos) {
    const bool property = text[0] == '&' || text[0] == '!';
    const auto stop = property         ? text.find_first_of(" \t\r\n")
                      : text[0] == '#' ? text.find('\n')
                                       : 1;
    text.remove_prefix(std::min(stop, text.size()));
  }
  if (text.empty() || (text[0] != '\'' && text[0] != '"')) return false;
  const char quote = text[0];
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      if (quote == '"' || i + 1 == text.size() || text[i + 1] != quote) return false;
      ++i;
    }
  }
  return true;
}

}  // namespace tokenline::config
