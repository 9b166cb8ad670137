#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "sim/policies/policies.hpp"

using namespace tokenline;

namespace {

/// A state written down by hand. Running sequences are listed oldest first; a partial prefill, if
/// any, is the last of them.
struct State final : SchedulerView {
  struct Running {
    std::int64_t stored;
    std::int64_t remaining_prefill = 0;
  };
  std::vector<Running> sequences;
  std::vector<std::int64_t> queue;
  std::vector<std::int64_t> cached;   ///< Blocks that the queue may find again; none where absent.
  std::vector<std::int64_t> answers;  ///< Output tokens of the queue; 1 where none is given.
  std::vector<std::int64_t> external = {};  ///< Tokens of the queue behind the pool, likewise.
  std::int64_t loaded = 0;                  ///< So many of the queue have loaded theirs.
  std::int64_t blocks_free = 0;
  std::int64_t to_come = 0;  ///< Blocks that the running sequences will need.

  explicit State(SchedulerLimits limits) { limits_ = limits; }

  std::int64_t running() const override { return static_cast<std::int64_t>(sequences.size()); }
  std::int64_t running_elsewhere() const override { return 0; }
  std::int64_t tokens_per_decode() const override { return 1; }
  std::int64_t decoding() const override { return running() - (partial().has_value() ? 1 : 0); }
  std::int64_t decode_growth() const override {
    std::int64_t growth = 0;
    for (const Running& s : sequences)
      growth += s.remaining_prefill == 0 && s.stored % limits_.block_size == 0 ? 1 : 0;
    return growth;
  }
  std::int64_t free_blocks() const override { return blocks_free; }
  std::optional<PartialPrefill> partial() const override {
    if (sequences.empty() || sequences.back().remaining_prefill == 0) return {};
    return PartialPrefill{.done = sequences.back().stored,
                          .remaining = sequences.back().remaining_prefill};
  }
  std::int64_t waiting() const override { return static_cast<std::int64_t>(queue.size()); }
  std::int64_t waiting_tokens(std::int64_t i) const override {
    return queue[static_cast<std::size_t>(i)];
  }
  /// As if those of each lay at the head of the free queue.
  std::int64_t waiting_cached_tokens(std::int64_t i, std::int64_t taken) const override {
    const auto at = static_cast<std::size_t>(i);
    return at < cached.size() ? std::max<std::int64_t>(cached[at] - taken, 0) * limits_.block_size
                              : 0;
  }
  std::int64_t waiting_external_tokens(std::int64_t i) const override {
    const auto at = static_cast<std::size_t>(i);
    return at < external.size() ? external[at] : 0;
  }
  bool waiting_has_blocks(std::int64_t i) const override { return i < loaded; }
  std::int64_t waiting_final_tokens(std::int64_t i) const override {
    const auto at = static_cast<std::size_t>(i);
    return queue[at] + (at < answers.size() ? answers[at] : 1);
  }
  std::int64_t blocks_to_come() const override { return to_come; }
  RunningView running_from_back(std::int64_t i) const override {
    const Running& s = sequences[sequences.size() - 1 - static_cast<std::size_t>(i)];
    return {.blocks = limits_.blocks(s.stored),
            .growth = s.remaining_prefill == 0 && s.stored % limits_.block_size == 0 ? 1 : 0};
  }
};

StepPlan plan_of(const std::string& scheduler, const State& state) {
  StepPlan plan;
  builtin_policies().scheduler.at(scheduler).make()->plan(state, plan);
  return plan;
}

constexpr SchedulerLimits roomy{
    .max_num_seqs = 8, .max_num_batched_tokens = 512, .block_size = 16, .watermark_blocks = 0};

}  // namespace

TEST_CASE("every policy of policies.def is registered once, in name order", "[policies]") {
  std::vector<std::string> admission;
  std::vector<std::string> queue;
  std::vector<std::string> router;
  std::vector<std::string> scheduler;
#define POLICY(kind, name) kind.emplace_back(#name);
#include "sim/policies/policies.def"
#undef POLICY
  std::ranges::sort(admission);
  std::ranges::sort(queue);
  std::ranges::sort(router);
  std::ranges::sort(scheduler);
  const Policies policies = builtin_policies();
  CHECK(policies.admission.names() == admission);
  CHECK(policies.queue.names() == queue);
  CHECK(policies.router.names() == router);
  CHECK(policies.scheduler.names() == scheduler);
}

