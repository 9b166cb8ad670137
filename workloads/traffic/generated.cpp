#include "workloads/traffic/generated.hpp"

#include <string>
#include <utility>

namespace tokenline::traffic {

Requests::Requests(std::uint64_t seed, std::string_view class_name, std::uint32_t class_index,
                   RequestLengths lengths, std::int64_t limit, SharedPrefix prefix)
    : seed_(seed),
      purpose_(RandomStream::hash(std::string(class_name) + "/lengths")),
      class_index_(class_index),
      lengths_(std::move(lengths)),
      limit_(limit),
      prefix_(prefix) {}

Arrival Requests::at(TimePoint when) {
  const std::int64_t number = next_++;
  RandomStream random(seed_, purpose_, static_cast<std::uint64_t>(number));
  const TokenCounts counts = draw(lengths_, random);
  return {when, prefix_.tokens + counts.prompt_tokens, counts.output_tokens, class_index_,
          shares() ? static_cast<std::uint32_t>(number) : 0};
}

Content Requests::content(std::uint32_t number) const {
  return shares() ? Content{prefix_.of(number)} : Content{};
}

std::optional<Arrival> OpenLoop::next() {
  if (requests_.used_up()) return std::nullopt;
  const auto when = times_.next();
  return when ? std::optional(requests_.at(*when)) : std::nullopt;
}

std::optional<Arrival> ClosedLoop::next() {
  if (clients_left_ == 0) return std::nullopt;
  --clients_left_;
  return send(window_.start);
}

std::optional<Arrival> ClosedLoop::finished(const Finished& request) {
  return send(request.when + think_time_);
}

bool ClosedLoop::floods_when_refused() const {
  if (!requests_.endless()) return false;
  const double each = static_cast<double>((window_.stop - window_.start).count()) /
                      static_cast<double>(think_time_.count());
  // Written so that no think time at all floods.
  return !(each * static_cast<double>(clients_) <= most_requests);
}

std::optional<Arrival> ClosedLoop::send(TimePoint when) {
  if (requests_.used_up() || when >= window_.stop) return std::nullopt;
  return requests_.at(when);
}

}  // namespace tokenline::traffic
