#include "sim/engine/scenario_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "sim/engine/shared_prefixes.hpp"

namespace tokenline {
namespace {

double gib(Bytes bytes) { return bytes.value() / 0x1p30; }

/// A pool that grows on demand may crash under load, but a single request must be able to run:
/// otherwise every attempt would crash.
void check_alone(const Scenario& scenario, const config::Reader& section) {
  const EngineConfig& engine = scenario.engine;
  if (engine.kv_sizing != KvSizing::on_demand) return;
  const std::int64_t longest = engine.max_model_len;
  const std::int64_t piece = std::min(longest, engine.max_num_batched_tokens);
  const std::int64_t block = engine.pool_block_size();
  Bytes alone;
  for (std::size_t i = 0; i < scenario.stage_memory.size(); ++i)
    alone = std::max(alone, scenario.stage_memory[i].in_use(
                                engine.kv_sizing, (longest + block - 1) / block,
                                scenario.cost->stage(i).activations(piece, 1, piece * longest)));
  if (alone > scenario.memory.capacity)
    section.error("max_model_len",
                  fmt::format("a single request of {} tokens takes {:.1f} of the GPU's {:.1f} "
                              "GiB: every attempt would run out of memory",
                              longest, gib(alone), gib(scenario.memory.capacity)));
}

bool spans_nodes(const hw::StepSetup& setup) {
  return std::ranges::any_of(
      setup.gpus, [&](const hw::Vertex& gpu) { return gpu.node != setup.gpus.front().node; });
}

}  // namespace

void check_lengths(const Scenario& scenario, const config::Reader& root) {
  for (const auto& longest : scenario.traffic.longest)
    if (longest.total_tokens > scenario.engine.max_model_len)
      root.document().error(
          longest.where, longest.path,
          fmt::format("a request of {} prompt tokens and {} in all exceeds max_model_len ({})",
                      longest.prompt_tokens, longest.total_tokens, scenario.engine.max_model_len),
          "raise engine.max_model_len, or bound the lengths");
    else if (scenario.engine.prompts_whole &&
             longest.prompt_tokens > scenario.engine.max_num_batched_tokens)
      root.document().error(
          longest.where, longest.path,
          fmt::format(
              "a prompt of {} tokens exceeds max_num_batched_tokens ({}), and the scheduler "
              "'{}' prefills prompts whole",
              longest.prompt_tokens, scenario.engine.max_num_batched_tokens,
              scenario.engine.scheduler),
          "raise engine.max_num_batched_tokens, or bound the lengths");
}

void check_queue(const Scenario& scenario, const config::Reader& engine) {
  const bool deadlines = std::ranges::any_of(scenario.traffic.classes,
                                             [](const auto& c) { return c.slo.ttft.has_value(); });
  if (scenario.engine.queue_policy == "earliest_deadline" && !deadlines)
    engine.error("queue_policy", "earliest_deadline needs deadlines, and no class has an slo.ttft",
                 "give the urgent classes slo: {ttft: ...}");
}

bool check_sharding(const Scenario& scenario, const ScenarioSections& sections,
                    const models::Architecture& model) {
  const std::string mistake = models::first_sharding_mistake(model, scenario.cluster.parallelism);
  if (mistake.empty()) return true;
  // It begins with the key to change, which is the place of the error.
  const std::size_t key = mistake.find(' ');
  sections.cluster.error(mistake.substr(0, key), mistake.substr(key + 1));
  return false;
}

bool check_node(const hw::StepSetup& setup, const config::Reader& cluster) {
  if (!setup.network || setup.network->design().gpus_per_node == 1) return true;
  const hw::NodeFabric& node = setup.network->design().node;
  const BytesPerSecond own = setup.gpu.interconnect;
  // Why half: generations of one kind of link differ by less, NVLink and PCIe by more.
  if (!node.nvlink || own <= BytesPerSecond() || 2.0 * own >= node.nvlink->forward) return true;
  cluster.error(
      "gpu",
      fmt::format("{} reaches others in its node at {:.0f} GB/s; node '{}' of the network "
                  "has an NVSwitch that gives each GPU {:.0f} GB/s",
                  setup.gpu.name, own.value() / 1e9, node.name, node.nvlink->forward.value() / 1e9),
      "cluster.network.node: pcie_gen5 or pcie_gen4 for GPUs without NVLink");
  return false;
}

bool check_priced(const hw::StepSetup& setup, const ScenarioSections& sections) {
  // What to change is found by leaving out one choice after the other.
  hw::StepSetup part = setup;
  part.parallelism = {};
  part.network = {};
  part.gpus = {};
  part.prefill_kernel = hw::PrefillKernel::fa2;
  if (const std::string reason = hw::StepCost::first_refusal(part); !reason.empty()) {
    sections.root.error("model", reason);
    return false;
  }
  part.prefill_kernel = setup.prefill_kernel;
  if (const std::string reason = hw::StepCost::first_refusal(part); !reason.empty()) {
    sections.engine.error("prefill_attention", reason);
    return false;
  }
  const std::string reason = hw::StepCost::first_refusal(setup);
  if (reason.empty()) return true;
  const std::int64_t node =
      setup.network ? setup.network->design().gpus_per_node : setup.gpu.gpus_per_node;
  const bool stages = setup.parallelism.pipeline > 1 && setup.parallelism.stage_gpus() <= node;
  const bool spans = !setup.network && setup.parallelism.gpus() > node;
  sections.cluster.error(
      stages ? "pipeline_parallel_size" : "tensor_parallel_size", reason,
      spans ? "name one: cluster.network: {node: hgx_h100, fabric: infiniband_ndr}" : "");
  return false;
}

bool check_speculation(Scenario& scenario, const hw::StepSetup& setup, const config::Reader& root) {
  if (!scenario.speculation) return true;
  SpeculationConfig& speculation = *scenario.speculation;
  const EngineConfig& engine = scenario.engine;
  const std::int64_t tokens = engine.max_num_seqs * (1 + speculation.tokens);
  if (tokens > engine.max_num_batched_tokens) {
    root.error(
        "speculation",
        fmt::format("max_num_seqs ({}) sequences of 1 + {} tokens are {}, more than "
                    "max_num_batched_tokens ({}): the decodes alone would not fit",
                    engine.max_num_seqs, speculation.tokens, tokens, engine.max_num_batched_tokens),
        "lower engine.max_num_seqs or num_speculative_tokens");
    return false;
  }
  if (speculation.draft && speculation.draft->vocab_size != setup.model.vocab_size) {
    root.error("speculation",
               fmt::format("draft {} has a vocabulary of {}, {} one of {}: its tokens are others",
                           speculation.draft->name, speculation.draft->vocab_size, setup.model.name,
                           setup.model.vocab_size));
    return false;
  }
  if (speculation.draft && speculation.draft->max_position_embeddings < engine.max_model_len &&
      engine.max_model_len <= setup.model.max_position_embeddings) {
    root.error("speculation",
               fmt::format("draft {} has {} positions, fewer than max_model_len ({})",
                           speculation.draft->name, speculation.draft->max_position_embeddings,
                           engine.max_model_len));
    return false;
  }
  if (speculation.draft && spans_nodes(setup) && !brownout_changes(scenario.faults).empty()) {
    root.error("speculation", "a draft model over several nodes is not priced during brown-outs",
               "leave out faults of kind link_brownout, or use method: ngram");
    return false;
  }
  const std::string reason = price_draft(speculation, setup);
  if (!reason.empty()) root.error("speculation", reason);
  return reason.empty();
}

void check_memory(const Scenario& scenario, const ScenarioSections& sections) {
  const MemoryPlan& plan = scenario.memory;
  const EngineConfig& engine = scenario.engine;
  if (plan.blocks <= 0) {
    sections.cluster.error(
        "tensor_parallel_size",
        fmt::format("{} does not fit {}: weights {:.1f} GiB + activations {:.1f} GiB + non-torch "
                    "{:.1f} GiB per GPU leave no KV block of {:.1f} usable GiB",
                    scenario.cost->setup().model.name, scenario.cost->setup().gpu.name,
                    gib(plan.weights), gib(plan.activation_peak), gib(plan.non_torch),
                    gib(plan.budget)),
        "more GPUs per replica, a smaller max_num_batched_tokens, or more "
        "gpu_memory_utilization");
    return;
  }
  if (engine.num_gpu_blocks_override &&
      plan.in_use(engine.kv_sizing, 0, plan.activation_peak) > plan.capacity)
    sections.engine.error("num_gpu_blocks_override",
                          fmt::format("{} blocks of {:.3f} GiB do not fit the GPU's {:.1f} GiB "
                                      "beside weights and activations",
                                      plan.blocks, gib(plan.block), gib(plan.capacity)));
  if (engine.kv_sizing == KvSizing::static_reserve && plan.activation_peak > engine.static_reserve)
    sections.engine.error(
        "static_reserve",
        fmt::format("{:.2f} GiB do not hold the activations of a step, {:.2f} GiB",
                    gib(engine.static_reserve), gib(plan.activation_peak)),
        "raise it, or lower max_num_batched_tokens or max_num_seqs");
  const std::int64_t block = engine.pool_block_size();
  const std::int64_t watermark = engine.watermark_blocks(plan.blocks);
  // Drafts behind the last token need blocks too.
  const std::int64_t ahead = scenario.speculation ? scenario.speculation->tokens : 0;
  const std::int64_t needed = (engine.max_model_len + ahead + block - 1) / block;
  const std::int64_t groups = scenario.cluster.parallelism.data;
  if (needed > (plan.blocks - watermark) / groups)
    sections.engine.error(
        "max_model_len",
        fmt::format("a request of {} tokens needs {} KV blocks; the pool has {}, of "
                    "which {} stay free as watermark",
                    engine.max_model_len, needed, plan.blocks, watermark),
        "lower max_model_len, or give the replica more memory");
  check_alone(scenario, sections.engine);
}

bool check_offload(const Scenario& scenario, const ScenarioSections& sections) {
  const std::size_t before = sections.root.document().mistakes();
  const EngineConfig& engine = scenario.engine;
  const auto refuse = [&](const std::string& message, const char* hint) {
    sections.engine.error("kv_offload", message, hint);
  };
  if (!engine.enable_prefix_caching)
    refuse("keeps what enable_prefix_caching finds, and that is false",
           "set engine.enable_prefix_caching: true");
  else if (!begin_alike(scenario.traffic))
    refuse("no requests of this traffic begin alike: nothing would be loaded",
           "a shared_prefix, a session or a trace with hashes says what requests begin with");
  if (engine.scheduler == "static")
    refuse("scheduler 'static' forms whole batches: a request that loads is not modelled there",
           "use another scheduler");
  if (scenario.cluster.parallelism.data > 1)
    refuse("is not modelled with attention groups, of which each has tiers of its own", "");
  if (std::ranges::any_of(scenario.traffic.classes,
                          [](const auto& c) { return c.client.timeout || c.client.ttft_timeout; }))
    refuse("is not modelled where clients give up", "");
  if (!scenario.cluster.network)
    refuse("KV moves between GPUs and host memory, and no network is named",
           "its node says how fast: cluster.network: {node: hgx_h100}, between several nodes with "
           "fabric: infiniband_ndr, or others of `tokenline list networks`");
  Bytes block;
  for (const MemoryPlan& stage : scenario.stage_memory)
    block += static_cast<double>(scenario.cluster.parallelism.stage_gpus()) * stage.block;
  for (const Bytes size : {engine.offload_host, engine.offload_nvme})
    if (size > Bytes() && size < block)
      refuse(fmt::format("a tier of {:.1f} MiB holds no KV block, of {:.1f} MiB on all GPUs of a "
                         "replica",
                         size.value() / 0x1p20, block.value() / 0x1p20),
             "");
  return sections.root.document().mistakes() == before;
}

bool check_swap(const Scenario& scenario, const ScenarioSections& sections) {
  const std::size_t before = sections.root.document().mistakes();
  const EngineConfig& engine = scenario.engine;
  if (engine.scheduler != "prefill_first" && engine.scheduler != "orca")
    sections.engine.error("preemption_mode",
                          fmt::format("scheduler '{}' stands for engines that never swap: vLLM V1 "
                                      "and SGLang recompute, the others do not preempt",
                                      engine.scheduler),
                          "use prefill_first (vLLM V0) or orca");
  if (engine.kv_layout == KvLayout::contiguous && !scenario.speculation)
    sections.engine.error("preemption_mode",
                          "kv_layout: contiguous reserves max_model_len tokens at admission: "
                          "nothing is preempted that could be swapped",
                          "leave preemption_mode out, or use kv_layout: paged");
  if (engine.enable_prefix_caching)
    sections.engine.error("preemption_mode", "swap is not modelled with enable_prefix_caching",
                          "set engine.enable_prefix_caching: false, as in vLLM V0 by default");
  if (scenario.cluster.parallelism.pipeline > 1 || scenario.cluster.parallelism.data > 1)
    sections.engine.error("preemption_mode",
                          "swap is modelled on one pipeline stage and one attention group");
  if (!scenario.cluster.network)
    sections.engine.error("preemption_mode",
                          "KV moves between GPUs and host memory, and no network is named",
                          "its node says how fast: cluster.network: {node: hgx_h100}, between "
                          "several nodes with fabric: infiniband_ndr, or others of `tokenline list "
                          "networks`");
  if (engine.swap_space < scenario.memory.block)
    sections.engine.error("swap_space", fmt::format("holds no KV block, of {:.1f} MiB per GPU",
                                                    scenario.memory.block.value() / 0x1p20));
  return sections.root.document().mistakes() == before;
}

}  // namespace tokenline
