// Ten rules held against scenarios that obey them, break them, or are none of their business.
#include "sim/report/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/config/diagnostic.hpp"

using namespace tokenline;
using namespace tokenline::report;
using Catch::Contains;
using Catch::Matches;

namespace {

using Overrides = std::vector<std::string>;

/// Obeys what applies: short chats on one GPU, with both targets.
constexpr const char* short_chats = R"(scenario: short chats
model: llama-3.1-8b
cluster: {gpu: h100_sxm}
engine: {max_model_len: 20480, max_num_seqs: 64}
traffic:
  chat:
    arrival: {process: constant, rate: 20/s}
    num_prompts: 40
    prompt_tokens: 200
    output_tokens: 20
    slo: {ttft: 1 s, tpot: 50 ms}
)";

/// Prompts of 16K join them.
const Overrides long_prompts{
    "traffic.pdf={arrival: {process: constant, rate: 2/s}, num_prompts: 4, prompt_tokens: 16384, "
    "output_tokens: 20, slo: {ttft: 5 s, tpot: 50 ms}}"};

Overrides operator+(Overrides a, const Overrides& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Advice advised(const Overrides& overrides, std::size_t threads = 2) {
  Advice advice = advise_text("short.yaml", short_chats, {.overrides = overrides}, threads);
  REQUIRE(advice.audits_passed());
  return advice;
}

const Finding& of_rule(const Advice& advice, std::string_view rule) {
  const auto found = std::ranges::find_if(
      advice.findings, [&](const Finding& finding) { return finding.rule->name == rule; });
  REQUIRE(found != advice.findings.end());
  return *found;
}

Judgement judged(std::string_view rule, const Overrides& overrides = {}) {
  return of_rule(advised(overrides), rule).judgement;
}

/// The rule is broken, and each of its own proposals, given with `--set`, ends that.
Finding cured(std::string_view rule, const Overrides& overrides) {
  Finding finding = of_rule(advised(overrides), rule);
  CHECK(finding.judgement.verdict == Verdict::broken);
  REQUIRE(!finding.remedies.empty());
  for (const Remedy& remedy : finding.remedies) {
    INFO(rule << ": " << remedy.proposal.name << " " << remedy.refusal);
    REQUIRE(remedy.refusal.empty());
    if (!remedy.proposal.by_the_rule) continue;
    CHECK(remedy.verdict != Verdict::broken);
  }
  return finding;
}

}  // namespace

TEST_CASE("a scenario that obeys what applies breaks no rule", "[advice]") {
  const Advice advice = advised({});
  REQUIRE(advice.findings.size() == 10);
  for (const Finding& finding : advice.findings) {
    INFO(finding.rule->name << ": " << finding.judgement.evidence);
    CHECK(finding.judgement.verdict != Verdict::broken);
    CHECK_FALSE(finding.judgement.evidence.empty());
    CHECK(finding.remedies.empty());
  }
  CHECK_THAT(advice_text(advice), Contains("6 obeyed, 0 broken, 4 not applicable"));
  CHECK(std::ranges::count(advice_text(advice), '\n') < 40);
}

TEST_CASE("prefill runs the newest kernel of the GPU", "[advice]") {
  CHECK_THAT(judged("prefill_attention").evidence, Contains("fa3 on h100_sxm"));
  const Finding finding = cured("prefill_attention", {"engine.prefill_attention=fa2"});
  CHECK(finding.judgement.proposals[0].overrides == Overrides{"engine.prefill_attention=fa3"});
  // FlashAttention-3 is Hopper's.
  CHECK(judged("prefill_attention", {"cluster.gpu=a100_sxm_80gb"}).verdict == Verdict::obeyed);
  CHECK(judged("prefill_attention", {"model=deepseek-v2-lite"}).verdict == Verdict::not_applicable);
}

