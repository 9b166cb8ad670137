#include "sim/engine/client.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/base/random.hpp"

namespace tokenline {

Clients::Clients(Simulation& simulation, const RequestLog& log, ClientListener& listener,
                 const std::vector<traffic::RequestClass>& classes, std::uint64_t seed)
    : simulation_(simulation), log_(log), listener_(listener), classes_(classes), seed_(seed) {
  for (const traffic::RequestClass& c : classes)
    tokens_.push_back(c.client.budget ? c.client.budget->max_tokens : 0.0);
}

void Clients::sent(std::uint32_t request) {
  if (client(request).patient()) return;
  attempts_[request].sent = simulation_.now();
  arm(request);
}

void Clients::placed(std::uint32_t request, SequenceId id) {
  if (client(request).patient()) return;
  attempts_[request].place = id;
}

void Clients::arm(std::uint32_t request) {
  const traffic::Client& of = client(request);
  Attempt& attempt = attempts_.at(request);
  const bool started = log_.records[request].first_token != TimePoint{};
  auto patience = of.timeout;
  if (of.ttft_timeout && !started) patience = of.ttft_timeout;
  if (!patience) return;
  attempt.timer = simulation_.at(attempt.sent + *patience, Phase::arrival,
                                 [this, request] { expire(request); });
}

void Clients::expire(std::uint32_t request) {
  attempts_.at(request).timer.reset();
  const auto& timeout = client(request).timeout;
  const bool over = timeout && simulation_.now() >= attempts_.at(request).sent + *timeout;
  if (!over && log_.records[request].first_token != TimePoint{})
    arm(request);  // The first token came in time; now for the last.
  else
    listener_.timed_out(request);
}

Duration retry_pause(const traffic::RequestClass& request_class, std::uint64_t seed,
                     std::uint32_t class_number, std::int64_t retry) {
  const traffic::Client& of = request_class.client;
  const double limit = static_cast<double>(of.max_backoff.count());
  const double grown = std::ldexp(static_cast<double>(of.backoff.count()),
                                  static_cast<int>(std::min<std::int64_t>(retry - 1, 60)));
  double share = 1.0;
  if (of.jitter > 0.0) {
    RandomStream random(seed, request_class.name + "/retry", class_number);
    for (std::int64_t i = 1; i < retry; ++i) (void)random();
    share -= of.jitter * std::ldexp(static_cast<double>(random()), -32);
  }
  return Duration(std::llround(std::min(grown, limit) * share));
}

bool Clients::retries(std::uint32_t request) {
  const auto found = attempts_.find(request);
  if (found == attempts_.end()) return false;
  Attempt& attempt = found->second;
  if (attempt.timer) simulation_.cancel(*std::exchange(attempt.timer, std::nullopt));
  attempt.place = no_sequence;
  const RequestRecord& record = log_.records[request];
  const traffic::RequestClass& its = classes_[record.class_index];
  if (its.client.budget) {
    double& left = tokens_[record.class_index];
    left = std::max(0.0, left - 1.0);
    if (left <= its.client.budget->max_tokens / 2.0) return false;
  }
  if (attempt.number >= its.client.attempts) return false;
  const Duration pause = retry_pause(its, seed_, record.class_number, attempt.number);
  ++attempt.number;
  simulation_.after(pause, Phase::arrival, [this, request] { listener_.sends_again(request); });
  return true;
}

std::int64_t Clients::retries_so_far(std::uint32_t request) const {
  const auto found = attempts_.find(request);
  return found == attempts_.end() ? 0 : found->second.number - 1;
}

void Clients::ended(std::uint32_t request) {
  const auto found = attempts_.find(request);
  if (found == attempts_.end()) return;
  if (found->second.timer) simulation_.cancel(*found->second.timer);
  attempts_.erase(found);
  const RequestRecord& record = log_.records[request];
  const auto& budget = classes_[record.class_index].client.budget;
  if (!budget || record.outcome != Outcome::completed) return;
  double& left = tokens_[record.class_index];
  left = std::min(budget->max_tokens, left + budget->token_ratio);
}

}  // namespace tokenline
