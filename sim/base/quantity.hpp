#pragma once

#include <compare>

namespace tokenline {

/// A physical amount: seconds^T · bytes^B · FLOPs^F · joules^E, held as a double in the base unit.
/// Mixing dimensions does not compile, so no variable needs its unit in its name.
template <int T, int B, int F, int E = 0>
class Quantity {
 public:
  constexpr Quantity() = default;
  /// The amount in base units (seconds, bytes, FLOPs, joules and their products).
  constexpr explicit Quantity(double base) : value_(base) {}

  /// The amount in base units.
  [[nodiscard]] constexpr double value() const { return value_; }

  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value_ -= other.value_;
    return *this;
  }
  constexpr Quantity& operator*=(double factor) {
    value_ *= factor;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return a += b; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return a -= b; }
  friend constexpr Quantity operator*(double factor, Quantity q) {
    return Quantity(factor * q.value_);
  }
  friend constexpr Quantity operator*(Quantity q, double factor) { return factor * q; }
  friend constexpr Quantity operator/(Quantity q, double divisor) {
    return Quantity(q.value_ / divisor);
  }
  friend constexpr auto operator<=>(Quantity, Quantity) = default;

 private:
  double value_ = 0.0;
};

/// Product of two amounts; its dimension is the sum of theirs.
template <int T1, int B1, int F1, int E1, int T2, int B2, int F2, int E2>
[[nodiscard]] constexpr Quantity<T1 + T2, B1 + B2, F1 + F2, E1 + E2> operator*(
    Quantity<T1, B1, F1, E1> a, Quantity<T2, B2, F2, E2> b) {
  return Quantity<T1 + T2, B1 + B2, F1 + F2, E1 + E2>(a.value() * b.value());
}

/// Ratio of two amounts of different dimension.
template <int T1, int B1, int F1, int E1, int T2, int B2, int F2, int E2>
[[nodiscard]] constexpr Quantity<T1 - T2, B1 - B2, F1 - F2, E1 - E2> operator/(
    Quantity<T1, B1, F1, E1> a, Quantity<T2, B2, F2, E2> b) {
  return Quantity<T1 - T2, B1 - B2, F1 - F2, E1 - E2>(a.value() / b.value());
}

/// Ratio of two amounts of the same dimension: a plain number.
template <int T, int B, int F, int E>
[[nodiscard]] constexpr double operator/(Quantity<T, B, F, E> a, Quantity<T, B, F, E> b) {
  return a.value() / b.value();
}

using Seconds = Quantity<1, 0, 0>;
using Bytes = Quantity<0, 1, 0>;
using Flops = Quantity<0, 0, 1>;
using PerSecond = Quantity<-1, 0, 0>;
using BytesPerSecond = Quantity<-1, 1, 0>;
using FlopsPerSecond = Quantity<-1, 0, 1>;
using FlopsPerByte = Quantity<0, -1, 1>;
using Joules = Quantity<0, 0, 0, 1>;
using Watts = Quantity<-1, 0, 0, 1>;

/// Parts of a Seconds; these literals exist for tests and constants with a cited source.
namespace literals {
constexpr Seconds operator""_s(long double v) { return Seconds(static_cast<double>(v)); }
constexpr Seconds operator""_ms(long double v) { return Seconds(static_cast<double>(v) * 1e-3); }
constexpr Seconds operator""_us(long double v) { return Seconds(static_cast<double>(v) * 1e-6); }
}  // namespace literals

}  // namespace tokenline
