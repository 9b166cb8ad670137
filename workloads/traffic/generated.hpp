#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "workloads/traffic/lengths.hpp"
#include "workloads/traffic/rate_profile.hpp"
#include "workloads/traffic/renewal.hpp"
#include "workloads/traffic/source.hpp"

namespace tokenline::traffic {

/// The requests of one generated class, without their times: request n draws from the stream
/// (seed, "<class>/lengths", n), prompt first, so that its lengths depend on nothing else.
class Requests {
 public:
  /// At most `limit` requests.
  Requests(std::uint64_t seed, std::string_view class_name, std::uint32_t class_index,
           LengthDistribution prompt, LengthDistribution output, std::int64_t limit);

  [[nodiscard]] bool used_up() const { return next_ == limit_; }
  [[nodiscard]] bool endless() const { return limit_ == std::numeric_limits<std::int64_t>::max(); }
  /// The next request, offered at `when`; not when used_up().
  [[nodiscard]] Arrival at(TimePoint when);

 private:
  std::uint64_t seed_;
  std::uint64_t purpose_;
  std::uint32_t class_index_;
  LengthDistribution prompt_;
  LengthDistribution output_;
  std::int64_t limit_;
  std::int64_t next_ = 0;
};

/// When a generated class begins and ends: no request arrives at or after `stop`.
struct Window {
  TimePoint start{};
  TimePoint stop = TimePoint::max();
};

/// Requests that arrive whatever the service does: a renewal process run through a rate profile.
/// The first arrival is one gap after the start. Ends with the requests, at `stop`, or where the
/// profile is zero for ever (or so low that the clock's 292 years pass first).
class OpenLoop final : public Source {
 public:
  OpenLoop(Requests requests, Renewal renewal, RateProfile profile, TimePoint stop)
      : requests_(std::move(requests)),
        renewal_(renewal),
        profile_(std::move(profile)),
        stop_(stop) {}

  [[nodiscard]] std::optional<Arrival> next() override;
  [[nodiscard]] std::optional<Arrival> finished(TimePoint /*now*/) override { return std::nullopt; }

 private:
  Requests requests_;
  Renewal renewal_;
  RateProfile profile_;
  TimePoint stop_;
  TimePoint last_{};
};

/// `max_concurrency` clients, each sending its next request `think_time` after the last one is
/// answered; without one, as `vllm bench serve --request-rate inf --max-concurrency N` would if it
/// took no time itself.
class ClosedLoop final : public Source {
 public:
  ClosedLoop(Requests requests, std::int64_t max_concurrency, Window window,
             Duration think_time = {})
      : requests_(std::move(requests)),
        clients_left_(max_concurrency),
        window_(window),
        think_time_(think_time) {}

  [[nodiscard]] std::optional<Arrival> next() override;
  [[nodiscard]] std::optional<Arrival> finished(TimePoint now) override;
  [[nodiscard]] bool endless_at_once() const override {
    return think_time_ == Duration{} && requests_.endless();
  }

 private:
  [[nodiscard]] std::optional<Arrival> send(TimePoint when);

  Requests requests_;
  std::int64_t clients_left_;  ///< That have not sent their first request.
  Window window_;
  Duration think_time_;
};

/// Reads one class of the `traffic:` section that has an `arrival:`, all its keys but `slo`.
/// Appends the source, and what is longest in it, to `traffic`.
void read_generated(config::Reader& entry, std::uint64_t seed, std::string_view class_name,
                    std::uint32_t class_index, Traffic& traffic);

}  // namespace tokenline::traffic
