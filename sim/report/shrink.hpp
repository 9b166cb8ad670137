#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace tokenline::report {

/// Places of elements in a list, ascending.
using Subset = std::vector<std::uint32_t>;

/// Where shrink() stands.
struct ShrinkProgress {
  std::size_t kept = 0;     ///< Elements left.
  std::size_t tests = 0;    ///< Subsets tested.
  std::int64_t tested = 0;  ///< Elements in them, together.
};

struct ShrinkOptions {
  std::size_t threads = 1;
  /// Elements that all tested subsets may hold together; what is left then is the result.
  std::int64_t budget = 0;
  /// Called, on the caller's thread, whenever a subset was tested or several.
  std::function<void(const ShrinkProgress&)> progress{};
};

/// What is left.
struct Shrunk {
  Subset kept;
  ShrinkProgress effort;
  /// No single element can be left out: not so where the budget ended the search.
  bool one_minimal = false;
};

/// Looks for a small subset that still breaks: halves of what is left (the middle one too) as long
/// as one breaks, then both ends, then all of a kind at a time, then ddmin of Zeller and
/// Hildebrandt (Simplifying and Isolating Failure-Inducing Input, IEEE TSE 28(2), 2002), whose
/// result is 1-minimal. `kinds` has the kind of each element. The empty subset is never asked for.
///
/// Contract: all elements together break, and there is one; `breaks` is a pure function and may be
/// called by several threads at a time. The result and its effort are the same for any number of
/// threads: of the subsets that a round offers, the first that breaks wins.
[[nodiscard]] Shrunk shrink(std::span<const std::uint32_t> kinds,
                            const std::function<bool(const Subset&)>& breaks,
                            const ShrinkOptions& options);

}  // namespace tokenline::report
