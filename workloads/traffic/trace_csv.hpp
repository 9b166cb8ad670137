#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "workloads/traffic/source.hpp"

namespace tokenline::traffic {

/// Requests that are known before a run, in the order of their arrival.
struct RecordedRequests {
  std::vector<Arrival> arrivals;  ///< class_index is into the classes they were recorded with.
  /// What each begins with; empty where none begins with what others begin with.
  std::vector<Content> contents;
};

/// The requests of those places (ascending) as a trace of `format: csv`, which reads back as the
/// same: times in nanoseconds, and `begins_with` where there are contents.
[[nodiscard]] std::string trace_csv(const RecordedRequests& requests,
                                    std::span<const std::uint32_t> places,
                                    std::span<const RequestClass> classes);

/// One source per class, in their order, of the requests of those places (ascending); a class
/// without any has a source that is exhausted. A trace of trace_csv() offers the same.
[[nodiscard]] std::vector<std::unique_ptr<Source>> recorded_sources(
    const RecordedRequests& requests, std::span<const std::uint32_t> places, std::size_t classes);

}  // namespace tokenline::traffic
