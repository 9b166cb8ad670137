#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sim/config/diagnostic.hpp"

namespace YAML {
struct Mark;
}

namespace tokenline::config {

/// Turns yaml-cpp's marks (byte columns) into places in the text, which must outlive it. Marks come
/// nearly in order, so each byte of a long line is looked at about once.
class Places {
 public:
  Places(std::string file, std::string_view text) : file_(std::move(file)), text_(text) {}

  [[nodiscard]] Location at(const YAML::Mark& mark);
  [[nodiscard]] std::string_view text_at(const YAML::Mark& mark) const;
  /// The first tab in the indentation of the mark's line.
  [[nodiscard]] std::optional<Location> indenting_tab(const YAML::Mark& mark) const;

 private:
  std::string file_;
  std::string_view text_;
  int line_ = -1;
  std::size_t byte_ = 0;
  int column_ = 1;
};

/// Whether the scalar that begins `text` (perhaps after an anchor or tag) opens a quote that
/// nothing closes: yaml-cpp takes the end of the text for its end.
[[nodiscard]] bool opens_endless_quote(std::string_view text);

}  // namespace tokenline::config
