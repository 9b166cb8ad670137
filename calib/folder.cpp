#include "calib/folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <utility>

#include "sim/config/diagnostic.hpp"

namespace tokenline::calib {
namespace {

namespace fs = std::filesystem;

/// Kernels last between a nanosecond and a quarter of an hour.
constexpr config::Range<double> column_microseconds{1e-3, 1e9};

/// Of any table; each says what it takes where its column is missing.
const std::vector<std::string_view> optional_columns{"dtype",        "kv_dtype", "gemm_dtype",
                                                     "distribution", "op",       "impl"};

bool is_csv(const fs::path& file) {
  std::string extension = file.extension().string();
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension == ".csv";
}

}  // namespace

Folder::Folder(const hw::Datasheet& gpu, std::string path, Unknown unknown)
    : gpu_(&gpu), path_(std::move(path)), unknown_(unknown) {}

void Folder::each_row(const std::string& file, const std::vector<std::string_view>& columns,
                      const std::function<void(const Row&)>& read,
                      const std::function<void()>& done) {
  known_.push_back(file);
  const std::string path = (fs::path(path_) / file).string();
  if (!fs::exists(path)) return;
  ++tables_;
  file_ = file;
  lines_.clear();
  mistakes_.gather([&] {
    config::Table table(path, columns, optional_columns);
    for (const Row& row : table.rows()) read(row);
    done();
    table.finish();
  });
}

Seconds Folder::time(const Row& row, std::string_view column) {
  return Seconds(row.real(column, column_microseconds) * 1e-6);
}

void Folder::refuse(const Row& row, std::string_view column, std::string_view reason,
                    std::string_view hint, Seconds time) {
  if (unknown_ == Unknown::mistake)
    row.error(column, std::string(reason), std::string(hint));
  else
    samples_.refused.push_back({file_, row.line(), std::string(reason), time});
}

void Folder::once(const Row& row, std::string_view kind, const Sizes& shape, const Sizes& point) {
  const auto [first, fresh] = lines_.try_emplace({std::string(kind), shape, point}, row.line());
  if (!fresh)
    row.error("", fmt::format("the same call as line {}", first->second),
              "keep one row, for example their median");
}

void Folder::add(const Row& row, Sample sample) {
  once(row, fmt::format("{} {}", name(sample.kernel), sample.variant), sample.shape, sample.point);
  samples_.samples.push_back(std::move(sample));
}

void Folder::add(const Row& row, const CollectiveSample& sample) {
  once(row, fmt::format("{} {}", hw::name(sample.op), hw::name(sample.implementation)),
       {sample.gpus}, {static_cast<std::int64_t>(sample.payload.value())});
  samples_.collectives.push_back(sample);
}

void Folder::add(const Row& row, const MixedSample& sample) {
  once(row, "call", {sample.chunk, sample.past}, {sample.decodes, sample.context});
  samples_.mixed.push_back(sample);
}

void Folder::check_files() const {
  if (!fs::is_directory(path_))
    throw config::ConfigError(
        {{path_, 1, 1}, "(folder)", fs::exists(path_) ? "is not a folder" : "no such folder", ""});
  std::vector<config::Diagnostic> strangers;
  for (const auto& entry : fs::directory_iterator(path_)) {
    const std::string file = entry.path().filename().string();
    if (!is_csv(entry.path()) || std::ranges::find(known_, file) != known_.end()) continue;
    strangers.push_back({{entry.path().string(), 1, 1},
                         "",
                         "none of the tables of measurements",
                         config::suggestion(file, known_)});
  }
  std::ranges::sort(strangers, {}, [](const auto& d) { return d.where.file; });
  if (!strangers.empty()) throw config::ConfigError(std::move(strangers));
  if (tables_ == 0)
    throw config::ConfigError(
        config::Diagnostic{{path_, 1, 1},
                           "(folder)",
                           "holds none of the tables of measurements",
                           "gemm.csv, prefill_attention.csv, …: calib/README.md lists them"});
}

Samples Folder::finish() {
  mistakes_.gather([&] { check_files(); });
  mistakes_.throw_if_any();
  return std::move(samples_);
}

}  // namespace tokenline::calib
