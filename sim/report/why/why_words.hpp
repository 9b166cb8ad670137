#pragma once

#include <string>
#include <string_view>

#include "sim/report/why/why.hpp"

namespace tokenline::report {

/// A part as a phrase: "waiting for KV blocks".
[[nodiscard]] std::string_view phrase(Part part);

/// "TTFT of class chat", "TTFT".
[[nodiscard]] std::string subject(const Question& question, const RunResult& run);

/// What took time, with counts: "behind 14 prompts of class pdf longer than 8192 tokens".
[[nodiscard]] std::string blamed(const ExcessShare& share, const RunResult& run);

/// "request 17 of class pdf, 16384 tokens".
[[nodiscard]] std::string described(std::uint32_t request, const RunResult& run);

/// "12.34 ms", "1.234 s", each figure with four digits.
[[nodiscard]] std::string time_text(double nanoseconds);

/// "61 %", of `amount` in `whole`.
[[nodiscard]] std::string share_text(double amount, double whole);

}  // namespace tokenline::report
