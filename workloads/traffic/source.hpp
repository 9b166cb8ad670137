#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/time.hpp"
#include "sim/config/reader.hpp"
#include "workloads/traffic/client.hpp"
#include "workloads/traffic/content.hpp"

namespace tokenline::traffic {

/// Targets of a class; a request is good when it meets all that are given.
struct Slo {
  std::optional<Duration> ttft;
  std::optional<Duration> tpot;
  std::optional<Duration> e2el;
  [[nodiscard]] bool any() const { return ttft || tpot || e2el; }
};

/// One request as it is offered.
struct Arrival {
  TimePoint when;
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;
  std::uint32_t class_index = 0;  ///< Into Traffic::classes.
  /// Which conversation of its source, or which request where requests begin alike; else 0.
  std::uint32_t session = 0;
};

/// One request that ended.
struct Finished {
  TimePoint when;
  std::uint32_t session = 0;  ///< Of its Arrival.
  bool answered = true;       ///< Completed, not lost.
};

/// How often something happened.
struct Count {
  std::string_view name;  ///< As it is to be serialized.
  std::int64_t count = 0;
};

/// Every request of a run is kept in memory until its end, with some hundred bytes.
inline constexpr double most_requests = 1e8;

/// A stream of requests. Open sources know every arrival in advance; a closed loop (a fixed number
/// of clients, each waiting for its answer) and conversations offer the next request when one
/// finishes.
class Source {
 public:
  virtual ~Source() = default;
  /// The next arrival, never earlier than the one before, or none when the source is exhausted. A
  /// closed-loop source yields its first `max_concurrency` requests here, all at its start;
  /// conversations yield their first turns.
  [[nodiscard]] virtual std::optional<Arrival> next() = 0;
  /// A request of this source ended; a closed-loop source answers with the client's next request,
  /// and a conversation with its next turn, arriving then or later. None from an open source, and
  /// once the requests are used up or the next would reach the source's stop.
  [[nodiscard]] virtual std::optional<Arrival> finished(const Finished& request) = 0;
  /// What became of the source's conversations so far, so that none ends in silence; empty where it
  /// has none.
  [[nodiscard]] virtual std::vector<Count> counts() const { return {}; }
  /// Whether its requests may begin with what others begin with.
  [[nodiscard]] virtual bool shares() const { return false; }
  /// What the request of that Arrival::session, prompt and answer, begins with.
  [[nodiscard]] virtual Content content(std::uint32_t /*session*/) const { return {}; }
  /// Whether more than most_requests would follow, if each ended when it arrives.
  [[nodiscard]] virtual bool floods_when_refused() const { return false; }
};

/// One named class of requests.
struct RequestClass {
  std::string name;
  Slo slo;
  std::int64_t priority = 0;  ///< The smallest goes first where priorities count.
  Client client = {};
};

/// Rows of a data file that were left out because a key of the scenario says so.
struct LeftOut {
  std::string path;       ///< Of the key: "traffic.chat.trace.unanswered".
  std::int64_t rows = 0;  ///< Never 0.
};

/// Everything that arrives in a scenario.
struct Traffic {
  /// Names are unique. In the order of the text; a trace with a class column yields its classes in
  /// the order of their first rows.
  std::vector<RequestClass> classes;
  /// One per entry, in the order of the text; requests are of the classes their arrivals name.
  std::vector<std::unique_ptr<Source>> sources;
  /// Largest prompt, and largest prompt + output, a source can offer, to be held against
  /// `max_model_len`, with the place to blame: the longer of the two distributions, or the row of a
  /// trace.
  struct Longest {
    std::int64_t prompt_tokens = 0;
    std::int64_t total_tokens = 0;
    config::Location where;
    std::string path;
  };
  std::vector<Longest> longest;  ///< One per source.
  std::vector<LeftOut> left_out;
};

/// Reads the `traffic:` section, a mapping of class name to class. Mistakes go to the reader's
/// document (the traffic is then incomplete: call Document::throw_if_errors() before using it);
/// trace files are read and checked completely here. Random draws are keyed by (seed, class name,
/// request number).
[[nodiscard]] Traffic read_traffic(config::Reader& scenario, std::uint64_t seed);

}  // namespace tokenline::traffic
