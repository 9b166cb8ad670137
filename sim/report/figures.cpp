#include "sim/report/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <utility>

#include "sim/base/check.hpp"

namespace tokenline::report {

void Figures::count(std::string key, std::int64_t value) {
  figures_.push_back({std::move(key), static_cast<double>(value), true});
}

void Figures::amount(std::string key, std::optional<double> value) {
  TOKENLINE_CHECK(!value || std::isfinite(*value), "figure '{}' is {}", key, *value);
  figures_.push_back({std::move(key), value, false});
}

const Figure* Figures::find(std::string_view key) const {
  const auto found = std::ranges::find(figures_, key, &Figure::key);
  return found == figures_.end() ? nullptr : &*found;
}

std::vector<std::string> Figures::keys() const {
  std::vector<std::string> names;
  for (const Figure& figure : figures_) names.push_back(figure.key);
  return names;
}

std::optional<double> ratio(double amount, double of) {
  if (of == 0.0) return std::nullopt;
  return amount / of;
}

std::string figure_text(std::optional<double> value, bool whole) {
  if (!value) return "-";
  if (whole) return fmt::format("{:.0f}", *value);
  if (*value == 0.0) return "0";
  const int magnitude = static_cast<int>(std::floor(std::log10(std::abs(*value))));
  return fmt::format("{:.{}f}", *value, std::clamp(3 - magnitude, 0, 9));
}

std::string heading_of(std::string_view key) {
  constexpr std::array<std::string_view, 9> short_forms{"ttft", "tpot", "itl", "e2el", "kv",
                                                        "hbm",  "p90",  "p95", "p99"};
  std::istringstream words{std::string(key)};
  std::string out;
  for (std::string word; std::getline(words, word, '_');) {
    if (word == "ms" || word == "s" || word == "fraction" || word == "throughput") continue;
    if (std::ranges::find(short_forms, word) != short_forms.end())
      std::ranges::transform(word, word.begin(),
                             [](char c) { return c >= 'a' ? static_cast<char>(c - 32) : c; });
    out += (out.empty() ? "" : " ") + word;
  }
  return out;
}

std::string_view unit_of(std::string_view key) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> units{
      {{"request_throughput", "req/s"},
       {"request_goodput", "req/s"},
       {"output_throughput", "tok/s"},
       {"total_token_throughput", "tok/s"},
       {"_tokens", "tok"},
       {"_ms", "ms"},
       {"_s", "s"}}};
  for (const auto& [ending, unit] : units)
    if (key.ends_with(ending)) return unit;
  return {};
}

}  // namespace tokenline::report
