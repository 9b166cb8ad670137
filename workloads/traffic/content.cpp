#include "workloads/traffic/content.hpp"

#include <fmt/format.h>

#include <charconv>

#include "sim/base/random.hpp"
#include "workloads/traffic/csv_file.hpp"

namespace tokenline::traffic {
namespace {

/// A decimal number that is all of `text`, within bounds.
template <class T>
std::optional<T> whole(std::string_view text, T least, T most) {
  T value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool all = end == text.data() + text.size() && problem == std::errc{};
  if (!all || value < least || value > most) return std::nullopt;
  return value;
}

std::optional<ContentRun> parse_run(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto id = whole<std::uint64_t>(text.substr(0, colon), 0, UINT64_MAX);
  const std::string_view length = text.substr(colon + 1);
  const auto tokens = length == "*" ? std::optional(ContentRun::endless)
                                    : whole<std::int64_t>(length, 1, most_tokens);
  if (!id || !tokens) return std::nullopt;
  return ContentRun{*id, *tokens};
}

}  // namespace

ContentRun SharedPrefix::of(std::uint64_t number) const {
  RandomStream random(seed, purpose, number);
  // Why not the remainder: the high bits of a product are even, but for 2^-32.
  const std::uint64_t group = (std::uint64_t{random()} * static_cast<std::uint64_t>(groups)) >> 32U;
  return {content_id(purpose, group), tokens};
}

std::uint64_t content_id(std::uint64_t purpose, std::uint64_t number) {
  return mixed(mixed(0, purpose), number);
}

std::string content_text(const Content& content) {
  std::string text;
  for (const ContentRun& run : content) {
    text += fmt::format("{}{}:", text.empty() ? "" : " ", run.id);
    text += run.tokens == ContentRun::endless ? "*" : fmt::format("{}", run.tokens);
  }
  return text;
}

std::optional<Content> parse_content(std::string_view text) {
  Content content;
  while (!text.empty()) {
    if (!content.empty() && content.back().tokens == ContentRun::endless) return std::nullopt;
    const auto space = text.find(' ');
    const auto run = parse_run(text.substr(0, space));
    if (!run || (space != std::string_view::npos && space + 1 == text.size())) return std::nullopt;
    content.push_back(*run);
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
  }
  return content;
}

}  // namespace tokenline::traffic
