#include "hwmodels/kernels/all_reduce.hpp"

#include <algorithm>
#include <cmath>

namespace tokenline::hw {

Seconds all_reduce(const AllReduceCurve& curve, Bytes payload) {
  const auto& points = curve.points;
  const auto above = std::ranges::lower_bound(points, payload, {}, &AllReduceCurve::Point::payload);
  if (above == points.begin()) return points.front().time;
  if (above == points.end()) return points.back().time * (payload / points.back().payload);
  const auto below = above - 1;
  const double share =
      std::log(payload / below->payload) / std::log(above->payload / below->payload);
  return below->time * std::pow(above->time / below->time, share);
}

}  // namespace tokenline::hw
