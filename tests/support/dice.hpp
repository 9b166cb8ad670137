#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "sim/base/random.hpp"

namespace tokenline::test {

/// Draws of a random scenario, the same for a seed and purpose on every compiler. One draw per
/// statement: arguments are evaluated in no order.
class Dice {
 public:
  Dice(std::uint64_t seed, std::string_view purpose) : random_(seed, purpose, 0) {}

  /// An integer of [min, max].
  std::int64_t between(std::int64_t min, std::int64_t max) {
    return min + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(max - min + 1));
  }
  bool one_in(std::int64_t n) { return between(1, n) == 1; }
  template <class T>
  T among(std::initializer_list<T> values) {
    return *(values.begin() + between(0, static_cast<std::int64_t>(values.size()) - 1));
  }
  std::string_view word(std::initializer_list<std::string_view> words) { return among(words); }

 private:
  RandomStream random_;
};

}  // namespace tokenline::test
