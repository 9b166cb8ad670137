#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/policies/policies.hpp"

using namespace tokenline;

namespace {

/// A state of an engine as lists: what running sequences have stored, what waiting ones will store.
class State final : public SchedulerView {
 public:
  std::string scheduler;
  std::vector<std::int64_t> decodes;  ///< Tokens stored, in order of admission.
  std::optional<PartialPrefill> prefill;
  std::vector<std::int64_t> held;  ///< Tokens of finished rows.
  std::vector<std::int64_t> queue;
  std::vector<std::int64_t> cached;        ///< Blocks that the queue may find again.
  std::vector<std::int64_t> final_tokens;  ///< Of the queue: prompt and answer.
  std::int64_t to_come = 0;
  std::int64_t blocks = 0;

  SchedulerLimits& limits() { return limits_; }
  using SchedulerView::limits;

  std::int64_t running() const override { return live() + static_cast<std::int64_t>(held.size()); }
  std::int64_t running_elsewhere() const override { return 0; }
  std::int64_t tokens_per_decode() const override { return 1; }
  std::int64_t decoding() const override { return static_cast<std::int64_t>(decodes.size()); }
  std::int64_t decode_growth() const override { return growth(0); }
  std::int64_t free_blocks() const override {
    std::int64_t used = prefill ? limits_.blocks(prefill->done) : 0;
    for (const auto& list : {decodes, held})
      for (const std::int64_t stored : list) used += limits_.blocks(stored);
    return blocks - used;
  }
  std::optional<PartialPrefill> partial() const override { return prefill; }
  std::int64_t waiting() const override { return static_cast<std::int64_t>(queue.size()); }
  std::int64_t waiting_tokens(std::int64_t i) const override {
    return queue.at(static_cast<std::size_t>(i));
  }
  /// As if those of each lay at the head of the free queue.
  std::int64_t waiting_cached_tokens(std::int64_t i, std::int64_t taken) const override {
    return std::max<std::int64_t>(cached.at(static_cast<std::size_t>(i)) - taken, 0) *
           limits_.block_size;
  }
  std::int64_t waiting_final_tokens(std::int64_t i) const override {
    return final_tokens.at(static_cast<std::size_t>(i));
  }
  std::int64_t blocks_to_come() const override { return to_come; }
  RunningView running_from_back(std::int64_t i) const override {
    if (prefill && i == 0) return {.blocks = limits_.blocks(prefill->done), .growth = 0};
    const std::int64_t from_back = prefill ? i - 1 : i;
    const std::int64_t stored =
        decodes.at(decodes.size() - 1 - static_cast<std::size_t>(from_back));
    return {.blocks = limits_.blocks(stored), .growth = starts_block(stored) ? 1 : 0};
  }

  /// Sequences that can be preempted.
  [[nodiscard]] std::int64_t live() const { return decoding() + (prefill ? 1 : 0); }
  /// Blocks that the decodes need without the last `preempted` sequences.
  [[nodiscard]] std::int64_t growth(std::int64_t preempted) const {
    return std::count_if(decodes.begin(), decodes.begin() + surviving(preempted),
                         [&](std::int64_t stored) { return starts_block(stored); });
  }
  /// Decodes left when the last `preempted` sequences are gone.
  [[nodiscard]] std::int64_t surviving(std::int64_t preempted) const {
    return std::min(decoding(), live() - preempted);
  }

 private:
  [[nodiscard]] bool starts_block(std::int64_t stored) const {
    return stored % limits_.block_size == 0;
  }
};

bool in_pieces(std::string_view scheduler) {
  return scheduler == "chunked" || scheduler == "prefill_first_chunked";
}

/// Draws a state that an engine can be in: nothing is over a limit, and the pool admits the longest
/// request when it is empty.
class StateGenerator {
 public:
  explicit StateGenerator(std::uint64_t seed) : random_(seed, "scheduler_plan", 0) {}

  State draw(const std::string& scheduler) {
    State state;
    state.scheduler = scheduler;
    SchedulerLimits& limits = state.limits();
    const std::int64_t longest = between(2, 60);
    limits.block_size = between(1, 8);
    limits.max_num_seqs = between(1, 10);
    limits.max_num_batched_tokens = std::max(
        limits.max_num_seqs, in_pieces(scheduler) ? between(1, 60) : longest + between(0, 60));
    limits.watermark_blocks = between(0, 1) * between(0, 6);
    state.blocks = limits.blocks(longest) + limits.watermark_blocks + between(0, 30);
    const std::int64_t rows = between(0, limits.max_num_seqs);
    for (std::int64_t i = 0; i < rows; ++i) add_row(state, longest);
    // Held rows leave with the last running sequence of their batch.
    if (state.live() == 0) state.held.clear();
    if (state.live() > 0) state.to_come = state.growth(0) + between(0, 20);
    for (std::int64_t i = between(0, 6); i > 0; --i) {
      state.queue.push_back(between(1, longest));
      state.final_tokens.push_back(between(state.queue.back(), longest));
      state.cached.push_back(between(0, 1) *
                             between(0, (state.queue.back() - 1) / limits.block_size));
    }
    return state;
  }