namespace tokenline {
void register_router_round_robin(Policies& policies);
}

TEST_CASE("a second policy of the same name is our bug", "[policies]") {
  Policies policies = builtin_policies();
  CHECK_THROWS_AS(register_router_round_robin(policies), InternalError);
}

TEST_CASE("prefill_first prefills whole prompts alone while any can be admitted", "[policies]") {
  State state(roomy);
  state.sequences = {{.stored = 100}};
  state.blocks_free = 100;
  state.queue = {200, 300, 13};
  const StepPlan plan = plan_of("prefill_first", state);
  CHECK_FALSE(plan.decode);
  CHECK(plan.admissions == std::vector<std::int64_t>{200, 300});
  CHECK(plan.blocked == Blocked::token_budget);  // 512 - 500 < 13
}

TEST_CASE("prefill_first decodes when the head of the queue finds no slot", "[policies]") {
  State state(roomy);
  state.sequences.assign(8, {.stored = 100});
  state.blocks_free = 100;
  state.queue = {10};
  const StepPlan plan = plan_of("prefill_first", state);
  CHECK(plan.decode);
  CHECK(plan.admissions.empty());
  CHECK(plan.blocked == Blocked::sequence_slot);
}

TEST_CASE("an admission leaves the watermark free", "[policies]") {
  SchedulerLimits limits = roomy;
  limits.watermark_blocks = 3;
  State state(limits);
  state.queue = {64};  // 4 blocks
  state.blocks_free = 6;
  CHECK(plan_of("prefill_first", state).blocked == Blocked::kv_blocks);
  state.blocks_free = 7;
  CHECK(plan_of("prefill_first", state).admissions == std::vector<std::int64_t>{64});
}

TEST_CASE("decodes that lack a block preempt from the back, as few as possible", "[policies]") {
  State state(roomy);
  // Every sequence is at a block boundary and needs one block; two are free, four needed.
  state.sequences = {{.stored = 32}, {.stored = 32}, {.stored = 32}, {.stored = 16}};
  state.blocks_free = 2;
  for (const char* scheduler : {"prefill_first", "orca", "chunked", "static"}) {
    const StepPlan plan = plan_of(scheduler, state);
    CHECK(plan.preemptions == 1);  // 3 needed, 2 + 1 free
    CHECK(plan.decode);
    CHECK(plan.blocked != Blocked::nothing);  // the victim waits
  }
}

TEST_CASE("nothing is admitted in a step that preempted", "[policies]") {
  State state(roomy);
  state.sequences = {{.stored = 16}, {.stored = 160}};
  state.blocks_free = 0;
  state.queue = {1};
  for (const char* scheduler : {"orca", "chunked"}) {
    const StepPlan plan = plan_of(scheduler, state);
    CHECK(plan.preemptions == 1);
    CHECK(plan.admissions.empty());
    CHECK(plan.blocked == Blocked::kv_blocks);
  }
}

TEST_CASE("chunked gives the decodes one token each and the rest of the budget to prompts",
          "[policies]") {
  State state(roomy);
  state.sequences = {{.stored = 50}, {.stored = 60}, {.stored = 512, .remaining_prefill = 100}};
  state.blocks_free = 1000;
  state.queue = {150, 1000, 5};
  const StepPlan plan = plan_of("chunked", state);
  CHECK(plan.decode);
  CHECK(plan.partial_tokens == 100);
  CHECK(plan.admissions == std::vector<std::int64_t>{150, 512 - 2 - 100 - 150});
  CHECK(plan.blocked == Blocked::token_budget);
  const auto tokens = std::accumulate(plan.admissions.begin(), plan.admissions.end(),
                                      state.decoding() + plan.partial_tokens);
  CHECK(tokens == roomy.max_num_batched_tokens);
}

