#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/request_log.hpp"
#include "sim/engine/scenario.hpp"
#include "workloads/traffic/trace_csv.hpp"

namespace tokenline {

/// The requests of a run as they first arrived, those of closed loops and conversations included,
/// by request id. `traffic` is what the run used up.
[[nodiscard]] traffic::RecordedRequests record_requests(const traffic::Traffic& traffic,
                                                        const RequestLog& log);

/// Makes the requests of those places (ascending) all that arrives in a scenario; its classes stay.
void replay_requests(Scenario& scenario, const traffic::RecordedRequests& requests,
                     std::span<const std::uint32_t> places);

}  // namespace tokenline
