#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "workloads/traffic/arrival_times.hpp"
#include "workloads/traffic/lengths.hpp"
#include "workloads/traffic/source.hpp"
#include "workloads/traffic/think_time.hpp"

namespace tokenline::traffic {

/// What the conversations of a class are like.
struct SessionPlan {
  /// No session has more turns than this.
  static constexpr std::int64_t most_turns = 1'000'000;

  LengthDistribution turns = FixedLength{1};  ///< Of a session, at most most_turns.
  RequestLengths lengths;                     ///< Of a turn: its new prompt tokens, its answer.
  ThinkTime think_time;
  std::int64_t max_context = 1;  ///< Prompt and answer of a turn at most; holds any first turn.
  std::int64_t limit = 1;        ///< Sessions at most.
  SharedPrefix prefix;           ///< What each begins with; max_context holds it too.
};

/// Clients that hold conversations. Sessions arrive whatever the service does; inside one, the next
/// turn is sent a think time after the last answer ended, and its prompt is all that was said
/// before, prompts and answers, followed by its new tokens. Session s draws its number of turns
/// from the stream (seed, "<class>/sessions", s), and for turn k > 0 its think time, then the
/// lengths of turn k from (seed, "<class>/turns", s · 2^20 + k): nothing depends on the service.
///
/// A session ends with its last turn; where the next one would not fit in `max_context`; where it
/// would be sent at the stop or later; or with an answer that is lost, for there is no history to
/// go on from. Each is counted.
class Sessions final : public Source {
 public:
  Sessions(std::uint64_t seed, std::string_view class_name, std::uint32_t class_index,
           SessionPlan plan, ArrivalTimes times, TimePoint stop);

  [[nodiscard]] std::optional<Arrival> next() override;
  [[nodiscard]] std::optional<Arrival> finished(const Finished& request) override;
  /// `sessions`, and how many of them ended in which way.
  [[nodiscard]] std::vector<Count> counts() const override;
  [[nodiscard]] bool shares() const override { return true; }
  [[nodiscard]] Content content(std::uint32_t session) const override;

 private:
  /// A conversation between two turns or during one.
  struct Session {
    std::int64_t context = 0;  ///< Tokens of all prompts and answers, and of the prefix.
    std::int64_t turn = 0;     ///< The next one, from 0.
    std::int64_t turns = 1;
  };
  [[nodiscard]] RandomStream stream_of(std::uint32_t id, std::int64_t turn) const {
    return {seed_, turns_purpose_, (std::uint64_t{id} << 20U) + static_cast<std::uint64_t>(turn)};
  }
  [[nodiscard]] bool fits(const Session& session, TokenCounts turn) const {
    return session.context + turn.prompt_tokens + turn.output_tokens <= plan_.max_context;
  }
  /// The session's next turn, at `when`.
  [[nodiscard]] Arrival send(std::uint32_t id, Session& session, TokenCounts counts,
                             TimePoint when) const;

  std::uint64_t seed_;
  std::uint64_t sessions_purpose_;
  std::uint64_t turns_purpose_;
  std::uint32_t class_index_;
  SessionPlan plan_;
  ArrivalTimes times_;
  TimePoint stop_;
  std::uint32_t begun_ = 0;
  std::unordered_map<std::uint32_t, Session> open_;
  std::int64_t completed_ = 0;
  std::int64_t cut_by_max_context_ = 0;
  std::int64_t cut_by_stop_ = 0;
  std::int64_t broken_off_ = 0;
};

}  // namespace tokenline::traffic