TEST_CASE("chunked preempts the partial prefill itself when its next piece finds no blocks",
          "[policies]") {
  State state(roomy);
  state.sequences = {{.stored = 50}, {.stored = 64, .remaining_prefill = 400}};
  state.blocks_free = 10;
  const StepPlan plan = plan_of("chunked", state);
  CHECK(plan.preemptions == 1);
  CHECK(plan.partial_tokens == 0);
  CHECK(plan.decode);
}

TEST_CASE("chunked leaves a partial prefill waiting when decodes take the whole budget",
          "[policies]") {
  SchedulerLimits limits = roomy;
  limits.max_num_batched_tokens = 3;
  State state(limits);
  state.sequences = {
      {.stored = 5}, {.stored = 5}, {.stored = 5}, {.stored = 3, .remaining_prefill = 9}};
  state.blocks_free = 10;
  const StepPlan plan = plan_of("chunked", state);
  CHECK(plan.decode);
  CHECK(plan.partial_tokens == 0);
  CHECK(plan.preemptions == 0);
}

TEST_CASE("orca mixes whole prompts with the decodes", "[policies]") {
  State state(roomy);
  state.sequences = {{.stored = 50}, {.stored = 60}};
  state.blocks_free = 1000;
  state.queue = {510, 1};
  const StepPlan plan = plan_of("orca", state);
  CHECK(plan.decode);
  CHECK(plan.admissions == std::vector<std::int64_t>{510});
  state.queue = {511};
  CHECK(plan_of("orca", state).blocked == Blocked::token_budget);
}

TEST_CASE("guaranteed_no_evict admits what fits to the end beside all that runs to its end",
          "[policies]") {
  State state(roomy);
  state.sequences = {{.stored = 160}, {.stored = 320}};
  state.to_come = 20;
  state.queue = {32, 32};    // 2 blocks each now,
  state.answers = {96, 96};  // 8 each at the end
  state.blocks_free = 20 + 8 + 8;
  StepPlan plan = plan_of("guaranteed_no_evict", state);
  CHECK(plan.decode);
  CHECK(plan.admissions == std::vector<std::int64_t>{32, 32});
  state.blocks_free = 20 + 8 + 7;
  plan = plan_of("guaranteed_no_evict", state);
  CHECK(plan.admissions == std::vector<std::int64_t>{32});
  CHECK(plan.blocked == Blocked::kv_blocks);
}

TEST_CASE("guaranteed_no_evict computes prompts whole beside the decodes", "[policies]") {
  State state(roomy);
  state.sequences = {{.stored = 50}, {.stored = 60}};
  state.blocks_free = 1000;
  state.queue = {510, 1};
  CHECK(plan_of("guaranteed_no_evict", state).admissions == std::vector<std::int64_t>{510});
  state.queue = {511};
  CHECK(plan_of("guaranteed_no_evict", state).blocked == Blocked::token_budget);
}

TEST_CASE("prefill_first_chunked computes pieces of prompts before any decode", "[policies]") {
  State state(roomy);
  state.sequences = {{.stored = 50}, {.stored = 60}, {.stored = 512, .remaining_prefill = 100}};
  state.blocks_free = 1000;
  state.queue = {150, 1000, 5};
  const StepPlan plan = plan_of("prefill_first_chunked", state);
  CHECK_FALSE(plan.decode);
  CHECK(plan.partial_tokens == 100);
  CHECK(plan.admissions == std::vector<std::int64_t>{150, 512 - 100 - 150});
  CHECK(plan.blocked == Blocked::token_budget);
}

TEST_CASE("prefill_first_chunked leaves room for 70 % of the answers under way, later for 9.8 %",
          "[policies]") {
  State state(roomy);
  state.sequences = {{.stored = 50}, {.stored = 60}};
  state.to_come = 100;
  state.queue = {32};
  state.answers = {96};  // 8 blocks at the end
  const auto scheduler = builtin_policies().scheduler.at("prefill_first_chunked").make();
  const auto admitted = [&](std::int64_t blocks_free) {
    state.blocks_free = blocks_free;
    StepPlan plan;
    scheduler->plan(state, plan);
    return !plan.admissions.empty();
  };
  CHECK(admitted(70 + 8));
  CHECK_FALSE(admitted(70 + 7));
  for (int step = 0; step < 600; ++step) CHECK_FALSE(admitted(7));
  CHECK(admitted(10 + 8));
  CHECK_FALSE(admitted(10 + 7));
  // A preemption restores the first share.
  state.sequences = {{.stored = 16}, {.stored = 32}};
  CHECK_FALSE(admitted(0));
  state.sequences = {{.stored = 50}, {.stored = 60}};
  CHECK_FALSE(admitted(70 + 7));
  CHECK(admitted(70 + 8));
}

