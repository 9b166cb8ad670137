#include "workloads/traffic/sessions.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/traffic/support.hpp"

using namespace tokenline;
using namespace tokenline::traffic;
using namespace tokenline::traffic::testing;

namespace {

using Turns = std::map<std::uint32_t, std::vector<Arrival>>;

/// How long a service takes for a request.
using Service = std::function<Duration(const Arrival&)>;

/// Serves every request of a source in a time of its own; the turns of each session, in order.
Turns serve(
    Source& source, const Service& service,
    const std::function<bool(const Arrival&)>& answers = [](const Arrival&) { return true; }) {
  std::multimap<TimePoint, Arrival> in_service;
  Turns turns;
  const auto accept = [&](const Arrival& arrival) {
    turns[arrival.session].push_back(arrival);
    in_service.emplace(arrival.when + service(arrival), arrival);
  };
  while (const auto arrival = source.next()) accept(*arrival);
  while (!in_service.empty()) {
    const auto [when, arrival] = *in_service.begin();
    in_service.erase(in_service.begin());
    if (const auto next = source.finished({when, arrival.session, answers(arrival)})) {
      REQUIRE(next->session == arrival.session);
      accept(*next);
    }
  }
  return turns;
}

Service takes(double seconds) {
  return [=](const Arrival&) { return to_duration(Seconds(seconds)); };
}

std::string chat_sessions(const std::string& session, const std::string& rest = "",
                          const std::string& rate = "5/s",
                          const std::string& lengths = "prompt_tokens: 10\n    output_tokens: 5") {
  return "traffic:\n  chat:\n    arrival: {process: poisson, rate: " + rate + "}\n    session: {" +
         session + "}\n" + (rest.empty() ? "" : "    " + rest + "\n") + "    " + lengths + "\n";
}

const std::string random_lengths =
    "prompt_tokens: {distribution: lognormal, mean: 80, sigma: 1, max: 900}\n"
    "    output_tokens: {distribution: uniform, min: 1, max: 300}";

std::int64_t count(const Source& source, std::string_view name) {
  for (const Count& entry : source.counts())
    if (entry.name == name) return entry.count;
  FAIL("no count of that name");
  return 0;
}

std::size_t requests(const Turns& turns) {
  std::size_t all = 0;
  for (const auto& [id, session] : turns) all += session.size();
  return all;
}

}  // namespace

TEST_CASE("a prompt is everything said before and the new tokens", "[traffic]") {
  const auto traffic = read("s.yaml", chat_sessions("turns: 7, think_time: 2 s, max_context: 1000, "
                                                    "num_sessions: 40"));
  const Turns turns = serve(*traffic.sources.at(0), takes(1.0));
  REQUIRE(turns.size() == 40);
  for (const auto& [id, session] : turns) {
    REQUIRE(session.size() == 7);
    for (std::size_t k = 0; k < 7; ++k) {
      REQUIRE(session[k].prompt_tokens == 10 + 15 * static_cast<std::int64_t>(k));
      REQUIRE(session[k].output_tokens == 5);
      // Answered after 1 s, and thought about for 2 s.
      if (k > 0) REQUIRE(session[k].when - session[k - 1].when == std::chrono::seconds(3));
    }
  }
  REQUIRE(count(*traffic.sources[0], "sessions_completed") == 40);
}

