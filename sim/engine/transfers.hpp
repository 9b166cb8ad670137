#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/engine/flows.hpp"
#include "sim/engine/instance.hpp"
#include "sim/engine/pools.hpp"
#include "sim/engine/transfer_counts.hpp"

namespace tokenline {

/// An instance as transfers see it.
struct TransferEnd {
  Instance* instance = nullptr;
  const Pool* pool = nullptr;
  const std::vector<hw::Vertex>* gpus = nullptr;  ///< By tensor-parallel rank.
};

/// Moves the KV of prompts from the instances that computed them to those that decode them:
/// README.md, *Disaggregation*. It keeps one job per request from the choice of the second instance
/// until its KV has landed.
class Transfers {
 public:
  /// All must outlive this; `ends` is by index of the instance.
  Transfers(Simulation& simulation, RequestLog& log, const hw::Network& network,
            const Disaggregation& how, std::vector<TransferEnd> ends);

  /// Instance `to` will decode what `from` computes.
  void begin(std::uint32_t request, std::uint32_t from, std::uint32_t to);
  [[nodiscard]] bool knows(std::uint32_t request) const { return jobs_.contains(request); }
  /// From InstanceListener. Contract: knows(request).
  void prefilled(std::uint32_t request, SequenceId sequence);
  void computing(const ComputedPiece& piece);
  void reserved(std::uint32_t request, std::int64_t found);
  /// One of the two instances, the one that its record names, has lost the request. True if the
  /// other one is still computing it: its record then names that one, and it can be decoded
  /// elsewhere.
  [[nodiscard]] bool cancel(std::uint32_t request);

  /// The network carries less, or as much as before again, from now on.
  void set_brownouts(std::span<const hw::Brownout> brownouts);

  [[nodiscard]] TransferCounts counts() const;

 private:
  struct Job {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    SequenceId here = no_sequence;  ///< In `from`, once its prefill is complete.
    SequenceId there = no_sequence;
    std::int64_t found = 0;    ///< Tokens, from the first on, that `to` had already.
    std::int64_t sent = 0;     ///< The same and those whose flows have begun.
    std::int64_t flows = 0;    ///< Under way.
    std::int64_t arrived = 0;  ///< Bytes of others.
    ComputedPiece piece{};     ///< The last one that began.
    std::optional<TimePoint> prefilled{};
    std::optional<TimePoint> reserved{};
  };
  /// KV that leaves together: so many layers of so many tokens.
  struct Parcel {
    std::int64_t tokens = 0;
    std::int64_t layers = 0;
    std::optional<Seconds> of_layer = {};  ///< They are being computed, one in so long,
    Duration after{};                      ///< the first in so long.
  };
  /// From one GPU to another.
  struct Lane {
    hw::Path path;
    std::int64_t heads = 0;
  };

  const std::vector<Lane>& lanes(std::uint32_t from, std::uint32_t to);
  void send_stored(std::uint32_t request, Job& job, std::int64_t end);
  void send_piece(Job& job);
  void send(std::uint32_t request, Job& job, const Parcel& parcel);
  void flow_ended(std::uint32_t request, std::int64_t bytes);
  void land_if_complete(std::uint32_t request);

  Simulation& simulation_;
  RequestLog& log_;
  const hw::Network& network_;
  const Disaggregation& how_;
  std::vector<TransferEnd> ends_;
  Flows flows_;
  std::unordered_map<std::uint32_t, Job> jobs_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Lane>> lanes_;
  TransferCounts counts_;
};

}  // namespace tokenline
