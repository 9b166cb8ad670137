#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/recorded.hpp"
#include "sim/report/assertions.hpp"
#include "sim/report/shrink.hpp"

namespace tokenline::report {

/// A run of some of a scenario's requests.
struct SubsetRun {
  RunResult run;
  std::optional<double> value;  ///< Of the condition's metric,
  bool breaks = false;          ///< and whether the condition holds of it.
};

/// The requests of a scenario as they arrived in its run, of which any can be simulated without the
/// others. Closed loops and conversations no longer react: their requests come when they came.
class RequestSubsets {
 public:
  /// Runs the scenario. `load` reads it afresh, always the same; `text` is a condition as of
  /// `assert:`, which an option of the command line gives (read_condition()).
  RequestSubsets(std::function<Scenario()> load, const std::string& text,
                 const std::string& option);

  [[nodiscard]] const Scenario& scenario() const { return scenario_; }
  [[nodiscard]] const Condition& condition() const { return condition_; }
  [[nodiscard]] const std::vector<traffic::Arrival>& arrivals() const { return requests_.arrivals; }
  /// All of them.
  [[nodiscard]] Subset all() const;
  /// Of each, its class and the octave of its prompt's length.
  [[nodiscard]] std::vector<std::uint32_t> kinds() const;

  /// Simulates those requests. May be called by several threads at a time. Throws InternalError
  /// where the run fails its audit.
  [[nodiscard]] SubsetRun run(const Subset& subset) const;

  /// The scenario of those requests as a file of `directory`, whose trace is trace.csv there. It
  /// asserts that the condition does not hold. A class of which none is left stays, for what the
  /// other keys say of classes, and nothing arrives in it.
  [[nodiscard]] std::string scenario_yaml(const Subset& subset, const std::string& directory) const;
  [[nodiscard]] std::string trace_csv(const Subset& subset) const;

 private:
  /// A scenario that no thread runs at the moment.
  [[nodiscard]] std::unique_ptr<Scenario> borrow() const;
  void give_back(std::unique_ptr<Scenario> scenario) const;
  [[nodiscard]] const config::Node* entry_of(std::uint32_t class_index) const;

  std::function<Scenario()> load_;
  Scenario scenario_;  ///< As read; its traffic is used up.
  Condition condition_;
  traffic::RecordedRequests requests_;
  std::vector<std::optional<std::uint32_t>> class_source_;  ///< Which source offered a class.
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Scenario>> idle_;
};

}  // namespace tokenline::report
