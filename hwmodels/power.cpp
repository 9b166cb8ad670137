#include "hwmodels/power.hpp"

#include <algorithm>

#include "hwmodels/usual_fits.hpp"

namespace tokenline::hw {
namespace {

/// What large products reach of the peak: fitted where the precision was measured.
double sustained_share(const Gpu& gpu, models::Precision precision) {
  const auto fit = gpu.gemm.find(models::name(precision));
  return fit == gpu.gemm.end() ? usual_gemm().compute_efficiency : fit->second.compute_efficiency;
}

}  // namespace

Watts PowerModel::power(FlopsPerSecond flops, BytesPerSecond bytes) const {
  return std::min(limit,
                  idle + flops / sustained * (limit - idle) + bytes / bandwidth * (memory - idle));
}

std::optional<PowerModel> power_model(const Gpu& gpu, models::Precision precision) {
  if (gpu.power_limit.value() <= 0.0) return std::nullopt;
  const bool idle = gpu.idle_power.value() > 0.0;
  const bool memory = gpu.memory_power.value() > 0.0;
  return PowerModel{.limit = gpu.power_limit,
                    .idle = idle ? gpu.idle_power : usual_idle_share * gpu.power_limit,
                    .memory = memory ? gpu.memory_power : usual_memory_share * gpu.power_limit,
                    .sustained = sustained_share(gpu, precision) * gpu.peak(precision),
                    .bandwidth = gpu.bandwidth,
                    .idle_measured = idle,
                    .memory_measured = memory};
}

Joules energy(const PowerModel& model, const GpuWork& work) {
  const Joules work_done = work.flops / model.sustained * (model.limit - model.idle) +
                           work.bytes / model.bandwidth * (model.memory - model.idle);
  return model.idle * work.elapsed + std::min(work_done, (model.limit - model.idle) * work.busy);
}

}  // namespace tokenline::hw