TEST_CASE("contexts beyond 8192 tokens want their KV split over the SMs", "[advice]") {
  CHECK(judged("decode_attention", long_prompts).verdict == Verdict::obeyed);
  const Finding finding =
      cured("decode_attention", long_prompts + Overrides{"engine.decode_attention=plain"});
  CHECK_THAT(finding.judgement.evidence, Contains("9.1 % of contexts are longer (longest 16404)"));
  // The bound itself is not beyond it: 8172 + 20.
  const Overrides bound{"engine.decode_attention=plain", "traffic.chat.prompt_tokens=8172",
                        "traffic.chat.num_prompts=2"};
  CHECK(judged("decode_attention", bound).verdict == Verdict::not_applicable);
  CHECK(judged("decode_attention", bound + Overrides{"traffic.chat.prompt_tokens=8173"}).verdict ==
        Verdict::broken);
}

TEST_CASE("KV lies in pages, whose tokens stay the same where the pool is given", "[advice]") {
  CHECK(judged("paged_kv", {"engine.block_size=32"}).verdict == Verdict::obeyed);
  CHECK(judged("paged_kv", {"model=deepseek-v2-lite", "engine.block_size=64"}).verdict ==
        Verdict::obeyed);
  CHECK(cured("paged_kv", {"engine.block_size=1"}).judgement.proposals[0].overrides ==
        Overrides{"engine.block_size=16"});
  cured("paged_kv", {"engine.kv_layout=contiguous"});
  const Finding given =
      cured("paged_kv", {"engine.block_size=64", "engine.num_gpu_blocks_override=1000"});
  CHECK(given.judgement.proposals[0].overrides ==
        Overrides{"engine.block_size=16", "engine.num_gpu_blocks_override=4000"});
}

TEST_CASE("a static batch is made continuous, where there is something to batch", "[advice]") {
  CHECK(judged("continuous_batching").verdict == Verdict::obeyed);
  const Overrides whole{"engine.scheduler=static", "engine.max_num_batched_tokens=20480"};
  const Finding finding = cured("continuous_batching", whole);
  CHECK(std::ranges::find(finding.remedies[0].effect.better, "mean_ttft_ms") !=
        finding.remedies[0].effect.better.end());
  CHECK(judged("continuous_batching",
               whole + Overrides{"traffic.chat.arrival.rate=1/s", "traffic.chat.num_prompts=3"})
            .verdict == Verdict::not_applicable);
}

TEST_CASE("prompts beyond 4096 tokens are cut where something decodes", "[advice]") {
  CHECK(judged("chunked_prefill").verdict == Verdict::not_applicable);
  CHECK(judged("chunked_prefill", long_prompts + Overrides{"engine.max_num_batched_tokens=1024"})
            .verdict == Verdict::obeyed);
  const Finding finding =
      cured("chunked_prefill", long_prompts + Overrides{"engine.preset=vllm-v0"});
  REQUIRE(finding.remedies.size() == 3);
  CHECK(finding.remedies[0].proposal.overrides ==
        Overrides{"engine.scheduler=chunked", "engine.max_num_batched_tokens=512"});
  CHECK_FALSE(finding.remedies[2].proposal.by_the_rule);
  CHECK_THAT(finding.judgement.evidence, Contains("prefill_first computes prompts whole"));
}

TEST_CASE("decodes and what they verify fit into the smaller steps", "[advice]") {
  const Finding finding =
      cured("chunked_prefill",
            long_prompts + Overrides{"engine.max_num_seqs=1024",
                                     "speculation={method: ngram, num_speculative_tokens: 3, "
                                     "acceptance: 0.8}"});
  CHECK(finding.remedies[0].proposal.overrides ==
        Overrides{"engine.max_num_batched_tokens=512", "engine.max_num_seqs=128"});
}

TEST_CASE("KV heads that are not shared are a matter of the model", "[advice]") {
  CHECK(judged("shared_kv_heads").verdict == Verdict::obeyed);
  CHECK(judged("shared_kv_heads", {"model=deepseek-v2-lite"}).verdict == Verdict::obeyed);
  // 2 · 32 layers · 32 heads · 128 · 2 B, and a quarter with 8 heads.
  const Finding twin = cured("shared_kv_heads", {"model=llama-2-7b", "engine.max_model_len=4096"});
  CHECK_THAT(twin.judgement.evidence,
             Contains("524288 B per token and GPU") && Contains("with 8 KV heads 131072 B"));
  CHECK(twin.judgement.proposals[0].overrides ==
        Overrides{"model=llama-3.1-8b", "engine.max_model_len=4096"});
  const Judgement none =
      judged("shared_kv_heads", {"model=llama-2-13b", "engine.max_model_len=4096"});
  CHECK(none.verdict == Verdict::broken);
  CHECK(none.proposals.empty());
  CHECK_THAT(none.note, Contains("not an override"));
}

