#include "tools/vllm/keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/report/text_table.hpp"

namespace tokenline::vllm {
namespace {

/// Sections in the order of a scenario.
constexpr std::array<std::string_view, 9> sections{"scenario",    "description", "seed",
                                                   "model",       "cluster",     "engine",
                                                   "speculation", "traffic",     "assert"};

std::size_t section_rank(const std::string& path) {
  return static_cast<std::size_t>(
      std::ranges::find(sections, std::string_view(path).substr(0, path.find('.'))) -
      sections.begin());
}

/// Comment lines, wrapped.
std::string comment(const std::string& text) {
  std::string out;
  const std::string lines = report::wrapped(text, 0, 96);
  for (std::size_t begin = 0; begin < lines.size();) {
    const auto end = std::min(lines.find('\n', begin), lines.size());
    out += "# " + lines.substr(begin, end - begin) + '\n';
    begin = end + 1;
  }
  return out;
}

}  // namespace

void Keys::set(const std::string& path, const std::string& value, const std::string& from) {
  const auto found = std::ranges::find(entries_, path, &Entry::path);
  if (found != entries_.end())
    *found = {path, value, from};
  else
    entries_.push_back({path, value, from});
}

std::optional<std::string> Keys::value(std::string_view path) const {
  const auto found = std::ranges::find(entries_, path, &Entry::path);
  return found == entries_.end() ? std::nullopt : std::optional(found->value);
}

std::string Keys::origin(std::string_view path) const {
  for (; !path.empty(); path = path.substr(0, std::max<std::size_t>(path.rfind('.') + 1, 1) - 1)) {
    const auto found = std::ranges::find(entries_, path, &Entry::path);
    if (found != entries_.end()) return found->from;
  }
  return {};
}

void Keys::unmodelled(const std::string& flag, const std::string& why) {
  unmodelled_.push_back(why.empty() ? flag : flag + ": " + why);
}

void Keys::throw_if_mistakes() const {
  if (!mistakes_.empty()) throw config::ConfigError(mistakes_);
}

std::string Keys::yaml(const std::string& title) const {
  std::string out = comment(title);
  for (const std::string& sentence : notes_) out += comment(sentence);
  for (const std::string& text : unmodelled_) out += comment("not modelled: " + text);
  std::vector<Entry> sorted = entries_;
  std::ranges::stable_sort(sorted, {}, [](const Entry& e) { return section_rank(e.path); });
  // Entries of one mapping stand together, where the first of them does.
  std::vector<std::string> open;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const Entry entry = sorted[i];
    std::vector<std::string> parts;
    for (std::size_t begin = 0; begin <= entry.path.size();) {
      const auto end = std::min(entry.path.find('.', begin), entry.path.size());
      parts.push_back(entry.path.substr(begin, end - begin));
      begin = end + 1;
    }
    std::size_t common = 0;
    while (common < open.size() && common + 1 < parts.size() && open[common] == parts[common])
      ++common;
    open.resize(common);
    for (; common + 1 < parts.size(); ++common) {
      out += fmt::format("{:{}}{}:\n", "", 2 * common, parts[common]);
      open.push_back(parts[common]);
    }
    out += fmt::format("{:{}}{}: {}", "", 2 * common, parts.back(), entry.value);
    out += entry.from.empty() ? "\n" : fmt::format("  # {}\n", entry.from);
    // What lies in the same mapping further down comes next.
    for (std::size_t level = open.size(); level > 0; --level) {
      std::string prefix;
      for (std::size_t k = 0; k < level; ++k) prefix += open[k] + '.';
      const auto next =
          std::find_if(sorted.begin() + static_cast<std::ptrdiff_t>(i) + 1, sorted.end(),
                       [&](const Entry& e) { return e.path.starts_with(prefix); });
      if (next == sorted.end()) continue;
      std::rotate(sorted.begin() + static_cast<std::ptrdiff_t>(i) + 1, next, next + 1);
      break;
    }
  }
  return out;
}

}  // namespace tokenline::vllm
