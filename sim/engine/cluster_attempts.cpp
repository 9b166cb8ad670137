// What a cluster does about attempts that fail: crashes, refusals, clients that give up.
#include "sim/engine/cluster.hpp"

namespace tokenline {

void Cluster::lose_attempt(RequestRecord& record) {
  // Whatever the attempt did was in vain.
  record.parts = {};
  record.parts[Part::restart] = simulation_.now() - record.arrival;
  record.ttft_parts = {};
  record.first_token = {};
}

void Cluster::crashed(std::uint32_t request, Outcome loss) {
  RequestRecord& record = log_.records[request];
  if (transfers_ != nullptr && transfers_->knows(request) && transfers_->cancel(request)) {
    expect_elsewhere(request);
    return;
  }
  if (autoscaler_ != nullptr) autoscaler_->left(record.instance);
  const std::int64_t by_client = clients_ == nullptr ? 0 : clients_->retries_so_far(request);
  if (!scenario_.cluster.retry_after_oom ||
      record.retries - by_client >= scenario_.cluster.max_retries) {
    attempt_failed(request, loss);
    return;
  }
  lose_attempt(record);
  if (clients_ != nullptr) clients_->placed(request, no_sequence);
  const std::uint32_t attempt = ++record.retries;
  simulation_.at(simulation_.now(), Phase::arrival, [this, request, attempt] {
    // Its client may give it up at this very instant.
    if (log_.records[request].retries != attempt ||
        log_.records[request].outcome != Outcome::in_flight)
      return;
    look_at_replicas(first_role(log_.records[request]));
    route(request);
  });
}

void Cluster::attempt_failed(std::uint32_t request, Outcome cause) {
  RequestRecord& record = log_.records[request];
  lose_attempt(record);
  if (clients_ != nullptr && clients_->retries(request)) {
    ++record.retries;
    return;
  }
  record.outcome = cause;
  record.finish = simulation_.now();
  if (cause == Outcome::rejected) ++rejected_;
  if (cause == Outcome::timed_out) ++timed_out_;
  ended(request);
}

void Cluster::timed_out(std::uint32_t request) {
  const RequestRecord& record = log_.records[request];
  if (const SequenceId id = clients_->place(request); id != no_sequence)
    instances_[record.instance]->abandon(
        id, scenario_.traffic.classes[record.class_index].client.abort_on_timeout);
  attempt_failed(request, Outcome::timed_out);
}

void Cluster::sends_again(std::uint32_t request) {
  lose_attempt(log_.records[request]);  // The pause is no more useful than the attempt.
  send(request);
}

}  // namespace tokenline