TEST_CASE("drafts need acceptance and a breaker", "[advice]") {
  const auto drafts = [](double acceptance, const char* breaker) {
    return Overrides{
        fmt::format("speculation={{method: ngram, num_speculative_tokens: 3, "
                    "acceptance: {}{}}}",
                    acceptance, breaker)};
  };
  CHECK(judged("speculation").verdict == Verdict::not_applicable);
  CHECK(judged("speculation", drafts(0.9, ", breaker: {}")).verdict == Verdict::obeyed);
  CHECK(cured("speculation", drafts(0.9, "")).judgement.proposals[0].overrides ==
        Overrides{"speculation.breaker.below=0.65"});
  CHECK(cured("speculation", drafts(0.4, ", breaker: {}")).judgement.proposals[0].overrides ==
        Overrides{"speculation.method=none"});
}

TEST_CASE("KV leaves a tenth of the HBM beside weights", "[advice]") {
  CHECK(judged("kv_headroom").verdict == Verdict::obeyed);
  const Finding all =
      cured("kv_headroom", {"engine.kv_sizing=on_demand", "engine.gpu_memory_utilization=1.0"});
  // All that weights and the process leave, but for the last part of a block.
  CHECK_THAT(all.judgement.evidence, Contains("KV may fill 100.0 % of the HBM beside weights"));
  REQUIRE(all.judgement.proposals.size() == 2);
  CHECK(all.judgement.proposals[0].overrides == Overrides{"engine.gpu_memory_utilization=0.9"});
  CHECK(judged("kv_headroom", {"engine.kv_sizing=on_demand", "engine.gpu_memory_utilization=1.0",
                               "engine.watermark=0.11"})
            .verdict == Verdict::obeyed);
  cured("kv_headroom", {"engine.preset=sglang", "engine.static_reserve=2 GiB"});
  cured("kv_headroom", {"engine.num_gpu_blocks_override=31000"});
}

TEST_CASE("both latencies need a target, and what limits each is said", "[advice]") {
  const Judgement both = judged("targets");
  CHECK(both.verdict == Verdict::obeyed);
  CHECK_THAT(both.evidence, Contains("steps of decodes alone") && Contains("bandwidth is the"));
  // 16K prompts are computed at most of the tensor cores' peak.
  CHECK_THAT(judged("targets", long_prompts).evidence,
             Contains("steps with prompts") && Contains("compute is the"));
  const Finding finding = cured("targets", {"traffic.chat.slo={ttft: 1 ms}"});
  CHECK_THAT(finding.judgement.evidence,
             Contains("TTFT is missed by 100.0 % of those with a target, no TPOT target"));
  CHECK(finding.judgement.proposals[0].overrides == Overrides{"traffic.chat.slo.tpot=200 ms"});
  CHECK(finding.remedies[0].effect.better.empty());
  CHECK(finding.remedies[0].effect.worse.empty());
  // An answer of one token has no time per token.
  CHECK(
      judged("targets", {"traffic.chat.slo={ttft: 1 s}", "traffic.chat.output_tokens=1"}).verdict ==
      Verdict::obeyed);
}

TEST_CASE("prefill and decode apart is a question of tens of GPUs and a network", "[advice]") {
  const Overrides nodes =
      long_prompts + Overrides{"cluster.tensor_parallel_size=8", "cluster.replicas=2"};
  const Overrides network{"cluster.network={node: hgx_h100, fabric: infiniband_ndr}"};
  CHECK_THAT(judged("disaggregation").evidence, Contains("GPUs: 1"));
  CHECK_THAT(judged("disaggregation", nodes).evidence, Contains("no cluster.network is named"));
  const Finding finding = cured("disaggregation", nodes + network);
  REQUIRE(finding.remedies.size() == 2);
  CHECK(finding.remedies[1].proposal.overrides.back() ==
        "cluster.disaggregate.min_prompt_tokens=8193");
  CHECK(
      judged("disaggregation", nodes + network + finding.remedies[0].proposal.overrides).verdict ==
      Verdict::obeyed);
}

