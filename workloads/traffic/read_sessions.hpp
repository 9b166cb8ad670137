#pragma once

#include <optional>

#include "sim/config/reader.hpp"
#include "workloads/traffic/read_request_lengths.hpp"
#include "workloads/traffic/sessions.hpp"

namespace tokenline::traffic {

/// What `session:` says, and where it says how long a conversation gets.
struct ReadSessions {
  SessionPlan plan;  ///< Without lengths.
  bool limited = false;
  config::Location max_context_at;
  std::string max_context_path;
};

/// Reads the `session:` section of a class. Mistakes go to the document.
[[nodiscard]] ReadSessions read_sessions(config::Reader& entry);

/// The longest turn a session can send, given its lengths. A first turn that can exceed max_context
/// is a mistake.
[[nodiscard]] Traffic::Longest longest_turn(const config::Reader& entry,
                                            const ReadSessions& sessions,
                                            const Traffic::Longest& turn);

}  // namespace tokenline::traffic
