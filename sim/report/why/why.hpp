#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/report/why/samples.hpp"

namespace tokenline::report {

/// What to explain. README.md, *Why*, defines all of it.
struct Question {
  Latency latency = Latency::ttft;
  std::optional<std::uint32_t> class_index;  ///< All classes without.
};

/// Some samples together.
struct Side {
  std::int64_t samples = 0;
  std::int64_t tokens = 0;  ///< What their time is divided by: samples, but for tpot.
  Duration time{};          ///< Sum of the samples' time.
  Blame blame;              ///< Of all that time.
};

/// What the tail spends more than the typical one, of one part and cause. `excess` is per sample
/// (per token for tpot); rounded so that those of all shares sum to that of the whole.
struct ExcessShare {
  std::optional<Part> part;  ///< Empty: of all parts.
  Culprit culprit;
  Duration tail{};  ///< Sums of the samples.
  Duration typical{};
  Duration excess{};
  std::int64_t prompts = 0;              ///< Of Cause::prompts: how many took of the tail's time,
  std::optional<std::uint32_t> request;  ///< and whose it was, if only one did.
};

/// A prompt that took time of the tail.
struct PromptShare {
  std::uint32_t request = 0;
  Duration tail{};
};

/// One of the longest gaps between tokens, with what its time was.
struct LongGap {
  Sample sample;
  Blame blame;
};

/// Why the slowest are slower than the rest.
struct Explanation {
  Question question;
  std::int64_t samples = 0;
  std::optional<Sample> p50;         ///< At the nearest rank; empty where nothing was measured,
  std::optional<Sample> p99;         ///< and then nothing below means anything.
  Side tail;                         ///< At or above p99.
  Side typical;                      ///< From P40 to P60.
  Duration excess{};                 ///< Mean of the tail − mean of the typical, rounded down.
  std::vector<ExcessShare> shares;   ///< By part and cause, largest excess first;
  std::vector<ExcessShare> causes;   ///< by cause alone.
  std::vector<PromptShare> prompts;  ///< The five that took most of the tail's time.
  TimePoint from{};                  ///< The shortest time that holds four fifths of the tail's,
  TimePoint to{};                    ///< in whole ticks,
  Duration inside{};                 ///< and how much of it.
  std::vector<LongGap> longest;      ///< Of itl: the five longest that end in different steps.

  /// Whether there is a tail to explain.
  [[nodiscard]] bool has_tail() const { return p99 && excess > Duration{}; }
  /// Of all shares of a part.
  [[nodiscard]] Duration excess_of(Part part) const;
};

/// Explains the tail of a run that was observed by `evidence`'s log.
[[nodiscard]] Explanation explain(const Evidence& evidence, const Question& question);

/// The words of the command line and of the JSON.
[[nodiscard]] std::string_view name(Latency latency);
[[nodiscard]] std::string_view name(Cause cause);

/// A paragraph and the figures that it stands on.
[[nodiscard]] std::string why_text(const Explanation& explanation, const RunResult& run);

/// One JSON object with all of it, times as whole nanoseconds.
[[nodiscard]] std::string why_json(const Explanation& explanation, const RunResult& run);

}  // namespace tokenline::report