TEST_CASE("rules speak of pools by their own keys, and of what each computes", "[advice]") {
  const Overrides split =
      long_prompts + Overrides{"cluster.network={node: hgx_h100, fabric: infiniband_ndr}",
                               "cluster.pools={prefill: {role: prefill}, decode: {role: decode}}",
                               "engine.max_num_batched_tokens=20480"};
  CHECK_THAT(judged("chunked_prefill", split).evidence,
             Contains("are computed where nothing decodes"));
  // A decode pool reserves blocks while their KV is on its way: no fault of their size.
  CHECK_THAT(judged("paged_kv", split).evidence,
             Matches(".*prefill: \\S+ % of what is allocated holds nothing; "
                     "decode: blocks are reserved for KV on its way"));
  const Finding kernels =
      cured("prefill_attention", split + Overrides{"engine.prefill_attention=fa2"});
  // The decode pool computes no prompt.
  CHECK(kernels.judgement.proposals[0].overrides ==
        Overrides{"cluster.pools.prefill.engine.prefill_attention=fa3"});
}

TEST_CASE("overrides that a scenario does not take are refused with the reason", "[advice]") {
  const Advice advice = advised(
      long_prompts + Overrides{"cluster.tensor_parallel_size=8", "cluster.replicas=2",
                               "cluster.network={node: hgx_h100, fabric: infiniband_ndr}",
                               "engine.scheduler=static", "engine.max_num_batched_tokens=20480"});
  const Remedy& remedy = of_rule(advice, "disaggregation").remedies[0];
  CHECK_FALSE(remedy.summary);
  CHECK_THAT(remedy.refusal, Contains("'static' cannot hand over sequences"));
  CHECK_THAT(advice_text(advice), Contains("not possible here: scheduler 'static' cannot"));
}

TEST_CASE("an effect is what moves by over one per cent", "[advice]") {
  const auto run = [](double ttft, double throughput) {
    Summary summary;
    ClassSummary all{.name = "all", .has_targets = false, .figures = {}, .ttft = {}, .e2el = {}};
    for (const std::string_view key : headline_metrics()) {
      std::optional<double> value;
      if (key == "mean_ttft_ms") value = ttft;
      if (key == "output_throughput") value = throughput;
      all.figures.amount(std::string(key), value);
    }
    summary.classes.push_back(all);
    return summary;
  };
  const Effect trade = effect(run(100.0, 100.0), run(98.0, 98.0));
  CHECK(trade.better == std::vector<std::string>{"mean_ttft_ms"});
  CHECK(trade.worse == std::vector<std::string>{"output_throughput"});
  const Effect none = effect(run(100.0, 100.0), run(100.9, 99.1));
  CHECK(none.better.empty());
  CHECK(none.worse.empty());
}

TEST_CASE("advice is the same for any number of threads, and says all in JSON", "[advice]") {
  const Overrides overrides = long_prompts + Overrides{"engine.preset=vllm-v0"};
  const Advice one = advised(overrides, 1);
  const std::string json = advice_json(one);
  CHECK(json == advice_json(advised(overrides, 4)));
  const auto parsed = nlohmann::json::parse(json);
  REQUIRE(parsed["rules"].size() == 10);
  const auto& chunks = parsed["rules"][4];
  CHECK(chunks["rule"] == "chunked_prefill");
  CHECK(chunks["verdict"] == "broken");
  CHECK(chunks["remedies"][0]["set"][0] == "engine.scheduler=chunked");
  CHECK(chunks["remedies"][0]["verdict"] == "obeyed");
  CHECK(chunks["remedies"][0]["metrics"]["pdf"]["mean_ttft_ms"].is_number());
  CHECK(parsed["metrics"]["all"]["failed"] == 0);
}

TEST_CASE("a mistake of the overrides is an error at its place", "[advice]") {
  CHECK_THROWS_WITH(static_cast<void>(advised({"engine.blok_size=3"})),
                    Contains("did you mean 'block_size'?"));
}
