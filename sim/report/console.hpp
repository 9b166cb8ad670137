#pragma once

#include <string>

#include "sim/report/summary.hpp"

namespace tokenline::report {

/// What `tokenline run` prints of a run: the block of `vllm bench serve` for all requests, a line
/// per class and per instance, where TTFT went, and the verdicts of audit and asserts.
[[nodiscard]] std::string console_text(const Summary& summary);

/// One line: how many checks held, and each that did not.
[[nodiscard]] std::string audit_verdict(const AuditReport& audit);

/// A line per condition that failed; empty when all hold.
[[nodiscard]] std::string failed_asserts(const Summary& summary);

}  // namespace tokenline::report