 private:
  std::int64_t between(std::int64_t min, std::int64_t max) {
    return min + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(max - min + 1));
  }

  void add_row(State& state, std::int64_t longest) {
    const std::int64_t stored = between(1, longest - 1);
    if (state.prefill || state.limits().blocks(stored) > state.free_blocks()) return;
    if (state.scheduler == "static" && between(0, 2) == 0)
      state.held.push_back(stored);
    else if (in_pieces(state.scheduler) && between(0, 4) == 0)
      state.prefill = PartialPrefill{.done = stored, .remaining = between(1, longest - stored)};
    else
      state.decodes.push_back(stored);
  }

  RandomStream random_;
};

std::string describe(const State& state, const StepPlan& plan) {
  return fmt::format(
      "{}: max_num_seqs {}, max_num_batched_tokens {}, block_size {}, watermark {}, blocks {}\n"
      "decoding [{}], partial {}+{}, held [{}], queue [{}]\n"
      "plan: preempt {}, decode {}, partial {}, admit [{}], blocked {}",
      state.scheduler, state.limits().max_num_seqs, state.limits().max_num_batched_tokens,
      state.limits().block_size, state.limits().watermark_blocks, state.blocks,
      fmt::join(state.decodes, " "), state.prefill ? state.prefill->done : 0,
      state.prefill ? state.prefill->remaining : 0, fmt::join(state.held, " "),
      fmt::join(state.queue, " "), plan.preemptions, plan.decode, plan.partial_tokens,
      fmt::join(plan.admissions, " "), static_cast<int>(plan.blocked));
}

/// Tokens that each admission of a plan finds in blocks that are free still: those of the decodes,
/// of the partial prefill and of the admissions before it have left the head of the free queue.
std::vector<std::int64_t> cached_tokens(const State& state, const StepPlan& plan) {
  const SchedulerLimits& limits = state.limits();
  std::int64_t taken = plan.decode ? state.growth(plan.preemptions) : 0;
  if (plan.partial_tokens > 0)
    taken += limits.blocks(state.prefill->done + plan.partial_tokens) -
             limits.blocks(state.prefill->done);
  std::vector<std::int64_t> cached;
  for (std::size_t i = 0; i < plan.admissions.size(); ++i) {
    cached.push_back(state.waiting_cached_tokens(static_cast<std::int64_t>(i), taken));
    taken += limits.blocks(cached[i] + plan.admissions[i]) - limits.blocks(cached[i]);
  }
  return cached;
}

void require_admissions_follow_the_queue(const State& state, const StepPlan& plan) {
  REQUIRE(plan.admissions.size() <= state.queue.size());
  // A victim is at the head of the queue, and would be admitted at once.
  if (plan.preemptions > 0) REQUIRE(plan.admissions.empty());
  const std::vector<std::int64_t> cached = cached_tokens(state, plan);
  for (std::size_t i = 0; i < plan.admissions.size(); ++i) {
    REQUIRE(plan.admissions[i] >= 1);
    const bool may_be_part = in_pieces(state.scheduler) && i + 1 == plan.admissions.size();
    if (may_be_part)
      REQUIRE(plan.admissions[i] <= state.queue[i] - cached[i]);
    else
      REQUIRE(plan.admissions[i] == state.queue[i] - cached[i]);
  }
}

