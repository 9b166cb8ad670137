// Causes planted in scenarios must be found, and named.
#include "sim/report/why/why.hpp"

#include "tests/scenario/support.hpp"

using namespace tokenline;
using namespace tokenline::scenario_test;
using namespace tokenline::report;
using Catch::Contains;

namespace {

/// A run and what explains it.
class Explained {
 public:
  Explained(Scenario scenario, Latency latency, std::optional<std::uint32_t> class_index = {})
      : result_(run(scenario, {}, &log_)),
        evidence_(log_, result_),
        explanation_(explain(evidence_, {.latency = latency, .class_index = class_index})),
        text_(why_text(explanation_, result_)) {
    INFO(text_);
    REQUIRE(result_.audit.passed);
  }

  [[nodiscard]] const RunResult& result() const { return result_; }
  [[nodiscard]] const Evidence& evidence() const { return evidence_; }
  [[nodiscard]] const Explanation& explanation() const { return explanation_; }
  /// Without line breaks.
  [[nodiscard]] std::string text() const {
    std::string text = text_;
    std::ranges::replace(text, '\n', ' ');
    return text;
  }
  [[nodiscard]] double fraction(Duration time) const {
    return static_cast<double>(time.count()) / static_cast<double>(explanation_.excess.count());
  }
  [[nodiscard]] double of_tail(Duration time) const {
    return static_cast<double>(time.count()) / static_cast<double>(explanation_.tail.time.count());
  }

 private:
  RunLog log_;
  RunResult result_;
  Evidence evidence_;
  Explanation explanation_;
  std::string text_;
};

Scenario text_scenario(const std::string& body) {
  return parse_scenario("why.yaml", "scenario: why\nmodel: llama-3.1-8b\n" + body);
}

/// A quiet chat, and one long document in it, on a server whose host costs nothing.
Scenario one_document() {
  return text_scenario(R"(cluster: {gpu: h100_sxm}
engine: {preset: vllm-v0, max_model_len: 20000, max_num_batched_tokens: 20000, host_overhead_per_step: 0 s,
         host_overhead_per_sequence: 0 s, host_overhead_per_request: 0 s, host_launch_per_layer: 0 s}
traffic:
  chat:
    arrival: {process: constant, rate: 7/s}
    num_prompts: 300
    prompt_tokens: 100
    output_tokens: 40
  document:
    arrival: {process: constant, rate: 1/s}
    start: 20.05 s
    num_prompts: 1
    prompt_tokens: 18_000
    output_tokens: 10
)");
}

}  // namespace

TEST_CASE("why names the PDF prompts as the cause of the incident", "[why]") {
  const Explained why(load_scenario(source("scenarios/p99_incident/incident.yaml")), Latency::ttft,
                      0);
  for (const auto* shares : {&why.explanation().shares, &why.explanation().causes})
    CHECK(shares->front().culprit ==
          Culprit{.cause = Cause::prompts, .class_index = 1, .bits = 14});
  CHECK(why.fraction(why.explanation().causes.front().excess) > 0.5);
  CHECK_THAT(why.text(), Contains("prompts of class pdf longer than 8192 tokens"));
}

TEST_CASE("why names the one long prompt in a quiet chat, and its time to the nanosecond",
          "[why]") {
  const Explained why(one_document(), Latency::ttft, 0);
  const RequestRecords& records = why.result().log.records;
  const auto found = std::ranges::find(records, 1U, &RequestRecord::class_index);
  const auto document = static_cast<std::uint32_t>(found - records.begin());
  REQUIRE_FALSE(why.explanation().prompts.empty());
  CHECK(why.explanation().prompts.front().request == document);
  CHECK_THAT(why.text(),
             Contains(fmt::format("behind the prompt of request {} of class document, 18000 tokens",
                                  document)));
  // What arrives while it is computed waits for its end: that alone is in requests.csv.
  int waited = 0;
  const TimePoint begin = found->first_token - found->parts[Part::own_prefill];
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    const RequestRecord& chat = records[i];
    if (chat.class_index == 1 || chat.arrival < begin || chat.arrival > found->first_token)
      continue;
    BlameSum sum(why.evidence());
    sum.add(why.evidence().life(i), chat.arrival, chat.first_token);
    const Blame blame = sum.finish();
    CHECK(blame.by_request.at(Part::wait_step)[document] == found->first_token - chat.arrival);
    ++waited;
  }
  CHECK(waited >= 2);
}

