#include "sim/engine/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/check.hpp"
#include "sim/engine/read_admission.hpp"
#include "sim/engine/read_named.hpp"
#include "sim/engine/read_network.hpp"
#include "sim/engine/read_pools.hpp"
#include "sim/engine/scenario_checks.hpp"

namespace tokenline {
namespace {

using config::Reader;

TimePoint time_point(Seconds seconds) { return TimePoint{} + to_duration(seconds); }

/// The GPUs of every replica, in the order in which they are placed on nodes.
std::vector<std::int64_t> replica_gpus(const Scenario& scenario) {
  const ClusterConfig& config = scenario.cluster;
  if (scenario.pools.empty()) {
    const std::int64_t most =
        config.autoscale ? std::max(config.replicas, config.autoscale->max) : config.replicas;
    return std::vector<std::int64_t>(static_cast<std::size_t>(most), config.parallelism.gpus());
  }
  std::vector<std::int64_t> gpus;
  for (const Pool& pool : scenario.pools)
    gpus.insert(gpus.end(), static_cast<std::size_t>(pool.replicas), pool.parallelism.gpus());
  return gpus;
}

std::vector<PoolSection> read_cluster(Reader& cluster, const Policies& policies,
                                      Scenario& scenario) {
  ClusterConfig& config = scenario.cluster;
  const std::size_t before = cluster.document().mistakes();
  config.replicas =
      cluster.integer({"replicas", "Engine replicas behind the router."}, {1, 4096}, 1);
  config.router =
      cluster.word({"router", "Which replica gets a request: see `tokenline list policies`."},
                   policies.router.names(), "least_outstanding");
  read_admission(cluster, policies, config);
  config.parallelism = read_parallelism(cluster);
  std::vector<PoolSection> pools = read_pools(cluster, scenario);
  config.autoscale = read_autoscale(cluster, config.replicas);
  std::vector<std::int64_t> gpus;
  if (cluster.document().mistakes() == before) gpus = replica_gpus(scenario);
  read_network(cluster, gpus, config);
  config.restart_delay = to_duration(cluster.seconds(
      {"restart_delay", "From an out-of-memory crash until the replica serves again."},
      {1e-3, 86'400.0}, "130 s"));
  const std::vector<std::string> reactions{"retry", "lose"};
  config.retry_after_oom =
      cluster.word({"on_oom", "What happens to the requests of a replica that crashes."}, reactions,
                   "retry") == "retry";
  config.max_retries = cluster.integer(
      {"max_retries", "Attempts after the first one before a request is lost."}, {0, 1000}, 3);
  return pools;
}

std::optional<MeasureWindow> read_measure(Reader& root) {
  auto measure = root.optional_section(
      {"measure", "Which requests the metrics are about, by arrival; without it, all."});
  if (!measure) return {};
  const std::size_t before = root.document().mistakes();
  MeasureWindow window;
  window.from = time_point(measure->seconds(
      {"from", "Requests that arrive earlier are not measured."}, {0.0, 1e9}, "0 s"));
  const auto to = measure->optional_seconds(
      {"to", "Requests that arrive then or later are not measured."}, {0.0, 1e9});
  if (to) window.to = time_point(*to);
  if (to && *window.to <= window.from && root.document().mistakes() == before)
    measure->error("to", "the window ends before it begins");
  measure->finish();
  return window;
}

/// Which sections had a mistake, so that checks which build on them stay silent.
struct SectionMistakes {
  bool cluster = false;
  bool traffic = false;
};

/// Prices the scenario's replicas and shares out their memory, if they can be built. `first` is the
/// place of one of them among all.
void build_replicas(Scenario& scenario, const ScenarioSections& sections,
                    const models::Architecture& model, const hw::Gpu& gpu, std::size_t first = 0) {
  if (!check_sharding(scenario, sections, model)) return;
  const std::int64_t groups = scenario.cluster.parallelism.data;
  const std::int64_t per_decode = scenario.speculation ? 1 + scenario.speculation->tokens : 1;
  hw::StepSetup setup{.model = model,
                      .gpu = gpu,
                      .parallelism = scenario.cluster.parallelism,
                      .prefill_kernel = scenario.engine.prefill_attention,
                      .decode_kernel = scenario.engine.decode_attention,
                      .fused_mixed_attention = scenario.engine.fused_mixed_attention,
                      .input_quantization = scenario.engine.input_quantization,
                      .kv_element = scenario.engine.kv_element,
                      .expert_load = scenario.engine.expert_load,
                      .network = scenario.cluster.network,
                      .gpus = scenario.cluster.gpus.empty() ? std::vector<hw::Vertex>()
                                                            : scenario.cluster.gpus[first],
                      .error_band = scenario.error_band,
                      .max_tokens = groups * scenario.engine.max_num_batched_tokens,
                      .max_sequences = groups * scenario.engine.max_num_seqs * per_decode};
  if (scenario.engine.quantization) setup.model.quantization = *scenario.engine.quantization;
  if (!check_node(setup, sections.cluster) || !check_priced(setup, sections) ||
      !check_speculation(scenario, setup, sections.root))
    return;
  scenario.cost = std::make_shared<const hw::ReplicaCost>(setup);
  scenario.stage_memory = plan_memory(scenario.engine, *scenario.cost,
                                      scenario.speculation ? &*scenario.speculation : nullptr);
  scenario.memory = fullest(scenario.stage_memory, scenario.engine.kv_sizing);
  check_memory(scenario, sections);
  scenario.host = {};
  if (scenario.engine.preempt_by_swap && check_swap(scenario, sections))
    scenario.host = plan_swap(scenario.engine, *scenario.cost, scenario.memory,
                              *scenario.cluster.network, setup.gpus);
  if (scenario.engine.offloads() && check_offload(scenario, sections))
    scenario.host.tiers =
        plan_tiers(scenario.engine, scenario.stage_memory, *scenario.cluster.network, setup.gpus);
}

/// What `read` has given so far, and a part of it that is being read.
struct Reading {
  Reader& root;
  Reader& cluster;
  const Policies& policies;
  const std::optional<models::Architecture>& model;
  const std::optional<hw::Gpu>& gpu;
  std::vector<PoolSection>& pools;
};

/// Each pool's engine, price and memory in turn takes the place of the scenario's, which those of
/// the first pool keep.
void build_pools(Scenario& scenario, Reading& reading, const SectionMistakes& mistakes) {
  std::vector<Reader> engines;
  for (std::size_t i = 0; i < scenario.pools.size(); ++i) {
    Reader& reader = reading.pools[i].reader;
    const auto& gpu = reading.pools[i].gpu;
    engines.push_back(reader.section(
        {"engine",
         "Keys of `engine` that differ in this pool; with a preset of its own, those "
         "that differ from the preset."},
        true));
    scenario.pools[i].engine =
        read_engine(engines[i], reading.model, gpu ? gpu->generation : hw::Generation::hopper,
                    reading.policies);
    reader.finish();
  }
  if (!reading.model || reading.root.document().mistakes() > 0 || mistakes.cluster ||
      !check_pools(scenario, reading.pools, reading.root, reading.cluster))
    return;
  std::size_t first = 0;
  for (const Pool& pool : scenario.pools) first += static_cast<std::size_t>(pool.replicas);
  for (std::size_t i = scenario.pools.size(); i-- > 0;) {
    Pool& pool = scenario.pools[i];
    first -= static_cast<std::size_t>(pool.replicas);
    scenario.engine = pool.engine;
    scenario.cluster.parallelism = pool.parallelism;
    check_queue(scenario, engines[i]);
    if (pool.engine.preempt_by_swap && pool.role != PoolRole::both)
      engines[i].error("preemption_mode", "swap is not modelled where pools hand over KV",
                       "give this pool engine: {preemption_mode: recompute}");
    if (pool.engine.offloads() && pool.role != PoolRole::both)
      engines[i].error("kv_offload", "tiers are not modelled where pools hand over KV");
    check_lengths(scenario, reading.root);
    build_replicas(scenario,
                   {.root = reading.root, .cluster = reading.pools[i].reader, .engine = engines[i]},
                   *reading.model, *reading.pools[i].gpu, first);
    pool.cost = scenario.cost;
    pool.stage_memory = scenario.stage_memory;
    pool.memory = scenario.memory;
    pool.host = scenario.host;
  }
}

void read_hardware(Scenario& scenario, Reading reading, const SectionMistakes& mistakes) {
  const config::Document& document = reading.root.document();
  const std::size_t before = document.mistakes();
  Reader engine = reading.root.section({"engine", "The serving engine of each replica."}, true);
  const hw::Gpu* gpu = reading.gpu ? &*reading.gpu : nullptr;
  scenario.engine =
      read_engine(engine, reading.model, gpu != nullptr ? gpu->generation : hw::Generation::hopper,
                  reading.policies);
  if (!scenario.pools.empty()) {
    // They have the same keys: a mistake in one is one message.
    if (document.mistakes() == before) build_pools(scenario, reading, mistakes);
    return;
  }
  if (!mistakes.traffic) check_queue(scenario, engine);
  if (!reading.model || gpu == nullptr || mistakes.cluster || document.mistakes() != before) return;
  if (!mistakes.traffic) check_lengths(scenario, reading.root);
  build_replicas(scenario, {.root = reading.root, .cluster = reading.cluster, .engine = engine},
                 *reading.model, *gpu);
}

void read(Scenario& scenario, config::Document& document) {
  const Policies policies = builtin_policies();
  Reader root(document);
  scenario.name = root.text({"scenario", "Name of the scenario."});
  scenario.description = root.text({"description", "What it shows."}, "");
  scenario.seed += static_cast<std::uint64_t>(root.integer(
      {"seed", "Seed of every random draw."}, {0, std::numeric_limits<std::int64_t>::max()}, 42));
  const auto model = load_named(
      root,
      {"model", "A name of `tokenline list models`, or the path of a Hugging Face config.json."},
      models::load_model);
  Reader cluster = root.section({"cluster", "The replicas, their GPUs and the router."});
  const auto gpu = load_named(
      cluster,
      {"gpu", "A name of `tokenline list gpus`, or the path of a file in the catalog's format."},
      hw::load_gpu, !cluster.has("pools"));
  SectionMistakes mistakes;
  std::size_t before = document.mistakes();
  std::vector<PoolSection> pools = read_cluster(cluster, policies, scenario);
  cluster.finish();
  mistakes.cluster = document.mistakes() != before;
  const auto& autoscale = scenario.cluster.autoscale;
  std::int64_t replicas = autoscale ? autoscale->max : scenario.cluster.replicas;
  if (!scenario.pools.empty()) replicas = std::ssize(replica_gpus(scenario));
  scenario.faults = read_faults(root, {.replicas = replicas,
                                       .restart_delay = scenario.cluster.restart_delay,
                                       .names_network = cluster.has("network"),
                                       .network = scenario.cluster.network.get()});
  scenario.measure = read_measure(root);
  scenario.asserts =
      root.texts({"assert", "Conditions on metrics; exit code 1 when one fails."}, true);
  before = document.mistakes();
  scenario.traffic = traffic::read_traffic(root, scenario.seed);
  mistakes.traffic = document.mistakes() != before;
  scenario.observed = read_observed_run(root, scenario.traffic);
  if (!mistakes.cluster && !mistakes.traffic && !scenario.traffic.classes.empty())
    complete_admission(cluster, scenario.traffic, scenario.cluster);
  scenario.speculation = read_speculation(root, model, scenario.traffic.classes);
  read_hardware(scenario,
                {.root = root,
                 .cluster = cluster,
                 .policies = policies,
                 .model = model,
                 .gpu = gpu,
                 .pools = pools},
                mistakes);
  root.finish();
}

/// Applies what can be applied, and returns the mistakes of the rest.
std::vector<config::Diagnostic> apply_overrides(config::Node& root,
                                                const std::vector<std::string>& overrides) {
  std::vector<config::Diagnostic> mistakes;
  for (const std::string& assignment : overrides) {
    try {
      config::apply_override(root, assignment);
    } catch (const config::ConfigError& e) {
      mistakes.insert(mistakes.end(), e.diagnostics().begin(), e.diagnostics().end());
    }
  }
  return mistakes;
}

/// A study is met with what reads it, and not with every key of it.
void refuse_study(const config::Node& root) {
  const config::Node* study = root.find("study");
  if (study == nullptr || root.find("scenario") != nullptr) return;
  throw config::ConfigError(
      {.where = study->where,
       .path = "study",
       .message = "this is a study, where a scenario is expected",
       .hint = "`tokenline compare` simulates the variants of a study; its `base` is a scenario"});
}

Scenario build(config::Node root, const ScenarioOptions& options) {
  refuse_study(root);
  const auto wrong_overrides = apply_overrides(root, options.overrides);
  apply_engine_preset(root);
  apply_pool_defaults(root);
  Scenario scenario;
  scenario.file = root.where.file;
  scenario.error_band = options.error_band;
  scenario.seed = options.seed_shift;
  config::Document document(std::move(root));
  for (const auto& d : wrong_overrides) document.error(d.where, d.path, d.message, d.hint);
  read(scenario, document);
  document.throw_if_errors();
  price_brownouts(scenario);
  scenario.resolved = document.resolved();
  return scenario;
}

}  // namespace

Duration Scenario::provisioning() const {
  const AutoscaleConfig& config = cluster.autoscale.value();
  if (!config.weights_bandwidth) return config.cold_start;
  Bytes weights;
  for (const MemoryPlan& stage : stage_memory)
    weights += static_cast<double>(cluster.parallelism.stage_gpus()) * stage.weights;
  return config.cold_start + to_duration(weights / *config.weights_bandwidth);
}

Scenario load_scenario(const std::string& path, const ScenarioOptions& options) {
  return build(config::load_yaml(path), options);
}

Scenario parse_scenario(const std::string& file, const std::string& text,
                        const ScenarioOptions& options) {
  return build(config::parse_yaml(file, text), options);
}

std::vector<config::KeyInfo> scenario_keys() {
  config::Node empty;
  empty.kind = config::Node::Kind::mapping;
  config::Document document(std::move(empty), config::Document::Purpose::describe);
  Scenario scenario;
  read(scenario, document);
  std::vector<config::KeyInfo> keys(document.keys().begin(), document.keys().end());
  // Pools have engines of the same keys.
  std::erase_if(keys, [](const config::KeyInfo& key) {
    return key.path.starts_with("cluster.pools.") && key.path.find(".engine.") != std::string::npos;
  });
  constexpr std::string_view engine = "engine.";
  for (config::KeyInfo& key : keys) {
    if (!key.path.starts_with(engine)) continue;
    const std::string values = preset_values(std::string_view(key.path).substr(engine.size()));
    if (values.empty()) continue;
    key.standard = fmt::format("{} ({})", key.required ? "from the preset" : key.standard, values);
    key.required = false;
  }
  return keys;
}

}  // namespace tokenline
