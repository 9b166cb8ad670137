#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sim/engine/run.hpp"
#include "sim/report/run_log.hpp"

namespace tokenline::report {

/// Counts which sequences ran on an instance while others waited for their slots or blocks.
class Holders {
 public:
  /// A stretch that begins at `from`; `time` is its length times the weight of those who waited.
  struct Wait {
    Part part = Part::wait_kv_blocks;
    TimePoint from{};
    Duration time{};
  };

  explicit Holders(std::size_t instances) : waits_(instances) {}
  void ask(std::uint32_t instance, const Wait& wait) { waits_[instance].push_back(wait); }
  /// By part and class, running sequences times `time`, in nanoseconds. Sequences whose clients
  /// have given them up do not count.
  [[nodiscard]] std::map<std::pair<Part, std::uint32_t>, double> count(const RunLog& log,
                                                                       const RunResult& run);

 private:
  std::vector<std::vector<Wait>> waits_;  ///< By instance.
};

}  // namespace tokenline::report