void require_limits_are_kept(const State& state, const StepPlan& plan) {
  const SchedulerLimits& limits = state.limits();
  REQUIRE(plan.preemptions <= state.live());
  const std::int64_t decoding = plan.decode ? state.surviving(plan.preemptions) : 0;
  REQUIRE(plan.decode == (decoding > 0));
  const auto admitted = static_cast<std::int64_t>(plan.admissions.size());
  REQUIRE(state.running() - plan.preemptions + admitted <= limits.max_num_seqs);
  REQUIRE(std::accumulate(plan.admissions.begin(), plan.admissions.end(),
                          decoding + plan.partial_tokens) <= limits.max_num_batched_tokens);

  std::int64_t free_blocks = state.free_blocks();
  for (std::int64_t i = 0; i < plan.preemptions; ++i)
    free_blocks += state.running_from_back(i).blocks;
  if (plan.decode) free_blocks -= state.growth(plan.preemptions);
  if (plan.partial_tokens > 0) {
    REQUIRE(state.prefill);
    REQUIRE(plan.preemptions == 0);
    REQUIRE(plan.partial_tokens <= state.prefill->remaining);
    free_blocks -= limits.blocks(state.prefill->done + plan.partial_tokens) -
                   limits.blocks(state.prefill->done);
  }
  const std::vector<std::int64_t> cached = cached_tokens(state, plan);
  for (std::size_t i = 0; i < plan.admissions.size(); ++i)
    free_blocks -= limits.blocks(cached[i] + plan.admissions[i]);
  REQUIRE(free_blocks >= (plan.admissions.empty() ? 0 : limits.watermark_blocks));
}

/// Calls `check` with random states and the plans that every scheduler makes of them.
template <class Check>
void for_plans(Check check) {
  const Policies policies = builtin_policies();
  for (const std::string& name : policies.scheduler.names()) {
    const auto scheduler = policies.scheduler.at(name).make();
    for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
      const State state = StateGenerator(seed).draw(name);
      StepPlan plan;
      scheduler->plan(state, plan);
      INFO("seed " << seed << ": " << describe(state, plan));
      check(state, plan);
    }
  }
}

}  // namespace

TEST_CASE("no plan exceeds a limit or the free blocks", "[scheduler]") {
  for_plans([](const State& state, const StepPlan& plan) {
    require_limits_are_kept(state, plan);
    require_admissions_follow_the_queue(state, plan);
  });
}

TEST_CASE("with anything running or waiting, a plan makes progress", "[scheduler]") {
  for_plans([](const State& state, const StepPlan& plan) {
    if (state.live() == 0 && state.queue.empty()) return;
    REQUIRE((plan.decode || plan.preemptions > 0 || plan.partial_tokens > 0 ||
             !plan.admissions.empty()));
  });
}

TEST_CASE("a plan preempts no more than the decodes or the partial prefill need", "[scheduler]") {
  for_plans([](const State& state, const StepPlan& plan) {
    if (plan.preemptions == 0) return;
    std::int64_t free_blocks = state.free_blocks();
    for (std::int64_t i = 0; i + 1 < plan.preemptions; ++i)
      free_blocks += state.running_from_back(i).blocks;
    std::int64_t wanted = state.growth(plan.preemptions - 1);
    if (state.prefill && plan.preemptions == 1) {
      const bool beside_decodes = state.scheduler == "chunked";
      const std::int64_t budget =
          state.limits().max_num_batched_tokens - (beside_decodes ? state.decoding() : 0);
      const std::int64_t done = state.prefill->done;
      const std::int64_t piece = std::min(state.prefill->remaining, budget);
      if (!beside_decodes) wanted = 0;
      wanted += state.limits().blocks(done + piece) - state.limits().blocks(done);
    }
    REQUIRE(wanted > free_blocks);
  });
}

TEST_CASE("a plan says why the head of the queue waits, and only when there is one",
          "[scheduler]") {
  for_plans([](const State& state, const StepPlan& plan) {
    const std::int64_t left =
        state.waiting() + plan.preemptions - static_cast<std::int64_t>(plan.admissions.size());
    REQUIRE((plan.blocked == Blocked::nothing) == (left == 0));
  });
}

TEST_CASE("a request admitted to the end finds room for all that is promised", "[scheduler]") {
  for_plans([](const State& state, const StepPlan& plan) {
    if (state.scheduler != "guaranteed_no_evict" || plan.admissions.empty()) return;
    std::int64_t left = state.free_blocks() - state.to_come;
    for (std::size_t i = 0; i < plan.admissions.size(); ++i)
      left -= state.limits().blocks(state.final_tokens[i]);
    REQUIRE(left >= state.limits().watermark_blocks);
  });
}

TEST_CASE("prefill_first never mixes prompts with decodes, static never adds to a batch",
          "[scheduler]") {
  for_plans([](const State& state, const StepPlan& plan) {
    if (state.scheduler.starts_with("prefill_first"))
      REQUIRE_FALSE((plan.decode && (plan.partial_tokens > 0 || !plan.admissions.empty())));
    if (state.scheduler == "static" && state.running() > 0) REQUIRE(plan.admissions.empty());
  });
}
