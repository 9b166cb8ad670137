#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tokenline::traffic {

/// Tokens that other requests may hold too: the first `tokens` tokens of the text `id`.
struct ContentRun {
  /// Of a text that does not end.
  static constexpr std::int64_t endless = std::numeric_limits<std::int64_t>::max();

  std::uint64_t id = 0;
  std::int64_t tokens = 0;
  friend bool operator==(const ContentRun&, const ContentRun&) = default;
};

/// What a request, prompt and answer, begins with, run by run. Two requests begin alike as far as
/// their runs do; what lies behind the last run is nobody else's.
using Content = std::vector<ContentRun>;

/// A content as a field of a CSV file: "7:1500 12:*" is 1500 tokens of text 7, then text 12, which
/// does not end. Empty for none.
[[nodiscard]] std::string content_text(const Content& content);

/// The content of such a field; nothing for any other text. Runs have 1 … 10^9 tokens, and only the
/// last may be endless.
[[nodiscard]] std::optional<Content> parse_content(std::string_view text);

/// Texts of which each request begins with one, such as system prompts.
struct SharedPrefix {
  std::int64_t tokens = 0;  ///< Of each text; 0 where there are none.
  std::int64_t groups = 1;  ///< How many texts there are.
  std::uint64_t seed = 0;
  std::uint64_t purpose = 0;  ///< Hash of "<class>/prefixes".

  /// The text of request, or conversation, `number`: each with equal probability, drawn from the
  /// stream (seed, "<class>/prefixes", number).
  [[nodiscard]] ContentRun of(std::uint64_t number) const;
};

/// The id of text `number` among those of a purpose, the hash of its name: ids of
/// all purposes differ, but for a chance of 2^-64 per pair.
[[nodiscard]] std::uint64_t content_id(std::uint64_t purpose, std::uint64_t number);

/// Mixes `value` into a hash: a round of SplitMix64 (Steele et al., OOPSLA'14).
[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  std::uint64_t z = hash + 0x9e3779b97f4a7c15U + value * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

}  // namespace tokenline::traffic
