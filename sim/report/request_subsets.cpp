#include "sim/report/request_subsets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/report/console.hpp"
#include "sim/report/replayed_class.hpp"
#include "sim/report/run_directory.hpp"

namespace tokenline::report {

using config::Node;

RequestSubsets::RequestSubsets(std::function<Scenario()> load, const std::string& text,
                               const std::string& option)
    : load_(std::move(load)),
      scenario_(load_()),
      condition_(read_condition(scenario_, text, option)),
      class_source_(scenario_.traffic.classes.size()) {
  const RunResult result = tokenline::run(scenario_);
  requests_ = record_requests(scenario_.traffic, result.log);
  for (const RequestRecord& record : result.log.records)
    class_source_[record.class_index] = record.source;
}

Subset RequestSubsets::all() const {
  Subset subset(requests_.arrivals.size());
  std::iota(subset.begin(), subset.end(), 0U);
  return subset;
}

std::vector<std::uint32_t> RequestSubsets::kinds() const {
  constexpr std::uint32_t octaves = 64;
  std::vector<std::uint32_t> kinds;
  for (const traffic::Arrival& arrival : requests_.arrivals) {
    const auto octave = std::bit_width(static_cast<std::uint64_t>(arrival.prompt_tokens));
    kinds.push_back(arrival.class_index * octaves + static_cast<std::uint32_t>(octave));
  }
  return kinds;
}

std::unique_ptr<Scenario> RequestSubsets::borrow() const {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) {
    auto scenario = std::make_unique<Scenario>(load_());
    // It is of all the traffic.
    scenario->observed.reset();
    return scenario;
  }
  auto scenario = std::move(idle_.back());
  idle_.pop_back();
  return scenario;
}

void RequestSubsets::give_back(std::unique_ptr<Scenario> scenario) const {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(scenario));
}

SubsetRun RequestSubsets::run(const Subset& subset) const {
  auto scenario = borrow();
  replay_requests(*scenario, requests_, subset);
  SubsetRun result{.run = tokenline::run(*scenario), .value = {}};
  const Summary summary = summarize(*scenario, result.run);
  TOKENLINE_CHECK(summary.audit.passed, "with {} of its requests:\n{}", subset.size(),
                  audit_verdict(summary.audit));
  const AssertResult verdict = check({condition_}, summary).front();
  result.value = verdict.value;
  result.breaks = verdict.passed;
  give_back(std::move(scenario));
  return result;
}

const Node* RequestSubsets::entry_of(std::uint32_t class_index) const {
  const Node* entries = scenario_.resolved.find("traffic");
  if (const auto source = class_source_[class_index]) return &entries->entries[*source].value;
  return entries->find(scenario_.traffic.classes[class_index].name);
}

std::string RequestSubsets::scenario_yaml(const Subset& subset,
                                          const std::string& directory) const {
  std::vector<bool> arrives(scenario_.traffic.classes.size());
  for (const std::uint32_t place : subset) arrives[arrivals()[place].class_index] = true;
  Node traffic;
  traffic.kind = Node::Kind::mapping;
  for (std::uint32_t i = 0; i < arrives.size(); ++i) {
    const std::string& name = scenario_.traffic.classes[i].name;
    set_value(traffic, name, replayed_class(name, arrives[i], entry_of(i)));
  }
  Node root = rebased(scenario_, directory);
  Node asserts;
  asserts.kind = Node::Kind::sequence;
  asserts.items.push_back(text_value(negated(condition_)));
  set_value(
      root, "description",
      text_value(fmt::format("{} of {} requests of {} with which {}; the assert says the opposite.",
                             subset.size(), arrivals().size(), scenario_.name, condition_.text)));
  std::erase_if(root.entries, [](const Node::Entry& entry) { return entry.key == "observed"; });
  set_value(root, "assert", std::move(asserts));
  set_value(root, "traffic", std::move(traffic));
  return config::emit_yaml(root);
}

std::string RequestSubsets::trace_csv(const Subset& subset) const {
  return traffic::trace_csv(requests_, subset, scenario_.traffic.classes);
}

}  // namespace tokenline::report
