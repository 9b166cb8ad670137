#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sim/engine/request_log.hpp"
#include "sim/engine/sequence.hpp"
#include "sim/kernel/simulation.hpp"
#include "workloads/traffic/source.hpp"

namespace tokenline {

/// What clients tell the cluster.
class ClientListener {
 public:
  virtual ~ClientListener() = default;
  /// The client gives the attempt under way up.
  virtual void timed_out(std::uint32_t request) = 0;
  /// The client sends the request again, now.
  virtual void sends_again(std::uint32_t request) = 0;
};

/// The clients of a run that do not wait for ever: their clocks and retries. A request is known
/// here from its first attempt until it has ended, if its class is not patient. O(1) per attempt.
class Clients {
 public:
  /// All references must outlive it.
  Clients(Simulation& simulation, const RequestLog& log, ClientListener& listener,
          const std::vector<traffic::RequestClass>& classes, std::uint64_t seed);

  /// An attempt reaches the cluster now.
  void sent(std::uint32_t request);
  /// The attempt is the sequence of that id on its instance; no_sequence: on none.
  void placed(std::uint32_t request, SequenceId id);
  [[nodiscard]] SequenceId place(std::uint32_t request) const {
    return attempts_.at(request).place;
  }
  /// The attempt has failed. Whether the client sends it again; it then does so after its pause.
  [[nodiscard]] bool retries(std::uint32_t request);
  /// How often the client has sent the request again.
  [[nodiscard]] std::int64_t retries_so_far(std::uint32_t request) const;
  /// The request has ended.
  void ended(std::uint32_t request);

 private:
  /// The attempt under way of a request.
  struct Attempt {
    TimePoint sent{};
    std::int64_t number = 1;
    SequenceId place = no_sequence;
    std::optional<Simulation::EventId> timer;
  };

  [[nodiscard]] const traffic::Client& client(std::uint32_t request) const {
    return classes_[log_.records[request].class_index].client;
  }
  void arm(std::uint32_t request);
  void expire(std::uint32_t request);

  Simulation& simulation_;
  const RequestLog& log_;
  ClientListener& listener_;
  const std::vector<traffic::RequestClass>& classes_;
  std::uint64_t seed_;
  std::vector<double> tokens_;  ///< By class: what is left of its retry budget.
  std::unordered_map<std::uint32_t, Attempt> attempts_;
};

/// The pause of a client of the class before its `retry`-th retry (the first is 1) of the request
/// that is number `class_number` of it. A function of its arguments, so that no schedule changes
/// it.
[[nodiscard]] Duration retry_pause(const traffic::RequestClass& request_class, std::uint64_t seed,
                                   std::uint32_t class_number, std::int64_t retry);

}  // namespace tokenline
