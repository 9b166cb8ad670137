#include "sim/report/text_table.hpp"

#include <algorithm>
#include <sstream>

#include "sim/config/utf8.hpp"

namespace tokenline::report {
namespace {

std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(config::count_characters(text));
}

}  // namespace

std::string TextTable::text() const {
  std::vector<std::size_t> widths;
  for (const auto& cells : rows_) {
    widths.resize(std::max(widths.size(), cells.size()));
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], width(cells[i]));
  }
  std::string out;
  for (const auto& cells : rows_) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string padding(widths[i] - width(cells[i]), ' ');
      if (i > 0) line += "  ";
      line += i < left_ ? cells[i] + padding : padding + cells[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

std::string wrapped(const std::string& text, std::size_t indent, std::size_t limit) {
  std::istringstream words(text);
  std::string out;
  std::string line;
  const auto flush = [&] {
    if (!line.empty()) out += std::string(indent, ' ') + line + '\n';
    line.clear();
  };
  for (std::string word; words >> word;) {
    if (!line.empty() && indent + width(line) + 1 + width(word) > limit) flush();
    line += (line.empty() ? "" : " ") + word;
  }
  flush();
  return out;
}

}  // namespace tokenline::report
