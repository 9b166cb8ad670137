// Speculative decoding: what drafts bring and what they cost.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "sim/config/diagnostic.hpp"
#include "sim/engine/run.hpp"

using namespace tokenline;
using Catch::Contains;

namespace {

std::string text(const std::string& speculation, int clients, int requests, int output,
                 const std::string& engine = "max_num_seqs: 64") {
  return fmt::format(
      "scenario: speculation\n"
      "model: llama-3.1-70b\n"
      "cluster: {{gpu: h100_sxm, tensor_parallel_size: 4}}\n"
      "engine: {{max_model_len: 16384, host_overhead_per_step: 0 s,\n"
      "         host_overhead_per_sequence: 0 s, {}}}\n"
      "{}"
      "traffic:\n"
      "  chat: {{arrival: {{process: closed_loop, max_concurrency: {}}}, num_prompts: {},\n"
      "         prompt_tokens: 100, output_tokens: {}}}\n",
      engine, speculation.empty() ? "" : fmt::format("speculation: {{{}}}\n", speculation), clients,
      requests, output);
}

Scenario scenario(const std::string& speculation, int clients, int requests, int output,
                  const std::string& engine = "max_num_seqs: 64") {
  return parse_scenario("speculation.yaml", text(speculation, clients, requests, output, engine));
}

RunResult finish(Scenario& s) {
  RunResult result = run(s);
  REQUIRE(result.audit.passed);
  return result;
}

std::string refusal(const std::string& speculation,
                    const std::string& engine = "max_num_seqs: 64") {
  try {
    static_cast<void>(scenario(speculation, 1, 1, 2, engine));
  } catch (const config::ConfigError& e) {
    return e.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a pass emits (1 - a^(K+1)) / (1 - a) tokens in the mean", "[speculation]") {
  // arXiv 2211.17192, equation 1.
  const double alpha = GENERATE(0.3, 0.8, 0.95);
  const int tokens = GENERATE(1, 5);
  Scenario s = scenario(
      fmt::format("method: ngram, num_speculative_tokens: {}, acceptance: {}", tokens, alpha), 8,
      16, 8000);
  const InstanceStats stats = finish(s).instances[0].whole;
  const double expected = (1.0 - std::pow(alpha, tokens + 1)) / (1.0 - alpha);
  if (alpha == 0.8 && tokens == 5) CHECK(expected == Approx(3.69).epsilon(0.001));
  const auto passes = static_cast<double>(stats.passes);
  REQUIRE(passes > 10'000);
  // A pass emits 1 to K + 1 tokens, so that its deviation is at most K / 2.
  const double error = 4.0 * 0.5 * tokens / std::sqrt(passes);
  CHECK(1.0 + static_cast<double>(stats.accepted_tokens) / passes ==
        Approx(expected).margin(error));
  CHECK(static_cast<double>(stats.accepted_tokens) / static_cast<double>(stats.tested_tokens) ==
        Approx(alpha).margin(4.0 * 0.5 / std::sqrt(passes)));
}

TEST_CASE("method none is as without the section, whose other keys are still read",
          "[speculation]") {
  Scenario off = scenario("", 4, 16, 40);
  Scenario none = scenario(
      "method: none, draft: llama-3.1-8b, num_speculative_tokens: 3, acceptance: 0.8", 4, 16, 40);
  CHECK_FALSE(none.speculation);
  CHECK(none.memory.blocks == off.memory.blocks);
  const RunResult a = finish(off);
  const RunResult b = finish(none);
  CHECK(a.log.records == b.log.records);
  CHECK(a.fingerprint == b.fingerprint);
  CHECK_THAT(refusal("method: none, num_speculative_tokens: 0, acceptance: 0.8"),
             Contains("num_speculative_tokens"));
  CHECK_THAT(refusal("method: none, num_speculative_tokens: 1, acceptance: 0.8, draft: nothing"),
             Contains("draft"));
}

TEST_CASE("accepted lengths are as frequent as their histogram says", "[speculation]") {
  Scenario s = scenario("method: ngram, num_speculative_tokens: 3, accepted_lengths: [5, 0, 3, 2]",
                        8, 16, 4000);
  const InstanceStats stats = finish(s).instances[0].whole;
  const auto passes = static_cast<double>(stats.passes);
  CHECK(static_cast<double>(stats.accepted_tokens) / passes ==
        Approx(0.3 * 2 + 0.2 * 3).margin(4.0 * 1.3 / std::sqrt(passes)));
  // Of ten passes five reach one tested token, three reach three, and two all three.
  CHECK(static_cast<double>(stats.tested_tokens) / passes ==
        Approx(0.5 * 1 + 0.5 * 3).margin(4.0 * 1.0 / std::sqrt(passes)));
}

TEST_CASE("classes and positions have acceptances of their own", "[speculation]") {
  Scenario s =
      scenario("method: ngram, num_speculative_tokens: 2, acceptance: {chat: [1, 0]}", 1, 1, 1001);
  const InstanceStats stats = finish(s).instances[0].whole;
  CHECK(stats.passes == 500);  // two tokens each
  CHECK(stats.accepted_tokens == 500);
  CHECK(stats.tested_tokens == 1000);
}

TEST_CASE("a pass takes the verification of K + 1 tokens and K passes of the draft",
          "[speculation]") {
  Scenario s =
      scenario("method: draft_model, draft: llama-3.1-8b, num_speculative_tokens: 4, acceptance: 1",
               1, 1, 6);
  const RequestRecord record = finish(s).log.records.at(0);
  const Seconds five = s.cost->stage(0)
                           .price({.decode_sequences = 1,
                                   .decode_context = 105,
                                   .chunks = {},
                                   .sampled = 5,
                                   .decode_queries = 5})
                           .time;
  Seconds pass = five;
  for (std::int64_t i = 1; i <= 4; ++i)
    pass +=
        s.speculation->cost
            ->price({.decode_sequences = 1, .decode_context = 100 + i, .chunks = {}, .sampled = 1})
            .time;
  CHECK(record.e2el() - record.ttft() == to_duration(pass));
  // Verifying reads the weights once: hardly more than one token.
  const Seconds one =
      s.cost->stage(0)
          .price({.decode_sequences = 1, .decode_context = 101, .chunks = {}, .sampled = 1})
          .time;
  CHECK(five < 1.2 * one);
}

TEST_CASE("drafts that are never accepted cost time, drafts that always are save it",
          "[speculation]") {
  const auto end = [](const std::string& speculation) {
    Scenario s = scenario(speculation, 2, 4, 200);
    return finish(s).end - TimePoint{};
  };
  const std::string model = "method: draft_model, draft: llama-3.1-8b, num_speculative_tokens: 4, ";
  const Duration off = end("");
  CHECK(end(model + "acceptance: 0") > off);
  CHECK(end(model + "acceptance: 1") < off / 2);
}

TEST_CASE("what is accepted of a request depends on nothing but its place", "[speculation]") {
  const auto accepted = [](const std::string& engine) {
    Scenario s =
        scenario("method: ngram, num_speculative_tokens: 3, acceptance: 0.6", 16, 32, 300, engine);
    const InstanceStats stats = finish(s).instances[0].whole;
    return std::pair(stats.passes, stats.accepted_tokens);
  };
  CHECK(accepted("max_num_seqs: 1") == accepted("max_num_seqs: 16"));
}

TEST_CASE("a breaker stops drafting where too few tokens are accepted", "[speculation]") {
  const auto trips = [](double acceptance) {
    Scenario s = scenario(fmt::format("method: ngram, num_speculative_tokens: 3, acceptance: {}, "
                                      "breaker: {{below: 0.65, window: 500, cooldown: 1000 s}}",
                                      acceptance),
                          8, 16, 2000);
    const InstanceStats stats = finish(s).instances[0].whole;
    // What was tested until it opened, beside what was in the step that opened it.
    if (stats.breaker_trips > 0) CHECK(stats.tested_tokens < 500 + 8 * 3);
    return stats.breaker_trips;
  };
  CHECK(trips(0.4) == 1);
  CHECK(trips(0.8) == 0);
}

TEST_CASE("a draft model takes its weights and its KV from the pool", "[speculation]") {
  const std::string drafts = "num_speculative_tokens: 2, acceptance: 0.5";
  const Scenario off = scenario("", 1, 1, 2);
  const Scenario ngram = scenario("method: ngram, " + drafts, 1, 1, 2);
  const Scenario model = scenario("method: draft_model, draft: llama-3.1-8b, " + drafts, 1, 1, 2);
  const Scenario mtp = scenario("method: mtp, " + drafts, 1, 1, 2);
  CHECK(ngram.memory.weights == off.memory.weights);
  CHECK(ngram.memory.block == off.memory.block);
  const models::Architecture small = models::load_model("llama-3.1-8b");
  const models::Architecture& large = off.cost->setup().model;
  const models::Parallelism four{.tensor = 4};
  CHECK((model.memory.weights - off.memory.weights).value() ==
        Approx(models::weight_bytes(small, four).value()));
  CHECK((model.memory.block - off.memory.block).value() ==
        Approx(16.0 * models::kv_bytes_per_token(small, four, 2).value()));
  // One layer more of 80.
  CHECK((mtp.memory.block / off.memory.block) == Approx(81.0 / 80.0));
  const double layer = (mtp.memory.weights - off.memory.weights).value();
  CHECK(layer ==
        Approx(off.memory.weights.value() / static_cast<double>(large.layers)).epsilon(0.04));
}

TEST_CASE("mistakes of speculation are reported at their place", "[speculation]") {
  const std::string drafts = "method: ngram, num_speculative_tokens: 2";
  CHECK(refusal(drafts + ", acceptance: 0.5").empty());
  CHECK_THAT(refusal(drafts), Contains("speculation.acceptance"));
  CHECK_THAT(refusal(drafts + ", acceptance: 1.5"), Contains("speculation.acceptance"));
  CHECK_THAT(refusal(drafts + ", acceptance: [0.5]"), Contains("1 positions for"));
  CHECK_THAT(refusal(drafts + ", acceptance: {caht: 0.5}"), Contains("chat"));
  CHECK_THAT(refusal(drafts + ", accepted_lengths: [1, 2]"), Contains("= 3 counts"));
  CHECK_THAT(refusal(drafts + ", acceptance: 0.5, accepted_lengths: [1, 2, 3]"),
             Contains("beside acceptance") && !Contains("unknown key"));
  CHECK_THAT(refusal("num_speculative_tokens: 2, acceptance: 0.5"),
             Contains("speculation.method") && !Contains("speculation.draft"));
  CHECK_THAT(refusal(drafts + ", acceptance: 0.5, draft: llama-3.1-8b"), Contains("draft"));
  CHECK_THAT(refusal("method: draft_model, num_speculative_tokens: 2, acceptance: 0.5"),
             Contains("speculation.draft"));
  CHECK_THAT(refusal("method: draft_model, draft: lama, num_speculative_tokens: 2, acceptance: 1"),
             Contains("lama"));
  CHECK_THAT(
      refusal(drafts + ", acceptance: 0.5", "max_num_seqs: 1024, max_num_batched_tokens: 2048"),
      Contains("3072"));
  CHECK_THROWS_WITH(parse_scenario("pp.yaml", text(drafts + ", acceptance: 1", 1, 1, 2),
                                   {{"cluster.pipeline_parallel_size=2"}}),
                    Contains("pipeline"));
}
