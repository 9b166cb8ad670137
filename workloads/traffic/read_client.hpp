#pragma once

#include "sim/config/reader.hpp"
#include "workloads/traffic/client.hpp"

namespace tokenline::traffic {

/// Reads what a class says of its clients' patience: `timeout`, `ttft_timeout`,
/// `abort_on_timeout` and `retry`. Without them clients wait for ever.
[[nodiscard]] Client read_client(config::Reader& entry);

}  // namespace tokenline::traffic