TEST_CASE("static forms a batch only when nothing runs", "[policies]") {
  State state(roomy);
  state.blocks_free = 1000;
  state.queue = {10, 20};
  CHECK(plan_of("static", state).admissions == std::vector<std::int64_t>{10, 20});
  state.sequences = {{.stored = 10}};
  const StepPlan plan = plan_of("static", state);
  CHECK(plan.admissions.empty());
  CHECK(plan.decode);
  CHECK(plan.blocked == Blocked::sequence_slot);
  CHECK(builtin_policies().scheduler.at("static").make()->holds_finished());
}

TEST_CASE("tokens found in free blocks cost blocks but nothing of the token budget", "[policies]") {
  SchedulerLimits limits = roomy;
  limits.watermark_blocks = 1;
  State state(limits);
  state.queue = {600};  // 38 blocks
  state.cached = {20};
  state.blocks_free = 39;
  for (const std::string scheduler : {"chunked", "orca", "prefill_first", "static"}) {
    INFO(scheduler);
    const StepPlan plan = plan_of(scheduler, state);
    CHECK(plan.admissions == std::vector<std::int64_t>{600 - 20 * 16});
    CHECK(plan.blocked == Blocked::nothing);
  }
  state.blocks_free = 38;
  CHECK(plan_of("orca", state).blocked == Blocked::kv_blocks);
  state.cached.clear();
  state.blocks_free = 39;
  CHECK(plan_of("orca", state).blocked == Blocked::token_budget);
}

TEST_CASE("blocks that decodes, a partial prefill and earlier admissions take are found no more",
          "[policies]") {
  State state(roomy);
  state.sequences = {{.stored = 32}, {.stored = 16}, {.stored = 48, .remaining_prefill = 20}};
  state.blocks_free = 100;
  state.queue = {96, 200};
  state.cached = {5, 12};
  const StepPlan plan = plan_of("chunked", state);
  CHECK(plan.partial_tokens == 20);
  // 2 blocks for the decodes and 2 for the prefill leave 1 of 5; the rest of 96 tokens takes 5, and
  // 4 + 5 leave 3 of 12.
  CHECK(plan.admissions == std::vector<std::int64_t>{96 - 1 * 16, 200 - 3 * 16});
}

TEST_CASE("a request that loads takes blocks for its prompt, and neither a slot nor tokens",
          "[policies]") {
  const std::string scheduler = GENERATE(as<std::string>{}, "chunked", "orca", "prefill_first");
  State state({.max_num_seqs = 1, .max_num_batched_tokens = 64, .block_size = 16});
  state.queue = {100, 40, 20};
  state.external = {96};
  state.blocks_free = 10;  // 7 for the first, 3 for the second.
  const StepPlan plan = plan_of(scheduler, state);
  CHECK(plan.admissions == std::vector<std::int64_t>{0, 40});
  CHECK(plan.blocked == Blocked::sequence_slot);
  state.blocks_free = 6;
  CHECK(plan_of(scheduler, state).admissions.empty());
  CHECK(plan_of(scheduler, state).blocked == Blocked::kv_blocks);
}

TEST_CASE("a request that has loaded needs a slot and tokens, and no block", "[policies]") {
  State state({.max_num_seqs = 2, .max_num_batched_tokens = 64, .block_size = 16});
  state.queue = {100, 40};
  state.loaded = 1;
  state.cached = {6};
  const StepPlan plan = plan_of("chunked", state);
  CHECK(plan.admissions == std::vector<std::int64_t>{4});
  CHECK(plan.blocked == Blocked::kv_blocks);
}