TEST_CASE("what a session says depends on the seed, its class, its number and the turn alone",
          "[traffic]") {
  const std::string session =
      "turns: {distribution: uniform, min: 1, max: 9}, max_context: 4000, num_sessions: 300, "
      "think_time: {distribution: exponential, mean: 5 s}";
  const auto served = [&](const std::string& rate, const Service& service,
                          std::uint64_t seed = 42) {
    const auto traffic = read("s.yaml", chat_sessions(session, "", rate, random_lengths), seed);
    return serve(*traffic.sources.at(0), service);
  };
  const Turns reference = served("5/s", takes(0.01));
  const Turns slow = served("500/s", takes(30.0));
  // A service that answers later sessions first.
  const Turns crossed = served("50/s", [](const Arrival& arrival) {
    return to_duration(Seconds(100.0 / (1.0 + arrival.session)));
  });
  for (const Turns& other : {slow, crossed}) {
    REQUIRE(other.size() == reference.size());
    for (const auto& [id, session_turns] : reference) {
      REQUIRE(other.at(id).size() == session_turns.size());
      for (std::size_t k = 0; k < session_turns.size(); ++k) {
        REQUIRE(other.at(id)[k].prompt_tokens == session_turns[k].prompt_tokens);
        REQUIRE(other.at(id)[k].output_tokens == session_turns[k].output_tokens);
      }
    }
  }
  // Think times are draws too: answers 29.99 s later delay the second turn by just that.
  for (const auto& [id, session_turns] : reference)
    if (session_turns.size() > 1)
      REQUIRE((slow.at(id)[1].when - slow.at(id)[0].when) -
                  (session_turns[1].when - session_turns[0].when) ==
              std::chrono::milliseconds(29'990));
  REQUIRE(requests(served("5/s", takes(0.01), 43)) != requests(reference));
}

TEST_CASE("sessions arrive as single requests of the same class would", "[traffic]") {
  const auto sessions =
      read("s.yaml", chat_sessions("turns: 3, think_time: 1 s, max_context: 1000, "
                                   "num_sessions: 100"));
  const auto single = read("s.yaml",
                           "traffic:\n  chat:\n    arrival: {process: poisson, rate: 5/s}\n"
                           "    num_prompts: 100\n    prompt_tokens: 1\n    output_tokens: 1\n");
  const auto first = all_of(*sessions.sources.at(0));
  const auto expected = all_of(*single.sources.at(0));
  REQUIRE(first.size() == 100);
  for (std::size_t i = 0; i < 100; ++i) {
    REQUIRE(first[i].when == expected[i].when);
    REQUIRE(first[i].session == i);
  }
}

TEST_CASE("a session ends where its next turn would exceed the context, and is counted",
          "[traffic]") {
  // After k turns a context holds 15 k tokens: 6 turns fit in 90 … 104, and nothing is shortened.
  for (const auto& [most, expected] : std::vector<std::pair<int, std::size_t>>{
           {15, 1}, {29, 1}, {30, 2}, {89, 5}, {90, 6}, {104, 6}, {105, 7}}) {
    const auto traffic =
        read("s.yaml", chat_sessions("turns: 7, think_time: 0 s, num_sessions: 20, "
                                     "max_context: " +
                                     std::to_string(most)));
    const Turns turns = serve(*traffic.sources.at(0), takes(1.0));
    for (const auto& [id, session] : turns) {
      REQUIRE(session.size() == expected);
      REQUIRE(session.back().prompt_tokens + session.back().output_tokens ==
              15 * static_cast<std::int64_t>(expected));
    }
    REQUIRE(count(*traffic.sources[0], "sessions_cut_by_max_context") == (expected < 7 ? 20 : 0));
    REQUIRE(count(*traffic.sources[0], "sessions_completed") == (expected < 7 ? 0 : 20));
  }
}

TEST_CASE("without a bound in reach a class sends sessions × mean turns requests", "[traffic]") {
  const auto traffic =
      read("s.yaml", chat_sessions("turns: {distribution: uniform, min: 1, max: 9}, "
                                   "think_time: 1 s, max_context: 1000, "
                                   "num_sessions: 10000"));
  const Turns turns = serve(*traffic.sources.at(0), takes(1.0));
  // Uniform on 1 … 9: mean 5, variance (81 − 1)/12.
  const double deviation = std::sqrt(10'000.0 * 80.0 / 12.0);
  REQUIRE(std::abs(static_cast<double>(requests(turns)) - 50'000.0) < 5.0 * deviation);
}

TEST_CASE("no turn is sent at or after the stop, and a session cut there is counted", "[traffic]") {
  const auto traffic =
      read("s.yaml",
           chat_sessions("turns: 1000, think_time: 100 ms, max_context: 100000", "stop: 20 s"));
  const Turns turns = serve(*traffic.sources.at(0), takes(0.4));
  for (const auto& [id, session] : turns) {
    REQUIRE(session.back().when < TimePoint(std::chrono::seconds(20)));
    // A turn each half second, up to the stop.
    REQUIRE(session.back().when >= TimePoint(std::chrono::milliseconds(19'500)));
  }
  const Source& source = *traffic.sources[0];
  REQUIRE(count(source, "sessions") == static_cast<std::int64_t>(turns.size()));
  REQUIRE(count(source, "sessions_cut_by_stop") == count(source, "sessions"));
}

TEST_CASE("a lost answer ends its session", "[traffic]") {
  const auto traffic = read("s.yaml", chat_sessions("turns: 4, think_time: 1 s, max_context: 1000, "
                                                    "num_sessions: 10"));
  const Turns turns = serve(*traffic.sources.at(0), takes(1.0), [](const Arrival& arrival) {
    return arrival.session % 2 == 0 || arrival.prompt_tokens < 25;
  });
  for (const auto& [id, session] : turns) REQUIRE(session.size() == (id % 2 == 0 ? 4 : 2));
  REQUIRE(count(*traffic.sources[0], "sessions_broken_off") == 5);
  REQUIRE(count(*traffic.sources[0], "sessions_completed") == 5);
}

TEST_CASE("every session ends in exactly one way", "[traffic]") {
  const auto traffic = read(
      "s.yaml", chat_sessions("turns: {distribution: uniform, min: 1, max: 30}, max_context: 3000, "
                              "think_time: {distribution: lognormal, mean: 3 s, sigma: 1.5}",
                              "stop: 60 s", "20/s", random_lengths));
  const Turns turns = serve(*traffic.sources.at(0), takes(0.5),
                            [](const Arrival& arrival) { return arrival.output_tokens != 77; });
  const auto counts = traffic.sources[0]->counts();
  REQUIRE(counts.front().name == "sessions");
  REQUIRE(counts.front().count == static_cast<std::int64_t>(turns.size()));
  std::int64_t ended = 0;
  for (std::size_t i = 1; i < counts.size(); ++i) {
    REQUIRE(counts[i].count > 0);
    ended += counts[i].count;
  }
  REQUIRE(ended == counts.front().count);
}

TEST_CASE("think times have their mean: exponential variance m², lognormal m² (exp σ² − 1)",
          "[traffic]") {
  using Distribution = ThinkTime::Distribution;
  RandomStream random(11, "think", 0);
  REQUIRE(draw(ThinkTime{Distribution::fixed, Seconds(7.0)}, random) == Seconds(7.0));
  for (const auto& [distribution, variance] :
       {std::pair(Distribution::exponential, 400.0),
        std::pair(Distribution::lognormal, 400.0 * std::expm1(0.49))}) {
    const ThinkTime think{distribution, Seconds(20.0), 0.7};
    constexpr int n = 200'000;
    double sum = 0.0;
    double squares = 0.0;
    for (int i = 0; i < n; ++i) {
      const double value = draw(think, random).value();
      sum += value;
      squares += value * value;
    }
    const double mean = sum / n;
    REQUIRE(std::abs(mean - 20.0) < 5.0 * std::sqrt(variance / n));
    REQUIRE(squares / n - mean * mean == Approx(variance).epsilon(0.03));
  }
}

TEST_CASE("turns draw their lengths together where the class does", "[traffic]") {
  const Scratch folder;
  (void)folder.write("pairs.csv", "prompt_tokens,output_tokens\n10,90\n40,60\n70,30\n");
  const auto traffic =
      read(folder / "s.yaml",
           chat_sessions("turns: 5, think_time: 1 s, max_context: 9000, num_sessions: 50", "",
                         "5/s", "lengths: {file: pairs.csv, format: pairs}"));
  for (const auto& [id, session] : serve(*traffic.sources.at(0), takes(1.0)))
    for (std::size_t k = 0; k < session.size(); ++k)
      REQUIRE(session[k].prompt_tokens + session[k].output_tokens ==
              100 * (static_cast<std::int64_t>(k) + 1));
  REQUIRE(traffic.longest.at(0).total_tokens == 500);
  REQUIRE(traffic.longest[0].prompt_tokens == 470);
}

TEST_CASE("the longest turn is bounded by the context, which is then to blame", "[traffic]") {
  const auto free = read("s.yaml", chat_sessions("turns: 4, think_time: 1 s, max_context: 60, "
                                                 "num_sessions: 1"));
  REQUIRE(free.longest.at(0).prompt_tokens == 55);
  REQUIRE(free.longest[0].total_tokens == 60);
  REQUIRE(free.longest[0].path == "traffic.chat.prompt_tokens");
  const auto bounded = read("s.yaml", chat_sessions("turns: 5, think_time: 1 s, max_context: 60, "
                                                    "num_sessions: 1"));
  REQUIRE(bounded.longest.at(0).total_tokens == 60);
  REQUIRE(bounded.longest[0].path == "traffic.chat.session.max_context");
}

TEST_CASE("every mistake of a class of sessions is reported at its place", "[traffic]") {
  const std::string good = "turns: 4, think_time: 1 s, max_context: 1000";
  const std::vector<std::pair<std::string, std::string>> cases{
      {chat_sessions(good), "traffic.chat.arrival: the class would never end"},
      {chat_sessions(good, "num_prompts: 5\n    stop: 5 s"),
       "traffic.chat.num_prompts: unknown key"},
      {chat_sessions(good + ", turn: 4, num_sessions: 1"), "did you mean 'turns'?"},
      {chat_sessions("turns: 4, max_context: 1000, num_sessions: 1"),
       "traffic.chat.session.think_time: required key is missing"},
      {chat_sessions("turns: 4, think_time: 1 s, num_sessions: 1"),
       "traffic.chat.session.max_context: required key is missing"},
      {chat_sessions("turns: 0, think_time: 1 s, max_context: 1000, num_sessions: 1"),
       "traffic.chat.session.turns: 0 is out of range"},
      {chat_sessions("turns: 1000001, think_time: 0 s, max_context: 1000, num_sessions: 1"),
       "traffic.chat.session.turns: a session can have 1000001 turns, more than 1000000"},
      {chat_sessions("turns: 4, think_time: 1, max_context: 1000, num_sessions: 1"),
       "traffic.chat.session.think_time: '1' is a bare number"},
      {chat_sessions(
           "turns: 4, think_time: {distribution: exponental, mean: 1 s}, max_context: 99, "
           "num_sessions: 1"),
       "did you mean 'exponential'?"},
      {chat_sessions("turns: 4, think_time: {distribution: exponential, mean: 1 s, sigma: 1}, "
                     "max_context: 99, num_sessions: 1"),
       "traffic.chat.session.think_time.sigma: unknown key"},
      {chat_sessions("turns: 4, think_time: 1 s, max_context: 14, num_sessions: 1"),
       "s.yaml:4:55: error: traffic.chat.session.max_context: a first prompt and its answer can "
       "have 15 tokens, more than 14"},
      {chat_sessions(good + ", num_sessions: 100_000_000"),
       "traffic.chat.arrival: the class would send about 4e+08 requests"},
      {"traffic:\n  chat:\n    arrival: {process: closed_loop, max_concurrency: 2}\n    session: "
       "{" +
           good + ", num_sessions: 1}\n    prompt_tokens: 10\n    output_tokens: 5\n",
       "traffic.chat.arrival: sessions arrive by an open process"}};
  for (const auto& [yaml, report] : cases) {
    const std::string found = mistakes("s.yaml", yaml);
    INFO(yaml);
    INFO(found);
    CHECK(found.find(report) != std::string::npos);
    CHECK(std::ranges::count(found, '\n') <= 2);
  }
}
