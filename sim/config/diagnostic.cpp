#include "sim/config/diagnostic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace tokenline::config {
namespace {

std::vector<Diagnostic> in_text_order(std::vector<Diagnostic> all) {
  std::map<std::string, std::size_t> rank;
  for (const auto& d : all) rank.emplace(d.where.file, rank.size());
  std::ranges::stable_sort(all, {}, [&](const Diagnostic& d) {
    return std::tuple(rank.at(d.where.file), d.where.line, d.where.column);
  });
  return all;
}

std::string report(std::span<const Diagnostic> all) {
  std::string out;
  for (const auto& d : all) {
    if (!out.empty()) out += '\n';
    out += fmt::format("{}:{}:{}: error: {}{}{}", d.where.file, d.where.line, d.where.column,
                       d.path, d.path.empty() ? "" : ": ", d.message);
    if (!d.hint.empty()) out += fmt::format("\n  hint: {}", d.hint);
  }
  return out;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  std::size_t last = b.size();
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = last = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      last = std::min({above + 1, last + 1, diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      row[j] = last;
      diagonal = above;
    }
  }
  return last;
}

}  // namespace

ConfigError::ConfigError(std::vector<Diagnostic> diagnostics)
    : std::runtime_error(report(in_text_order(diagnostics))),
      diagnostics_(in_text_order(std::move(diagnostics))) {}

ConfigError::ConfigError(Diagnostic diagnostic)
    : ConfigError(std::vector<Diagnostic>{std::move(diagnostic)}) {}

std::optional<std::string> closest(std::string_view word, std::span<const std::string> candidates) {
  std::optional<std::string> best;
  std::size_t limit = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const auto& candidate : candidates)
    if (const auto distance = edit_distance(word, candidate); distance < limit) {
      limit = distance;
      best = candidate;
    }
  return best;
}

std::string suggestion(std::string_view word, std::span<const std::string> candidates) {
  if (candidates.empty()) return {};
  if (const auto best = closest(word, candidates)) return fmt::format("did you mean '{}'?", *best);
  return fmt::format("one of: {}", fmt::join(candidates, ", "));
}

}  // namespace tokenline::config
