#include "hwmodels/kernels/collective.hpp"

#include <algorithm>
#include <cmath>

#include "hwmodels/usual_fits.hpp"

namespace tokenline::hw {

Seconds collective(const CollectiveCurve& curve, Bytes payload) {
  const auto& points = curve.points;
  const auto above =
      std::ranges::lower_bound(points, payload, {}, &CollectiveCurve::Point::payload);
  if (above == points.begin()) return points.front().time;
  if (above == points.end()) return points.back().time * (payload / points.back().payload);
  const auto below = above - 1;
  const double share =
      std::log(payload / below->payload) / std::log(above->payload / below->payload);
  return below->time * std::pow(above->time / below->time, share);
}

double ring_factor(models::CollectiveOp op, std::int64_t gpus) {
  const auto ranks = static_cast<double>(gpus);
  switch (op) {
    case models::CollectiveOp::all_reduce:
      return 2.0 * (ranks - 1.0) / ranks;
    case models::CollectiveOp::all_gather:
    case models::CollectiveOp::reduce_scatter:
      return ranks - 1.0;
    case models::CollectiveOp::all_to_all:
      return (ranks - 1.0) / ranks;
    case models::CollectiveOp::send_recv:
      return 1.0;
  }
  return 1.0;
}

namespace {

const CollectiveCurve* best_curve(const Gpu& gpu, models::CollectiveOp op, std::int64_t gpus) {
  const auto* custom = gpu.collective(op, CollectiveImplementation::vllm_graph, gpus);
  return custom != nullptr ? custom : gpu.collective(op, CollectiveImplementation::nccl, gpus);
}

}  // namespace

CollectivePricer::CollectivePricer(const Gpu& gpu, models::CollectiveOp op, std::int64_t gpus)
    : gpu_(gpu), op_(op), gpus_(gpus), curve_(best_curve(gpu, op, gpus)) {}

bool CollectivePricer::priced(const Gpu& gpu, models::CollectiveOp op, std::int64_t gpus) {
  return gpu.interconnect.value() > 0.0 || best_curve(gpu, op, gpus) != nullptr;
}

KernelCost CollectivePricer::operator()(Bytes payload) const {
  if (curve_ != nullptr) {
    const auto& points = curve_->points;
    const bool inside = points.front().payload <= payload && payload <= points.back().payload;
    return {
        collective(*curve_, payload), {}, {}, inside ? Provenance::measured : Provenance::fitted};
  }
  const KernelFit usual = usual_collective();
  const Seconds transfer =
      ring_factor(op_, gpus_) * payload / (gpu_.interconnect * usual.memory_efficiency);
  return {usual.launch + transfer, {}, {}, Provenance::datasheet};
}

const FitError& CollectivePricer::error() const {
  static const FitError usual = usual_collective().error;
  return curve_ != nullptr ? curve_->error : usual;
}

}  // namespace tokenline::hw