TEST_CASE("why names the step, and the prompt in it, that froze a stream", "[why]") {
  const Explained why(one_document(), Latency::itl);
  REQUIRE_FALSE(why.explanation().longest.empty());
  const LongGap& gap = why.explanation().longest.front();
  const RequestRecords& records = why.result().log.records;
  const auto found = std::ranges::find(records, 1U, &RequestRecord::class_index);
  const auto document = static_cast<std::size_t>(found - records.begin());
  // Nothing else happens in the step that computes it.
  CHECK(gap.blame.by_request.at(Part::decode_stalled)[document] == found->parts[Part::own_prefill]);
}

TEST_CASE("why names a crash", "[why]") {
  const Explained why(text_scenario(R"(cluster: {gpu: h100_sxm, replicas: 2}
engine: {preset: vllm-v1, max_model_len: 4096}
faults: [{kind: instance_crash, replica: 1, at: 20 s, restart: 5 s}]
traffic:
  chat:
    arrival: {process: poisson, rate: 4/s}
    num_prompts: 200
    prompt_tokens: 300
    output_tokens: 200
)"),
                      Latency::e2el);
  const Explanation& e = why.explanation();
  CHECK(e.shares.front().part == Part::restart);
  CHECK(e.shares.front().culprit.cause == Cause::crash);
  CHECK(e.tail.blame.by_crash.at({1, TimePoint{std::chrono::seconds(20)}}) ==
        e.tail.blame.of(Part::restart));
  CHECK_THAT(why.text(), Contains("The crash of replica-1 at 20 s cost"));
}

TEST_CASE("why names a straggler", "[why]") {
  const Explained why(text_scenario(R"(cluster: {gpu: h100_sxm, replicas: 3, router: round_robin}
engine: {preset: vllm-v1, max_model_len: 4096}
faults: [{kind: straggler, replica: 2, from: 10 s, to: 13 s, slowdown: 8}]
traffic:
  chat:
    arrival: {process: poisson, rate: 6/s}
    num_prompts: 300
    prompt_tokens: 300
    output_tokens: 50
)"),
                      Latency::e2el);
  CHECK(why.of_tail(why.explanation().tail.blame.by_fault.at(0)) > 0.9);
  CHECK(why.explanation().typical.blame.by_fault.empty());
  CHECK_THAT(why.text(), Contains("passed while replica-2 was 8 times slower"));
  // What is of one's own is its doing, and said where it is named first.
  CHECK_THAT(why.text(), Contains("is decode at its floor (on replica-2, 8 times slower as a "
                                  "straggler)"));
}

TEST_CASE("why names a brown-out, and what of the transfers it covers", "[why]") {
  Scenario scenario = load_scenario(source("scenarios/fleet/link_brownout.yaml"));
  const Explained why(std::move(scenario), Latency::e2el);
  CHECK(why.of_tail(why.explanation().tail.blame.by_fault.at(0)) > 0.5);
  CHECK_THAT(why.text(), Contains("had 0.25 of the bandwidth, between 20 and 50 s"));
}

TEST_CASE("why names preemptions, and who ran meanwhile", "[why]") {
  const Explained why(text_scenario(R"(cluster: {gpu: h100_sxm}
engine: {preset: vllm-v1, max_model_len: 4096, num_gpu_blocks_override: 400, enable_prefix_caching: false}
traffic:
  chat:
    arrival: {process: poisson, rate: 14/s}
    num_prompts: 300
    prompt_tokens: 100
    output_tokens: {distribution: uniform, min: 50, max: 600}
)"),
                      Latency::tpot);
  const Explanation& e = why.explanation();
  CHECK(e.shares.front().part == Part::preempted);
  CHECK(e.tail.blame.holders.at({Part::preempted, 0}) > 0.0);
  CHECK_THAT(why.text(), Contains("preempted and waiting for blocks again"));
  CHECK_THAT(why.text(), Contains("During `preempted` this many sequences ran"));
}

