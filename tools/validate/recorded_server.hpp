#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/config/diagnostic.hpp"
#include "tools/validate/deployment.hpp"

namespace tokenline::validate {

/// A server as a run.json describes it.
struct RecordedServer {
  Deployment deployment;
  std::string refused;                   ///< Why it cannot be simulated; empty where it can.
  std::optional<std::int64_t> requests;  ///< How many it says were recorded.
  config::Location requests_at;
};

/// Reads `model`, `gpu`, `vllm_version`, `num_requests` and the arguments `engine_kwargs` of vLLM.
/// An argument that is neither modelled, nor its default, nor without effect on time refuses the
/// server: it would have run otherwise. Null is the default. Throws ConfigError.
[[nodiscard]] RecordedServer read_server(const std::string& file);

}  // namespace tokenline::validate
