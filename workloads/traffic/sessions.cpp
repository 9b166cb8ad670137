#include "workloads/traffic/sessions.hpp"

#include <string>

#include "sim/base/check.hpp"

namespace tokenline::traffic {

Sessions::Sessions(std::uint64_t seed, std::string_view class_name, std::uint32_t class_index,
                   SessionPlan plan, ArrivalTimes times, TimePoint stop)
    : seed_(seed),
      sessions_purpose_(RandomStream::hash(std::string(class_name) + "/sessions")),
      turns_purpose_(RandomStream::hash(std::string(class_name) + "/turns")),
      class_index_(class_index),
      plan_(std::move(plan)),
      times_(std::move(times)),
      stop_(stop) {}

std::optional<Arrival> Sessions::next() {
  if (begun_ == plan_.limit) return std::nullopt;
  const auto when = times_.next();
  if (!when) return std::nullopt;
  const std::uint32_t id = begun_++;
  RandomStream random(seed_, sessions_purpose_, id);
  Session session{.context = plan_.prefix.tokens, .turns = draw(plan_.turns, random)};
  RandomStream lengths = stream_of(id, 0);
  const TokenCounts first = draw(plan_.lengths, lengths);
  TOKENLINE_CHECK(fits(session, first), "the first turn of session {} exceeds {} tokens", id,
                  plan_.max_context);
  return send(id, open_.emplace(id, session).first->second, first, *when);
}

std::optional<Arrival> Sessions::finished(const Finished& request) {
  const auto found = open_.find(request.session);
  TOKENLINE_CHECK(found != open_.end(), "session {} answered without a turn", request.session);
  Session& session = found->second;
  const auto end = [&](std::int64_t& count) -> std::optional<Arrival> {
    ++count;
    open_.erase(found);
    return std::nullopt;
  };
  if (!request.answered) return end(broken_off_);
  if (session.turn == session.turns) return end(completed_);
  RandomStream random = stream_of(request.session, session.turn);
  const Seconds think = draw(plan_.think_time, random);
  const TokenCounts counts = draw(plan_.lengths, random);
  // Why first: how much fits depends on the session alone, not on when the service answers.
  if (!fits(session, counts)) return end(cut_by_max_context_);
  constexpr double clock_end = 9.2e9;  // Seconds; int64 nanoseconds hold 9.223e9.
  if (to_seconds(request.when.time_since_epoch()).value() + think.value() >= clock_end)
    return end(cut_by_stop_);
  const TimePoint when = request.when + to_duration(think);
  if (when >= stop_) return end(cut_by_stop_);
  return send(request.session, session, counts, when);
}

Arrival Sessions::send(std::uint32_t id, Session& session, TokenCounts counts,
                       TimePoint when) const {
  const std::int64_t prompt = session.context + counts.prompt_tokens;
  session.context = prompt + counts.output_tokens;
  ++session.turn;
  return {when, prompt, counts.output_tokens, class_index_, id};
}

Content Sessions::content(std::uint32_t session) const {
  Content content;
  if (plan_.prefix.tokens > 0) content.push_back(plan_.prefix.of(session));
  content.push_back({content_id(turns_purpose_, session), ContentRun::endless});
  return content;
}

std::vector<Count> Sessions::counts() const {
  return {{"sessions", begun_},
          {"sessions_completed", completed_},
          {"sessions_cut_by_max_context", cut_by_max_context_},
          {"sessions_cut_by_stop", cut_by_stop_},
          {"sessions_broken_off", broken_off_}};
}

}  // namespace tokenline::traffic