TEST_CASE("why names the growth of the decode batch where there are no prompts to speak of",
          "[why]") {
  const Explained why(text_scenario(R"(cluster: {gpu: h100_sxm}
engine: {preset: vllm-v1, max_model_len: 4096, host_overhead_per_sequence: 0 s}
traffic:
  quiet:
    arrival: {process: constant, rate: 4/s}
    num_prompts: 400
    prompt_tokens: 1
    output_tokens: 100
  burst:
    arrival: {process: constant, rate: 1000000/s}
    start: 50 s
    num_prompts: 200
    prompt_tokens: 1
    output_tokens: 2000
)"),
                      Latency::tpot, 0);
  const ExcessShare& first = why.explanation().shares.front();
  CHECK(first.part == Part::decode_stretched);
  CHECK(first.culprit.cause == Cause::decodes);
  CHECK(why.fraction(first.excess) > 0.5);
}

TEST_CASE("why says when there is no tail", "[why]") {
  const std::string lone = R"(cluster: {gpu: h100_sxm}
engine: {preset: vllm-v1, max_model_len: 4096}
traffic:
  chat:
    arrival: {process: constant, rate: 1/s}
    num_prompts: 10
    prompt_tokens: 100
    output_tokens: 1
)";
  CHECK_THAT(Explained(text_scenario(lone), Latency::ttft).text(), Contains("It has no tail"));
  CHECK_THAT(Explained(text_scenario(lone), Latency::itl).text(),
             Contains("no measured request completed with more than one token"));
}

TEST_CASE("why explains the directory of a run that was held against an observed queue", "[why]") {
  const Scratch scratch;
  scratch.write("queue.csv", "time_s,running,waiting\n1,1,0\n2,2,0\n");
  scratch.write("s.yaml", R"(scenario: s
model: llama-3.1-8b
cluster: {gpu: h100_sxm}
engine: {max_model_len: 4096}
observed: {file: queue.csv}
traffic:
  chat: {arrival: {process: poisson, rate: 10/s}, num_prompts: 30, prompt_tokens: 300, output_tokens: 20}
)");
  execute(scratch, "run s.yaml --out there --quiet");
  CHECK_THAT(execute(scratch, "why there"), Contains("P99 - P50 of TTFT"));
}

TEST_CASE("why explains a run directory, and refuses one that is not what its scenario gives",
          "[why]") {
  const Scratch scratch;
  execute(scratch, fmt::format("run {} --out there --quiet", source("scenarios/quickstart.yaml")));
  const std::string again = execute(scratch, "why there --metric e2el --json");
  CHECK(again == execute(scratch, fmt::format("why {} --metric e2el --json",
                                              source("scenarios/quickstart.yaml"))));
  const auto refused = [&] {
    const std::string command =
        fmt::format("cd '{}' && '{}' why there >out 2>err", scratch.path(), TOKENLINE_BINARY);
    CHECK(WEXITSTATUS(std::system(command.c_str())) == 2);
    return config::read_file(scratch / "err");
  };
  // A row that is gone, at its end or before.
  const std::string requests = config::read_file(scratch / "there/requests.csv");
  const std::size_t second = requests.find('\n', requests.find('\n') + 1) + 1;
  std::string fewer = requests;
  fewer.erase(second, requests.find('\n', second) + 1 - second);
  scratch.write("there/requests.csv", fewer);
  CHECK_THAT(refused(), Contains("there/requests.csv:3:1: error: not what config.yaml beside it"));
  const std::size_t last = requests.rfind('\n', requests.size() - 2) + 1;
  scratch.write("there/requests.csv", requests.substr(0, last));
  const auto lines = std::ranges::count(requests, '\n');
  CHECK_THAT(refused(), Contains(fmt::format("there/requests.csv:{}:1: error: ", lines)));
  scratch.write("there/requests.csv", requests + "1\n");
  CHECK_THAT(refused(), Contains(fmt::format("there/requests.csv:{}:1: error: ", lines + 1)));
  scratch.write("there/requests.csv", requests);

  const std::string summary = scratch / "there/summary.json";
  std::string text = config::read_file(summary);
  text.replace(text.find("\"completed\": "), 13, "\"completed\": 9");
  scratch.write("there/summary.json", text);
  CHECK_THAT(refused(), Contains("there/summary.json:1:1: error: config.yaml beside it now gives "
                                 "another result: 'classes' differs"));
}
