#pragma once

#include <string>

#include "sim/report/request_subsets.hpp"

namespace tokenline::report {

/// What `tokenline shrink` prints: how far it came, and the requests that are left (the first 50)
/// with what became of them in a run of their own.
[[nodiscard]] std::string shrink_text(const RequestSubsets& requests, const Shrunk& shrunk,
                                      const SubsetRun& run);

/// shrink.json: one object.
[[nodiscard]] std::string shrink_json(const RequestSubsets& requests, const Shrunk& shrunk,
                                      const SubsetRun& run);

}  // namespace tokenline::report
