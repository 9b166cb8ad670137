#pragma once

#include <cstdint>
#include <string_view>

#include "sim/base/time.hpp"
#include "sim/engine/ledger.hpp"

namespace tokenline {

/// How a request ended. A modelled outcome is counted, never thrown and never dropped.
enum class Outcome : std::uint8_t {
  in_flight,   ///< Not ended yet.
  completed,   ///< Every output token was delivered.
  lost_oom,    ///< Its instance ran out of memory and no retry was left.
  rejected,    ///< It was refused at the door, the last time that it was sent.
  timed_out,   ///< Its client gave up its last attempt.
  lost_crash,  ///< A fault crashed its instance and no retry was left.
};

/// The word used in requests.csv.
[[nodiscard]] constexpr std::string_view name(Outcome outcome) {
  switch (outcome) {
    case Outcome::in_flight:
      return "in_flight";
    case Outcome::completed:
      return "completed";
    case Outcome::lost_oom:
      return "lost_oom";
    case Outcome::rejected:
      return "rejected";
    case Outcome::timed_out:
      return "timed_out";
    case Outcome::lost_crash:
      return "lost_crash";
  }
  return "";
}

/// Everything known of one request; its id is its place in the order of arrival.
struct RequestRecord {
  TimePoint arrival{};
  TimePoint first_token{};  ///< When it left the engine, in the attempt that succeeded.
  TimePoint finish{};       ///< Last token, or the end of the last attempt.
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;
  /// KV entries thrown away by preemptions, not found again, and computed again.
  std::int64_t recomputed_tokens = 0;
  std::uint32_t class_index = 0;
  std::uint32_t class_number = 0;  ///< Requests of its class that arrived before it.
  std::uint32_t source = 0;        ///< The traffic source that offered it.
  std::uint32_t session = 0;       ///< Its conversation, among those of the source.
  std::uint32_t instance = 0;      ///< Of the last attempt that entered; 0 when none did.
  std::uint32_t preemptions = 0;
  std::uint16_t retries = 0;
  Outcome outcome = Outcome::in_flight;
  bool measured = true;  ///< Arrived inside the scenario's measure window.
  Parts parts;           ///< Sums to finish − arrival; a request that failed has `restart` alone.
  TtftParts ttft_parts;  ///< Sums to first_token − arrival for a completed request.

  [[nodiscard]] Duration ttft() const { return first_token - arrival; }
  [[nodiscard]] Duration e2el() const { return finish - arrival; }
  friend bool operator==(const RequestRecord&, const RequestRecord&) = default;
};

}  // namespace tokenline
