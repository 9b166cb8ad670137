#include "tests/scenario/support.hpp"

using namespace tokenline;
using namespace tokenline::scenario_test;

namespace {

/// Two classes of random lengths, without a `scheduler:` of its own.
constexpr std::string_view random_lengths = R"(scenario: random_lengths
model: llama-3.1-8b
cluster: {gpu: h100_sxm}
engine: {max_model_len: 4096, max_num_seqs: 64, max_num_batched_tokens: 4096}
traffic:
  chat:
    arrival: {process: gamma, rate: 40/s, burstiness: 0.5}
    num_prompts: 300
    prompt_tokens: {distribution: lognormal, mean: 400, sigma: 1.0, max: 2000}
    output_tokens: {distribution: uniform, min: 1, max: 300}
  documents:
    arrival: {process: poisson, rate: 8/s}
    num_prompts: 60
    prompt_tokens: {distribution: uniform, min: 1000, max: 3500}
    output_tokens: {distribution: uniform, min: 1, max: 100}
)";

/// What was offered: nothing in it depends on how it was served.
std::string offered(const Ran& ran) {
  return columns_of(ran.requests_csv, {"class", "arrival_s", "prompt_tokens", "output_tokens"});
}

/// The lengths of one class, in the order of its arrivals.
std::string lengths_of(const Ran& ran, const std::string& name) {
  std::istringstream rows(
      columns_of(ran.requests_csv, {"class", "prompt_tokens", "output_tokens"}));
  std::string out;
  for (std::string row; std::getline(rows, row);)
    if (row.starts_with(name + ",")) out += row + "\n";
  return out;
}

}  // namespace

TEST_CASE("every policy, GPU and number of replicas is offered the same requests", "[paired]") {
  const Ran reference = run_text(std::string(random_lengths));
  const std::string change = GENERATE(
      as<std::string>{}, "engine.scheduler=prefill_first", "engine.scheduler=orca",
      "engine.scheduler=static", "engine.max_num_seqs=8", "cluster.replicas=3",
      "cluster.gpu=a100_sxm_80gb", "model=llama-2-7b", "engine.num_gpu_blocks_override=300");
  INFO(change);
  const Ran changed = run_text(std::string(random_lengths), {change});
  CHECK(difference(changed.requests_csv, reference.requests_csv) != "");
  CHECK(difference(offered(changed), offered(reference)) == "");
}

TEST_CASE("another seed draws other requests, the same seed the same", "[paired]") {
  const Ran first = run_text(std::string(random_lengths));
  const Ran again = run_text(std::string(random_lengths), {"seed=42"});
  const Ran other = run_text(std::string(random_lengths), {"seed=43"});
  CHECK(difference(first.requests_csv, again.requests_csv) == "");
  CHECK(difference(offered(first), offered(other)) != "");
  CHECK(difference(lengths_of(first, "chat"), lengths_of(other, "chat")) != "");
  CHECK(first["all.offered"] == other["all.offered"]);
}

TEST_CASE("the lengths of a class depend neither on its rate nor on other classes", "[paired]") {
  const Ran reference = run_text(std::string(random_lengths));
  const Ran slower =
      run_text(std::string(random_lengths),
               {"traffic.chat.arrival.rate=10/s", "traffic.documents.prompt_tokens=1000"});
  CHECK(difference(lengths_of(slower, "chat"), lengths_of(reference, "chat")) == "");
  const std::string text(random_lengths);
  const Ran alone = run_text(text.substr(0, text.find("  documents:")));
  CHECK(difference(lengths_of(alone, "chat"), lengths_of(reference, "chat")) == "");
}

TEST_CASE("a closed loop draws the lengths of its n-th request whatever the policy", "[paired]") {
  const Overrides closed{"traffic.chat.arrival={process: closed_loop, max_concurrency: 16}"};
  Overrides closed_first = closed;
  closed_first.push_back("engine.scheduler=prefill_first");
  const Ran chunked = run_text(std::string(random_lengths), closed);
  const Ran prefill_first = run_text(std::string(random_lengths), closed_first);
  CHECK(difference(offered(chunked), offered(prefill_first)) != "");
  CHECK(difference(lengths_of(chunked, "chat"), lengths_of(prefill_first, "chat")) == "");
}
