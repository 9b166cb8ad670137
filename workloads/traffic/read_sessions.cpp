#include "workloads/traffic/read_sessions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "workloads/traffic/csv_file.hpp"
#include "workloads/traffic/read_lengths.hpp"

namespace tokenline::traffic {
namespace {

ThinkTime read_think_time_distribution(config::Reader& section) {
  static const std::vector<std::string> kinds{"exponential", "lognormal"};
  ThinkTime think_time;
  const std::string kind =
      section.word({"distribution", "How think times are distributed."}, kinds);
  if (kind == "exponential") think_time.distribution = ThinkTime::Distribution::exponential;
  if (kind == "lognormal") think_time.distribution = ThinkTime::Distribution::lognormal;
  if (kind.empty()) section.allow_unknown();
  think_time.mean = section.seconds({"mean", "Mean think time."}, {1e-9, 1e6});
  section.alternative("with distribution: lognormal", kind == "lognormal", [&] {
    think_time.sigma = section.real(
        {"sigma", "Standard deviation of the logarithm of the think time."}, {1e-3, 10.0});
  });
  section.finish();
  return think_time;
}

ThinkTime read_think_time(config::Reader& section) {
  ThinkTime think_time;
  const config::Key key{"think_time", "From the end of an answer to the next prompt."};
  const bool distribution = section.is_mapping(key.name);
  section.alternative("", !distribution,
                      [&] { think_time.mean = section.seconds(key, {0.0, 1e6}); });
  section.alternative("", distribution, [&] {
    config::Reader inner = section.section(key);
    think_time = read_think_time_distribution(inner);
  });
  return think_time;
}

}  // namespace

ReadSessions read_sessions(config::Reader& entry) {
  ReadSessions read;
  config::Reader section = entry.section(
      {"session", "Each arrival begins a conversation, whose prompts hold all that was said."});
  const std::size_t before = section.document().mistakes();
  read.plan.turns = read_lengths(section, {"turns", "Prompts of a conversation."}).lengths;
  if (longest(read.plan.turns) > SessionPlan::most_turns && section.document().mistakes() == before)
    section.error("turns", fmt::format("a session can have {} turns, more than {}",
                                       longest(read.plan.turns), SessionPlan::most_turns));
  read.plan.think_time = read_think_time(section);
  read.plan.max_context = section.integer(
      {"max_context", "A session ends where the next prompt and answer would be longer together."},
      {2, 2 * most_tokens});
  read.max_context_at = section.where("max_context");
  read.max_context_path = section.path() + ".max_context";
  constexpr std::int64_t most_sessions = 1'000'000'000;
  const auto limit = section.optional_integer(
      {"num_sessions", "Sessions of the class at most; needed where stop is not."},
      {1, most_sessions});
  read.limited = limit.has_value();
  read.plan.limit = limit.value_or(most_sessions);
  section.finish();
  return read;
}

Traffic::Longest longest_turn(const config::Reader& entry, const ReadSessions& sessions,
                              const Traffic::Longest& turn) {
  const std::int64_t most = sessions.plan.max_context;
  const std::int64_t prefix = sessions.plan.prefix.tokens;
  if (prefix + turn.total_tokens > most)
    entry.document().error(
        sessions.max_context_at, sessions.max_context_path,
        fmt::format("a first prompt and its answer can have {} tokens, more than {}",
                    prefix + turn.total_tokens, most),
        "raise max_context, or bound the lengths");
  const std::int64_t more = longest(sessions.plan.turns) - 1;
  const std::int64_t total = prefix + turn.total_tokens + more * turn.total_tokens;
  const std::int64_t prompt = prefix + turn.prompt_tokens + more * turn.total_tokens;
  if (total <= most) return {prompt, total, turn.where, turn.path};
  return {std::min(prompt, most - 1), most, sessions.max_context_at, sessions.max_context_path};
}

}  // namespace tokenline::traffic
