#include "sim/report/shrink.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/report/parallel.hpp"

namespace tokenline::report {
namespace {

/// A range of places in what is left.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
};

class Shrinker {
 public:
  Shrinker(std::span<const std::uint32_t> kinds, const std::function<bool(const Subset&)>& breaks,
           const ShrinkOptions& options)
      : kinds_(kinds), breaks_(breaks), options_(options), left_(kinds.size()) {
    std::iota(left_.begin(), left_.end(), 0U);
  }

  Shrunk shrink() {
    while (take_window()) continue;
    trim();
    while (take_without_a_kind()) continue;
    const bool one_minimal = ddmin();
    effort_.kept = left_.size();
    return {.kept = std::move(left_), .effort = effort_, .one_minimal = one_minimal};
  }

 private:
  /// Makes one of the subsets that a round offers. Why one by one: all of a late round are as many
  /// as what is left, and as long.
  using Make = std::function<Subset(std::size_t)>;

  [[nodiscard]] Subset only(Range range) const {
    return {left_.begin() + static_cast<std::ptrdiff_t>(range.begin),
            left_.begin() + static_cast<std::ptrdiff_t>(range.end)};
  }
  [[nodiscard]] Subset without(Range range) const {
    Subset rest = only({0, range.begin});
    rest.insert(rest.end(), left_.begin() + static_cast<std::ptrdiff_t>(range.end), left_.end());
    return rest;
  }

  /// The first half, the last one or the middle one.
  bool take_window() {
    const std::size_t size = left_.size();
    const std::size_t half = (size + 1) / 2;
    if (half == size) return false;
    const std::array<std::size_t, 3> begins{0, size - half, size / 4};
    return take(begins.size(),
                [&](std::size_t i) { return only({begins.at(i), begins.at(i) + half}); });
  }

  /// Takes ever smaller pieces off the front and the back.
  void trim() {
    for (std::size_t piece = left_.size() / 4; piece > 0; piece /= 2)
      while (left_.size() > piece && take(2, [&](std::size_t i) {
               const std::size_t begin = i == 0 ? 0 : left_.size() - piece;
               return without({begin, begin + piece});
             }))
        continue;
  }

  bool take_without_a_kind() {
    std::vector<std::uint32_t> present;
    for (const std::uint32_t place : left_) present.push_back(kinds_[place]);
    std::ranges::sort(present);
    present.erase(std::ranges::unique(present).begin(), present.end());
    if (present.size() < 2) return false;
    return take(present.size(), [&](std::size_t i) {
      Subset rest = left_;
      std::erase_if(rest, [&](std::uint32_t place) { return kinds_[place] == present[i]; });
      return rest;
    });
  }

  /// Whether it came to its end, where every subset without one element was tested.
  bool ddmin() {
    std::size_t pieces = 2;
    while (left_.size() > 1) {
      pieces = std::min(pieces, left_.size());
      const auto piece = [&](std::size_t i) {
        return Range{i * left_.size() / pieces, (i + 1) * left_.size() / pieces};
      };
      if (take(pieces, [&](std::size_t i) { return only(piece(i)); }))
        pieces = 2;
      else if (take(pieces, [&](std::size_t i) { return without(piece(i)); }))
        pieces = std::max<std::size_t>(pieces - 1, 2);
      else if (spent_)
        return false;
      else if (pieces == left_.size())
        return true;
      else
        pieces *= 2;
    }
    return true;
  }

  /// Goes on with the first of `count` subsets that breaks, if one does.
  bool take(std::size_t count, const Make& make) {
    const std::size_t wave = std::max<std::size_t>(1, options_.threads);
    for (std::size_t begin = 0; begin < count && !spent_; begin += wave) {
      std::vector<Subset> subsets;
      for (std::size_t i = begin; i < std::min(begin + wave, count); ++i)
        subsets.push_back(make(i));
      if (take_first(std::move(subsets))) return true;
    }
    return false;
  }

  bool take_first(std::vector<Subset> subsets) {
    const std::size_t count = affordable(subsets);
    std::vector<char> broken(count);
    for_each_index(count, options_.threads,
                   [&](std::size_t i) { broken[i] = breaks_(subsets[i]) ? 1 : 0; });
    const auto first = static_cast<std::size_t>(std::ranges::find(broken, 1) - broken.begin());
    // Why: what one thread would not have tested does not count.
    for (std::size_t i = 0; i < std::min(first + 1, count); ++i) {
      effort_.tested += std::ssize(subsets[i]);
      ++effort_.tests;
    }
    const bool found = first < count;
    if (found) left_ = std::move(subsets[first]);
    spent_ = !found && count < subsets.size();
    effort_.kept = left_.size();
    if (options_.progress) options_.progress(effort_);
    return found;
  }

  /// How many of the first subsets the budget allows.
  [[nodiscard]] std::size_t affordable(const std::vector<Subset>& subsets) const {
    std::int64_t tested = effort_.tested;
    const auto beyond = std::ranges::find_if(subsets, [&](const Subset& subset) {
      tested += std::ssize(subset);
      return tested > options_.budget;
    });
    return static_cast<std::size_t>(beyond - subsets.begin());
  }

  std::span<const std::uint32_t> kinds_;
  const std::function<bool(const Subset&)>& breaks_;
  const ShrinkOptions& options_;
  Subset left_;
  ShrinkProgress effort_;
  bool spent_ = false;  ///< The budget did not allow for the next subset.
};

}  // namespace

Shrunk shrink(std::span<const std::uint32_t> kinds,
              const std::function<bool(const Subset&)>& breaks, const ShrinkOptions& options) {
  TOKENLINE_CHECK(!kinds.empty(), "nothing to shrink");
  return Shrinker(kinds, breaks, options).shrink();
}

}  // namespace tokenline::report
