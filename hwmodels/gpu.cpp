#include "hwmodels/gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>

#include "hwmodels/catalog.hpp"
#include "sim/base/check.hpp"
#include "sim/config/reader.hpp"

namespace tokenline::hw {
namespace {

constexpr std::array<std::string_view, 4> prefill_kernels{"naive", "fa1", "fa2", "fa3"};
constexpr std::array<std::string_view, 5> collective_ops{
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_recv"};
constexpr std::array<std::string_view, 3> implementations{"vllm_graph", "vllm_eager", "nccl"};

/// Built-in entries, each parsed once: their grids are large.
const Gpu& built_in(const CatalogFile& file) {
  static std::mutex mutex;
  static std::map<std::string_view, Gpu> parsed;
  const std::scoped_lock lock(mutex);
  const auto found = parsed.find(file.name);
  if (found != parsed.end()) return found->second;
  return parsed.emplace(file.name, parse_gpu(fmt::format("{}.yaml", file.name), file.yaml))
      .first->second;
}

const CatalogFile* find_built_in(std::string_view name) {
  const auto found = std::ranges::find(catalog(), name, &CatalogFile::name);
  if (found != catalog().end()) return &*found;
  for (const CatalogFile& file : catalog())
    if (std::ranges::find(built_in(file).also_called, name) != built_in(file).also_called.end())
      return &file;
  return nullptr;
}

}  // namespace

bool Gpu::calibrated() const {
  if (!collectives.empty()) return true;
  const std::array<const KernelFits*, 9> all{
      &gemm,    &prefill_attention, &decode_attention, &chunked_prefill, &mixed_decode,
      &experts, &mla_prefill,       &mla_decode,       &elementwise};
  return std::ranges::any_of(all, [](const KernelFits* fits) {
    return std::ranges::any_of(*fits, [](const auto& fit) { return !fit.second.from_datasheet; });
  });
}

const CollectiveCurve* Gpu::collective(models::CollectiveOp op,
                                       CollectiveImplementation implementation,
                                       std::int64_t gpus) const {
  const auto found = std::ranges::find_if(collectives, [&](const CollectiveCurve& curve) {
    return curve.op == op && curve.implementation == implementation && curve.gpus == gpus;
  });
  return found == collectives.end() ? nullptr : &*found;
}

FlopsPerSecond Datasheet::peak(models::Precision precision) const {
  const bool narrow =
      precision == models::Precision::fp8 || precision == models::Precision::fp8_block;
  return narrow && peak_8bit.value() > 0.0 ? peak_8bit : peak_16bit;
}

const KernelFit& fit_of(const KernelFits& fits, std::string_view key) {
  for (const std::string_view name : {key, std::string_view("other")})
    if (const auto found = fits.find(name); found != fits.end()) return found->second;
  const std::string unmeasured = fmt::format("usual {}", key.substr(0, key.find(' ')));
  for (const std::string_view name : {std::string_view(unmeasured), std::string_view("usual")})
    if (const auto found = fits.find(name); found != fits.end()) return found->second;
  TOKENLINE_CHECK(false, "no fit for '{}'", key);
}

std::vector<std::string> gpu_names() {
  std::vector<std::string> names;
  for (const CatalogFile& file : catalog()) names.emplace_back(file.name);
  std::ranges::sort(names);
  return names;
}

std::optional<std::string> catalog_name(std::string_view name) {
  const CatalogFile* file = find_built_in(name);
  if (file == nullptr) return std::nullopt;
  return std::string(file->name);
}

Gpu load_gpu(const std::string& name_or_path) {
  if (name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".yaml"))
    return parse_gpu(name_or_path, config::read_file(name_or_path));
  const CatalogFile* file = find_built_in(name_or_path);
  if (file == nullptr) {
    throw config::ConfigError(config::Diagnostic{
        {name_or_path, 1, 1},
        "gpu",
        fmt::format("no built-in GPU is called '{}'", name_or_path),
        config::suggestion(name_or_path, gpu_names()) + "; or the path of a catalog file"});
  }
  return built_in(*file);
}

std::string_view name(models::CollectiveOp op) {
  return collective_ops.at(static_cast<std::size_t>(op));
}

std::string_view name(CollectiveImplementation implementation) {
  return implementations.at(static_cast<std::size_t>(implementation));
}

std::string_view name(PrefillKernel kernel) {
  return prefill_kernels[static_cast<std::size_t>(kernel)];
}

}  // namespace tokenline::hw
