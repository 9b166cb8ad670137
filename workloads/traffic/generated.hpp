#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "workloads/traffic/arrival_times.hpp"
#include "workloads/traffic/lengths.hpp"
#include "workloads/traffic/source.hpp"

namespace tokenline::traffic {

/// The requests of one generated class, without their times: request n draws from the stream
/// (seed, "<class>/lengths", n), prompt first, so that its lengths depend on nothing else. A shared
/// prefix comes before what is drawn.
class Requests {
 public:
  /// At most `limit` requests.
  Requests(std::uint64_t seed, std::string_view class_name, std::uint32_t class_index,
           RequestLengths lengths, std::int64_t limit, SharedPrefix prefix = {});

  [[nodiscard]] bool used_up() const { return next_ == limit_; }
  [[nodiscard]] bool endless() const { return limit_ == std::numeric_limits<std::int64_t>::max(); }
  /// The next request, offered at `when`; not when used_up().
  [[nodiscard]] Arrival at(TimePoint when);
  /// Source::shares() and content() of these requests.
  [[nodiscard]] bool shares() const { return prefix_.tokens > 0; }
  [[nodiscard]] Content content(std::uint32_t number) const;

 private:
  std::uint64_t seed_;
  std::uint64_t purpose_;
  std::uint32_t class_index_;
  RequestLengths lengths_;
  std::int64_t limit_;
  SharedPrefix prefix_;
  std::int64_t next_ = 0;
};

/// When a generated class begins and ends: no request arrives at or after `stop`.
struct Window {
  TimePoint start{};
  TimePoint stop = TimePoint::max();
};

/// Requests that arrive whatever the service does. Ends with the requests or their times.
class OpenLoop final : public Source {
 public:
  OpenLoop(Requests requests, ArrivalTimes times)
      : requests_(std::move(requests)), times_(std::move(times)) {}

  [[nodiscard]] std::optional<Arrival> next() override;
  [[nodiscard]] std::optional<Arrival> finished(const Finished& /*request*/) override {
    return std::nullopt;
  }
  [[nodiscard]] bool shares() const override { return requests_.shares(); }
  [[nodiscard]] Content content(std::uint32_t session) const override {
    return requests_.content(session);
  }

 private:
  Requests requests_;
  ArrivalTimes times_;
};

/// `max_concurrency` clients, each sending its next request `think_time` after the last one is
/// answered; without one, as `vllm bench serve --request-rate inf --max-concurrency N` would if it
/// took no time itself.
class ClosedLoop final : public Source {
 public:
  ClosedLoop(Requests requests, std::int64_t max_concurrency, Window window,
             Duration think_time = {})
      : requests_(std::move(requests)),
        clients_(max_concurrency),
        clients_left_(max_concurrency),
        window_(window),
        think_time_(think_time) {}

  [[nodiscard]] std::optional<Arrival> next() override;
  [[nodiscard]] std::optional<Arrival> finished(const Finished& request) override;
  [[nodiscard]] bool floods_when_refused() const override;
  [[nodiscard]] bool shares() const override { return requests_.shares(); }
  [[nodiscard]] Content content(std::uint32_t session) const override {
    return requests_.content(session);
  }

 private:
  [[nodiscard]] std::optional<Arrival> send(TimePoint when);

  Requests requests_;
  std::int64_t clients_;
  std::int64_t clients_left_;  ///< That have not sent their first request.
  Window window_;
  Duration think_time_;
};

/// Reads one class of the `traffic:` section that has an `arrival:`, single requests or
/// conversations, all its keys but `slo`.
/// Appends the source, and what is longest in it, to `traffic`.
void read_generated(config::Reader& entry, std::uint64_t seed, std::string_view class_name,
                    std::uint32_t class_index, Traffic& traffic);

}  // namespace tokenline::traffic
