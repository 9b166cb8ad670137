#include "sim/engine/engine_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/engine/presets/presets.hpp"

namespace tokenline {
namespace {

using config::Reader;

constexpr std::array prefill_kernels{hw::PrefillKernel::naive, hw::PrefillKernel::fa1,
                                     hw::PrefillKernel::fa2, hw::PrefillKernel::fa3};
constexpr std::array precisions{models::Precision::bfloat16, models::Precision::fp8,
                                models::Precision::fp8_block, models::Precision::mxfp4};
constexpr std::string_view default_preset = "vllm-v1";
/// Begins the file name in the locations of a preset's keys.
constexpr std::string_view preset_file_prefix = "<preset ";
/// max_model_len where no model says how many positions it has.
constexpr std::int64_t default_positions = 4096;
constexpr std::array<std::string_view, 2> decode_names{"plain", "flash_decoding"};
constexpr std::array<std::string_view, 3> slot_names{"shared", "split", "each"};
constexpr std::array<std::string_view, 4> sizing_names{"profiled", "free_fraction",
                                                       "static_reserve", "on_demand"};
/// Schedulers that compute a prompt in pieces, however small the budget of a step.
constexpr std::array<std::string_view, 2> piecewise{"chunked", "prefill_first_chunked"};
/// Schedulers that never preempt, hence prefill prompts alone, and not what was generated too.
constexpr std::array<std::string_view, 1> never_preempting{"guaranteed_no_evict"};

bool contains(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

hw::PrefillKernel read_prefill_attention(Reader& engine, hw::Generation generation) {
  std::vector<std::string> choices{"auto"};
  for (const hw::PrefillKernel kernel : prefill_kernels) choices.emplace_back(hw::name(kernel));
  const std::string word = engine.word(
      {"prefill_attention", "Attention kernel of prefill; auto: fa3 on Hopper, fa2 elsewhere."},
      choices, "auto");
  for (const hw::PrefillKernel kernel : prefill_kernels)
    if (word == hw::name(kernel)) return kernel;
  return hw::usual_prefill(generation);
}

void read_precisions(Reader& engine, EngineConfig& config) {
  std::vector<std::string> words{"auto"};
  for (const models::Precision precision : precisions) words.emplace_back(models::name(precision));
  const std::string word = engine.word(
      {"quantization",
       "How the weights of linear layers and experts are stored and multiplied; auto: as the "
       "model's checkpoint says."},
      words, words.front());
  for (const models::Precision precision : precisions)
    if (word == models::name(precision)) config.quantization = precision;
  const std::vector<std::string> kv_words{"auto", "fp8"};
  const std::vector<std::string> loads{"balanced", "power_law_1.01", "power_law_1.2"};
  config.expert_load = engine.word(
      {"expert_load",
       "How unevenly tokens choose experts: alike, or by a power law of that exponent."},
      loads, "balanced");
  const std::vector<std::string> ways{"dynamic", "streaming", "fused"};
  const std::string way = engine.word(
      {"activation_quantization",
       "How inputs of fp8 products become fp8. dynamic: with scales of their own, by the kernel "
       "that "
       "was measured; streaming: with static scales, by a plain streaming kernel; fused: with "
       "static scales, by the kernel before."},
      ways, "dynamic");
  config.input_quantization = way == "fused"       ? hw::InputQuantization::fused
                              : way == "streaming" ? hw::InputQuantization::streaming
                                                   : hw::InputQuantization::dynamic;
  const std::string kv = engine.word({"kv_cache_dtype", "Type of the KV cache; auto: 16 bit."},
                                     kv_words, kv_words.front());
  config.kv_element = kv == "fp8" ? 1 : 2;
}

PipelineSlots read_pipeline_slots(Reader& engine) {
  const std::vector<std::string> words(slot_names.begin(), slot_names.end());
  const std::string word =
      engine.word({"pipeline_slots",
                   "Sequences of a micro-batch with pipeline_parallel_size. shared: any number, "
                   "max_num_seqs in "
                   "all; split: max_num_seqs / pipeline_parallel_size; each: max_num_seqs."},
                  words, words.front());
  return static_cast<PipelineSlots>(std::ranges::find(words, word) - words.begin());
}

hw::DecodeKernel read_decode_attention(Reader& engine) {
  const std::vector<std::string> choices(decode_names.begin(), decode_names.end());
  const std::string word =
      engine.word({"decode_attention",
                   "Attention kernel of decode; flash_decoding splits the context over the SMs."},
                  choices, "flash_decoding");
  return word == "plain" ? hw::DecodeKernel::plain : hw::DecodeKernel::flash_decoding;
}

/// Of keys that contradict each other the first that the user gave: what a preset says is not the
/// user's mistake. The mapping itself where none was given.
std::string_view blamed(const Reader& engine, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys)
    if (engine.has(key) && !engine.where(key).file.starts_with(preset_file_prefix)) return key;
  return "";
}

void read_batching(Reader& engine, const std::optional<models::Architecture>& model,
                   const Policies& policies, EngineConfig& config) {
  config.scheduler =
      engine.word({"scheduler", "Which requests a step computes: see `tokenline list policies`."},
                  policies.scheduler.names());
  config.max_num_seqs =
      engine.integer({"max_num_seqs", "Most sequences that run at a time."}, {1, 65'536});
  config.pipeline_slots = read_pipeline_slots(engine);
  config.max_model_len =
      engine.integer({"max_model_len", "Most tokens of a request, prompt and answer together.",
                      "the positions of the model"},
                     {2, 16'777'216}, model ? model->max_position_embeddings : default_positions);
  const bool allow_long = engine.boolean(
      {"allow_long_max_model_len",
       "Accept a max_model_len beyond the model's positions (VLLM_ALLOW_LONG_MAX_MODEL_LEN)."},
      false);
  if (model && config.max_model_len > model->max_position_embeddings && !allow_long)
    engine.error("max_model_len",
                 fmt::format("{} is more than the {} positions of {}", config.max_model_len,
                             model->max_position_embeddings, model->name),
                 "set engine.allow_long_max_model_len: true to price it anyway");
  config.max_num_batched_tokens = engine.integer(
      {"max_num_batched_tokens", "Most tokens of a step.", "the larger of max_model_len and 2048"},
      {1, 16'777'216}, std::max<std::int64_t>(config.max_model_len, 2048));
  if (config.max_num_batched_tokens < config.max_num_seqs)
    engine.error(blamed(engine, {"max_num_batched_tokens", "max_num_seqs"}),
                 fmt::format("max_num_batched_tokens ({}) is less than max_num_seqs ({}): the "
                             "decodes alone would not fit",
                             config.max_num_batched_tokens, config.max_num_seqs));
  config.prompts_whole = !contains(piecewise, config.scheduler);
  if (config.prompts_whole && !contains(never_preempting, config.scheduler) &&
      config.max_num_batched_tokens < config.max_model_len)
    engine.error(blamed(engine, {"max_num_batched_tokens", "max_model_len", "scheduler"}),
                 fmt::format("max_num_batched_tokens ({}) is less than max_model_len ({}), and the "
                             "scheduler '{}' prefills prompts whole",
                             config.max_num_batched_tokens, config.max_model_len, config.scheduler),
                 "raise it, lower max_model_len, or use scheduler: chunked");
}

void read_queue(Reader& engine, const Policies& policies, EngineConfig& config) {
  config.queue_policy =
      engine.word({"queue_policy",
                   "In which order waiting requests are admitted, behind preempted ones: see "
                   "`tokenline list policies`."},
                  policies.queue.names(), "fcfs");
  constexpr std::string_view predicting = "shortest_job_first";
  engine.alternative(
      "with queue_policy: shortest_job_first", config.queue_policy == predicting, [&] {
        config.length_prediction_sigma =
            engine.real({"length_prediction_sigma",
                         "Standard deviation of the logarithm of an answer's predicted length over "
                         "its true one; 0: the predictor is always right."},
                        {0.0, 10.0});
      });
}

KvSizing read_kv_sizing(Reader& engine) {
  const std::vector<std::string> words(sizing_names.begin(), sizing_names.end());
  const std::string word = engine.word(
      {"kv_sizing",
       "profiled: the pool is reserved after a profile run and activations always have room; "
       "free_fraction: gpu_memory_utilization of what weights and activations leave; "
       "static_reserve: what weights and static_reserve leave; on_demand: blocks and activations "
       "share the memory, and a step may exceed it."},
      words, words.front());
  return static_cast<KvSizing>(std::ranges::find(words, word) - words.begin());
}

void read_host(Reader& engine, const std::optional<models::Architecture>& model,
               EngineConfig& config) {
  config.host_overhead_per_step =
      engine.seconds({"host_overhead_per_step", "Host time of a GPU step."}, {0.0, 10.0});
  config.host_overhead_per_sequence = engine.seconds(
      {"host_overhead_per_sequence", "Host time of a GPU step per sequence of the step."},
      {0.0, 1.0});
  config.host_overhead_per_request = engine.seconds(
      {"host_overhead_per_request",
       "Host time before the step that admits a request, per request: its way into the engine."},
      {0.0, 10.0}, "0 s");
  const Seconds per_layer =
      engine.seconds({"host_launch_per_layer",
                      "Host time to launch the kernels of a layer in a step with prompts that no "
                      "CUDA graph covers. "
                      "The GPU computes meanwhile and waits for what outlasts it."},
                     {0.0, 1.0}, "0 s");
  config.cuda_graph_max_tokens = engine.integer({"cuda_graph_max_tokens",
                                                 "Steps with prompts of at most so many tokens run "
                                                 "as CUDA graphs; steps of decodes always do."},
                                                {0, 16'777'216}, 0);
  config.prompt_launch = static_cast<double>(model ? model->layers : 1) * per_layer;
  const std::vector<std::string> overlaps{"none", "async"};
  config.host_overlap =
      engine.word(
          {"host_overlap",
           "none: the GPU waits for the host between two steps; async: the host works during "
           "the step, and the GPU waits for what outlasts it and for host_gap."},
          overlaps, "none") == "async"
          ? HostOverlap::async
          : HostOverlap::none;
  config.host_gap = engine.seconds(
      {"host_gap", "Time between two GPU steps that no overlap hides, with host_overlap: async."},
      {0.0, 1.0}, "0 s");
  config.host_gap_per_sequence = engine.seconds(
      {"host_gap_per_sequence", "The same for each sequence of the step."}, {0.0, 1.0}, "0 s");
  config.schedule_ahead = engine.boolean(
      {"schedule_ahead",
       "Decide on a step when the one before it starts: a request that arrives later waits for "
       "the step after."},
      false);
}

/// Keys of what most scenarios do without: absent where they are not given.
void read_preemption(Reader& engine, EngineConfig& config) {
  const std::vector<std::string> modes{"recompute", "swap"};
  const std::size_t before = engine.document().mistakes();
  engine.alternative("", engine.has("preemption_mode"), [&] {
    config.preempt_by_swap =
        engine.word({"preemption_mode",
                     "recompute: a preempted request gives up its KV blocks and computes them "
                     "again; swap: they are copied to host memory, and back before it goes on."},
                    modes, "recompute") == "swap";
  });
  const bool sized = config.preempt_by_swap || engine.has("swap_space");
  engine.alternative("with preemption_mode: swap", sized, [&] {
    config.swap_space = engine.bytes(
        {"swap_space",
         "Host memory of each GPU for swapped KV blocks; not held against what the host has."},
        {1.0, 1e14}, "4 GiB");
  });
  if (sized && !config.preempt_by_swap && engine.document().mistakes() == before)
    engine.error("swap_space", "goes with preemption_mode: swap",
                 "give engine.preemption_mode: swap, or leave swap_space out");
  auto offload = engine.optional_section(
      {"kv_offload",
       "Tiers behind the KV pool that keep what is computed: requests that begin alike load it. "
       "Written through; the least recently used blocks of host memory go to the drives."});
  if (!offload) return;
  config.offload_host =
      offload->bytes({"host", "Host memory of a replica for KV; 0: none."}, {0.0, 1e15}, "0 B");
  config.offload_nvme =
      offload->bytes({"nvme", "Space on drives of a replica for KV; 0: none."}, {0.0, 1e17}, "0 B");
  if (!config.offloads())
    offload->error("", "names no tier", "kv_offload: {host: 200 GB}, with nvme: 2 TB behind it");
  offload->finish();
}

void read_memory(Reader& engine, EngineConfig& config) {
  config.gpu_memory_utilization = engine.real({"gpu_memory_utilization",
                                               "Share of HBM that the engine may use; under "
                                               "kv_sizing: free_fraction, that the pool gets of "
                                               "what weights and activations leave."},
                                              {0.01, 1.0}, 0.9);
  config.kv_sizing = read_kv_sizing(engine);
  config.static_reserve = engine.bytes(
      {"static_reserve",
       "Memory that kv_sizing: static_reserve keeps for activations, graphs and the rest: "
       "(1 - mem_fraction_static) of the GPU's."},
      {0.0, 1e12}, "0 B");
  const std::vector<std::string> layouts{"paged", "contiguous"};
  const std::string layout =
      engine.word({"kv_layout",
                   "paged: blocks of block_size tokens, as the sequence grows; contiguous: "
                   "max_model_len tokens at admission."},
                  layouts, "paged");
  config.kv_layout = layout == "contiguous" ? KvLayout::contiguous : KvLayout::paged;
  config.block_size = engine.integer({"block_size", "Tokens per KV block."}, {1, 1024}, 16);
  config.watermark = engine.real(
      {"watermark", "Share of the KV blocks that an admission must leave free."}, {0.0, 0.99}, 0.0);
  config.num_gpu_blocks_override = engine.optional_integer(
      {"num_gpu_blocks_override", "KV blocks per replica, instead of what memory allows."},
      {1, 1'000'000'000});
  config.enable_prefix_caching = engine.boolean(
      {"enable_prefix_caching",
       "A preempted request that is admitted again computes only what was in KV blocks that others "
       "have taken meanwhile. Prefixes shared between requests are not modelled yet."},
      false);
  read_preemption(engine, config);
  config.non_torch_memory =
      engine.bytes({"non_torch_memory",
                    "HBM of the CUDA context, NCCL and graphs per GPU, which the pool cannot use."},
                   {0.0, 1e12}, "1 GiB");
}

}  // namespace

Duration EngineConfig::host_time(const HostWork& work, Duration gpu) const {
  const Duration step = to_duration(host_overhead_per_step + static_cast<double>(work.sequences) *
                                                                 host_overhead_per_sequence);
  const Duration admitting =
      to_duration(static_cast<double>(work.first_admissions) * host_overhead_per_request);
  const Duration launch = launch_time(work, 1.0);
  if (host_overlap == HostOverlap::none)
    return step + admitting + std::max(launch - gpu, Duration{});
  const Duration gap =
      to_duration(host_gap + static_cast<double>(work.sequences) * host_gap_per_sequence);
  return std::max(step + launch - gpu, Duration{}) + gap + admitting;
}

Duration EngineConfig::host_work(const HostWork& work) const {
  return to_duration(host_overhead_per_step +
                     static_cast<double>(work.sequences) * host_overhead_per_sequence) +
         to_duration(static_cast<double>(work.first_admissions) * host_overhead_per_request);
}

Duration EngineConfig::launch_time(const HostWork& work, double share) const {
  const bool launched = work.prompts && work.tokens > cuda_graph_max_tokens;
  return launched ? to_duration(share * prompt_launch) : Duration{};
}

EngineConfig read_engine(Reader& engine, const std::optional<models::Architecture>& model,
                         hw::Generation generation, const Policies& policies) {
  EngineConfig config;
  config.preset =
      engine.text({"preset", "Engine whose defaults apply: see `tokenline list engines`."},
                  std::string(default_preset));
  const auto presets = engine_preset_names();
  if (std::ranges::find(presets, config.preset) == presets.end())
    engine.error("preset", fmt::format("unknown engine '{}'", config.preset),
                 config::suggestion(config.preset, presets));
  config.modelled = engine.text({"modelled", "Engine and version that the values stand for."});
  read_batching(engine, model, policies, config);
  read_queue(engine, policies, config);
  read_memory(engine, config);
  read_precisions(engine, config);
  config.prefill_attention = read_prefill_attention(engine, generation);
  config.decode_attention = read_decode_attention(engine);
  const std::vector<std::string> mixtures{"fused", "separate"};
  config.fused_mixed_attention =
      engine.word({"mixed_attention",
                   "fused: one call computes prefill chunks and decodes of a step, which treats "
                   "decodes as short prompts; separate: each has its own kernel."},
                  mixtures, "fused") == "fused";
  read_host(engine, model, config);
  engine.finish();
  return config;
}

std::vector<std::string> engine_preset_names() {
  std::vector<std::string> names;
  for (const auto& file : presets::files()) names.emplace_back(file.name);
  std::ranges::sort(names);
  return names;
}

config::Node load_engine_preset(const std::string& name) {
  for (const auto& file : presets::files())
    if (file.name == name) return config::parse_yaml(fmt::format("<preset {}>", name), file.text);
  TOKENLINE_CHECK(false, "no engine preset '{}'", name);
}

void apply_engine_preset(config::Node& scenario) {
  if (scenario.kind != config::Node::Kind::mapping) return;  // reported when it is read
  config::Node* engine = scenario.find("engine");
  if (engine == nullptr) {
    config::Node empty;
    empty.kind = config::Node::Kind::mapping;
    empty.where = scenario.where;
    scenario.entries.push_back({"engine", scenario.where, empty});
    engine = &scenario.entries.back().value;
  }
  const config::Node* given = engine->find("preset");
  const auto names = engine_preset_names();
  const bool known = given != nullptr && std::ranges::find(names, given->scalar) != names.end();
  config::merge_defaults(*engine,
                         load_engine_preset(known ? given->scalar : std::string(default_preset)));
}

std::string preset_values(std::string_view key) {
  std::string values;
  for (const std::string& name : engine_preset_names()) {
    const config::Node preset = load_engine_preset(name);
    const config::Node* value = preset.find(key);
    if (value != nullptr)
      values += fmt::format("{}{}: {}", values.empty() ? "" : ", ", name,
                            config::emit_scalar(value->scalar, value->quoted));
  }
  return values;
}

std::string_view name(hw::DecodeKernel kernel) {
  return decode_names.at(static_cast<std::size_t>(kernel));
}

}  // namespace tokenline
