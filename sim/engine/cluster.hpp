#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "sim/engine/autoscaler.hpp"
#include "sim/engine/client.hpp"
#include "sim/engine/instance.hpp"
#include "sim/engine/run.hpp"
#include "sim/engine/transfers.hpp"
#include "sim/kernel/simulation.hpp"
#include "sim/stats/time_average.hpp"

namespace tokenline {

/// Traffic sources, router and replicas of one run.
class Cluster final : private InstanceListener, private ClientListener {
 public:
  /// The scenario, and the observer if there is one, must outlive the cluster; the traffic sources
  /// are used up.
  explicit Cluster(Scenario& scenario, RunObserver* observer);
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  /// Runs until nothing is left to happen, and records the queues at `probes`; `stop` as of
  /// tokenline::run(). Call once.
  [[nodiscard]] RunResult run(std::span<const TimePoint> probes, std::stop_token stop);

 private:
  void schedule_next(std::size_t source);
  void arrive(std::size_t source, const traffic::Arrival& arrival);
  void look_at_replicas(PoolRole role);
  void send(std::uint32_t request);
  [[nodiscard]] bool admits(const RequestRecord& record);
  void route(std::uint32_t request);
  void place(std::size_t instance, std::uint32_t request);
  void lose_attempt(RequestRecord& record);
  void attempt_failed(std::uint32_t request, Outcome cause);
  void timed_out(std::uint32_t request) override;
  void sends_again(std::uint32_t request) override;
  void ended(std::uint32_t request);
  /// Where a request is computed first.
  [[nodiscard]] PoolRole first_role(const RequestRecord& record) const;
  [[nodiscard]] std::uint32_t choose(Router& router, std::uint32_t request);
  void add_replica(const Pool& pool, const Policies& policies);
  void connect_pools(const Policies& policies);
  void completed(std::uint32_t request) override;
  void crashed(std::uint32_t request, Outcome loss) override;
  void cut_short(std::uint32_t instance, TimePoint now) override;
  void prefilled(std::uint32_t request, SequenceId sequence) override;
  void computing(const ComputedPiece& piece) override;
  void reserved(std::uint32_t request, std::int64_t found) override;
  void expect_elsewhere(std::uint32_t request);
  void expect_faults();
  void expect(TimePoint when, std::function<void()> happens);
  void crash(std::size_t fault);
  [[nodiscard]] bool happened(const Fault& fault) const;
  void close_if_over();
  [[nodiscard]] std::vector<InstanceStats> snapshot() const;
  void watch_window();
  [[nodiscard]] QueueDepth queue_depth() const;
  [[nodiscard]] AuditReport audit_run() const;

  Scenario& scenario_;
  RunObserver* observer_;
  Simulation simulation_;
  RequestLog log_;
  std::vector<std::uint32_t> class_counts_;            ///< Requests that have arrived, by class.
  std::vector<std::optional<traffic::Arrival>> next_;  ///< By source: its arrival in the event set.
  std::unique_ptr<AdmissionControl> admission_;        ///< Null when every request enters.
  std::unique_ptr<Router> router_;
  std::unique_ptr<Router> decode_router_;  ///< Which replica decodes what another has computed.
  std::unique_ptr<Clients> clients_;       ///< Null when all of them wait for as long as it takes.
  std::vector<Pool> unnamed_;              ///< The one pool of a scenario without pools.
  std::vector<std::unique_ptr<Instance>> instances_;
  std::vector<const Pool*> pools_;          ///< Of each instance.
  bool finds_prefixes_ = false;             ///< Some replica finds what requests begin with.
  PoolRole own_role_ = PoolRole::both;      ///< Of the replicas that take requests whole.
  std::unique_ptr<Transfers> transfers_;    ///< Null where nothing is handed over.
  std::unique_ptr<Autoscaler> autoscaler_;  ///< Null when all instances serve all the time.
  std::vector<std::size_t> candidates_;     ///< Instances the router may choose, per call.
  std::vector<ReplicaView> views_;
  stats::TimeAverage in_system_;
  std::vector<std::optional<Simulation::EventId>> faults_to_come_;  ///< And ends of brown-outs.
  std::vector<FaultResult> faults_;
  std::uint64_t coming_ = 0;  ///< Arrivals in the event set.
  std::uint64_t offered_ = 0;
  std::uint64_t ended_ = 0;
  std::uint64_t rejected_ = 0;
  std::uint64_t timed_out_ = 0;
  std::vector<InstanceStats> at_from_;
  std::vector<InstanceStats> at_to_;
  std::vector<QueueDepth> depths_;
};

}  // namespace tokenline
