#include "tools/sweep/latin_hypercube.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/random/uniform_int_distribution.hpp>
#include <cmath>
#include <numeric>
#include <utility>

#include "sim/base/random.hpp"
#include "sim/config/numbers.hpp"

namespace tokenline::sweep {
namespace {

/// The place `t` in 0 … 1 of the range.
double place(const AxisRange& range, double t) {
  const double end = range.whole ? range.max + 1.0 : range.max;
  return range.log ? range.min * std::pow(end / range.min, t) : range.min + t * (end - range.min);
}

/// Uniform in (0, 1), of 53 bits, of which the last is set.
double between_0_and_1(RandomStream& random) {
  const std::uint64_t high = random();
  const std::uint64_t bits = (high << 20U) | (random() >> 12U);
  return static_cast<double>(2 * bits + 1) * 0x1p-53;
}

std::vector<std::size_t> shuffled(std::size_t count, RandomStream& random) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = count; i-- > 1;) {
    boost::random::uniform_int_distribution<std::size_t> pick(0, i);
    std::swap(order[i], order[pick(random)]);
  }
  return order;
}

/// The shortest text from six digits on that stays inside [low, high).
std::string text_inside(double value, double low, double high) {
  for (int digits = 6; digits < 17; ++digits) {
    std::string text = fmt::format("{:.{}g}", value, digits);
    const double read = config::parse_real(text).value;
    if (read >= low && read < high) return text;
  }
  return fmt::format("{}", value);
}

}  // namespace

double stratum_edge(const AxisRange& range, std::size_t stratum, std::size_t count) {
  return place(range, static_cast<double>(stratum) / static_cast<double>(count));
}

std::vector<std::string> spread(const AxisRange& range, std::string_view axis, std::uint64_t seed,
                                std::size_t count) {
  RandomStream random(seed, fmt::format("latin_hypercube/{}", axis), 0);
  std::vector<std::string> texts;
  for (const std::size_t stratum : shuffled(count, random)) {
    const double inside = static_cast<double>(stratum) + between_0_and_1(random);
    const double value = place(range, inside / static_cast<double>(count));
    texts.push_back((range.whole ? fmt::format("{:.0f}", std::min(std::floor(value), range.max))
                                 : text_inside(value, stratum_edge(range, stratum, count),
                                               stratum_edge(range, stratum + 1, count))) +
                    range.unit);
  }
  return texts;
}

}  // namespace tokenline::sweep
