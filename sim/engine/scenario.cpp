#include "sim/engine/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/check.hpp"
#include "sim/engine/read_admission.hpp"
#include "sim/engine/read_network.hpp"
#include "sim/engine/scenario_checks.hpp"

namespace tokenline {
namespace {

using config::Reader;

TimePoint time_point(Seconds seconds) { return TimePoint{} + to_duration(seconds); }

models::Parallelism read_parallelism(Reader& cluster) {
  constexpr config::Range<std::int64_t> degrees{1, 64};
  models::Parallelism parallelism;
  parallelism.tensor = cluster.integer(
      {"tensor_parallel_size", "GPUs that share each attention layer and dense MLP of a replica."},
      degrees, 1);
  parallelism.data = cluster.integer(
      {"attention_data_parallel_size",
       "Groups of tensor_parallel_size GPUs in a replica, each with its own sequences; they share "
       "the experts."},
      degrees, 1);
  parallelism.expert = cluster.integer(
      {"expert_parallel_size",
       "Ways the experts are spread over the GPUs of a replica; the remaining ways split each."},
      {1, 4096}, 1);
  parallelism.pipeline =
      cluster.integer({"pipeline_parallel_size",
                       "Stages of a replica, each on GPUs of its own with a share of the layers."},
                      degrees, 1);
  parallelism.context = cluster.integer(
      {"context_parallel_size",
       "Groups of tensor_parallel_size GPUs in a stage that share each sequence: its "
       "prefill by ring attention, its KV evenly."},
      degrees, 1);
  return parallelism;
}

ClusterConfig read_cluster(Reader& cluster, const Policies& policies) {
  ClusterConfig config;
  const std::size_t before = cluster.document().mistakes();
  config.replicas =
      cluster.integer({"replicas", "Engine replicas behind the router."}, {1, 4096}, 1);
  config.router =
      cluster.word({"router", "Which replica gets a request: see `tokenline list policies`."},
                   policies.router.names(), "least_outstanding");
  read_admission(cluster, policies, config);
  config.parallelism = read_parallelism(cluster);
  std::vector<std::int64_t> replica_gpus;
  if (cluster.document().mistakes() == before)
    replica_gpus.assign(static_cast<std::size_t>(config.replicas), config.parallelism.gpus());
  read_network(cluster, replica_gpus, config);
  config.restart_delay = to_duration(cluster.seconds(
      {"restart_delay", "From an out-of-memory crash until the replica serves again."},
      {1e-3, 86'400.0}, "130 s"));
  const std::vector<std::string> reactions{"retry", "lose"};
  config.retry_after_oom =
      cluster.word({"on_oom", "What happens to the requests of a replica that crashes."}, reactions,
                   "retry") == "retry";
  config.max_retries = cluster.integer(
      {"max_retries", "Attempts after the first one before a request is lost."}, {0, 1000}, 3);
  config.autoscale = read_autoscale(cluster, config.replicas);
  return config;
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

/// Reads a key that names a model or GPU, and loads it: a built-in name, or a path relative to the
/// scenario. A mistake in the name is reported at the key, one in the file at its own line.
template <class Load>
auto load_named(Reader& reader, config::Key key, const Load& load)
    -> std::optional<decltype(load(std::string()))> {
  const std::size_t before = reader.document().mistakes();
  const std::string name = reader.text(key);
  if (!reader.has(key.name) || reader.document().mistakes() != before) return {};
  const bool is_path = config::is_file_name(name);
  const std::string source = is_path ? reader.existing_file(key.name, name) : name;
  if (source.empty()) return {};
  try {
    return load(source);
  } catch (const config::ConfigError& e) {
    for (const auto& d : e.diagnostics()) {
      if (is_path)
        reader.document().error(d.where, d.path, d.message, d.hint);
      else
        reader.error(key.name, d.message, d.hint);
    }
    return {};
  }
}

/// Which sections had a mistake, so that checks which build on them stay silent.
struct SectionMistakes {
  bool cluster = false;
  bool traffic = false;
};

void read_hardware(Scenario& scenario, Reader& root, Reader& cluster, const Policies& policies,
                   const std::optional<models::Architecture>& model,
                   const std::optional<hw::Gpu>& gpu, const SectionMistakes& mistakes) {
  const std::size_t before = root.document().mistakes();
  Reader engine = root.section({"engine", "The serving engine of each replica."}, true);
  scenario.engine =
      read_engine(engine, model, gpu ? gpu->generation : hw::Generation::hopper, policies);
  if (!mistakes.traffic) check_queue(scenario, engine);
  if (!model || !gpu || mistakes.cluster || root.document().mistakes() != before) return;
  if (!mistakes.traffic) check_lengths(scenario, root);
  const ScenarioSections sections{.root = root, .cluster = cluster, .engine = engine};
  if (!check_sharding(scenario, sections, *model)) return;
  const std::int64_t groups = scenario.cluster.parallelism.data;
  const std::int64_t per_decode = scenario.speculation ? 1 + scenario.speculation->tokens : 1;
  hw::StepSetup setup{.model = *model,
                      .gpu = *gpu,
                      .parallelism = scenario.cluster.parallelism,
                      .prefill_kernel = scenario.engine.prefill_attention,
                      .decode_kernel = scenario.engine.decode_attention,
                      .fused_mixed_attention = scenario.engine.fused_mixed_attention,
                      .input_quantization = scenario.engine.input_quantization,
                      .kv_element = scenario.engine.kv_element,
                      .expert_load = scenario.engine.expert_load,
                      .network = scenario.cluster.network,
                      .gpus = scenario.cluster.gpus.empty() ? std::vector<hw::Vertex>()
                                                            : scenario.cluster.gpus.front(),
                      .error_band = scenario.error_band,
                      .max_tokens = groups * scenario.engine.max_num_batched_tokens,
                      .max_sequences = groups * scenario.engine.max_num_seqs * per_decode};
  if (scenario.engine.quantization) setup.model.quantization = *scenario.engine.quantization;
  if (!check_priced(setup, sections) || !check_speculation(scenario, setup, root)) return;
  scenario.cost = std::make_shared<const hw::ReplicaCost>(setup);
  scenario.stage_memory = plan_memory(scenario.engine, *scenario.cost,
                                      scenario.speculation ? &*scenario.speculation : nullptr);
  scenario.memory = fullest(scenario.stage_memory, scenario.engine.kv_sizing);
  check_memory(scenario, sections);
}

void read(Scenario& scenario, config::Document& document) {
  const Policies policies = builtin_policies();
  Reader root(document);
  scenario.name = root.text({"scenario", "Name of the scenario."});
  scenario.description = root.text({"description", "What it shows."}, "");
  scenario.seed = static_cast<std::uint64_t>(root.integer(
      {"seed", "Seed of every random draw."}, {0, std::numeric_limits<std::int64_t>::max()}, 42));
  const auto model = load_named(
      root,
      {"model", "A name of `tokenline list models`, or the path of a Hugging Face config.json."},
      models::load_model);
  Reader cluster = root.section({"cluster", "The replicas, their GPUs and the router."});
  const auto gpu = load_named(
      cluster,
      {"gpu", "A name of `tokenline list gpus`, or the path of a file in the catalog's format."},
      hw::load_gpu);
  SectionMistakes mistakes;
  std::size_t before = document.mistakes();
  scenario.cluster = read_cluster(cluster, policies);
  cluster.finish();
  mistakes.cluster = document.mistakes() != before;
  const auto& autoscale = scenario.cluster.autoscale;
  scenario.faults = read_faults(root, autoscale ? autoscale->max : scenario.cluster.replicas,
                                scenario.cluster.restart_delay);
  scenario.measure = read_measure(root);
  scenario.asserts =
      root.texts({"assert", "Conditions on metrics; exit code 1 when one fails."}, true);
  before = document.mistakes();
  scenario.traffic = traffic::read_traffic(root, scenario.seed);
  mistakes.traffic = document.mistakes() != before;
  if (!mistakes.cluster && !mistakes.traffic && !scenario.traffic.classes.empty())
    complete_admission(cluster, scenario.traffic, scenario.cluster);
  scenario.speculation = read_speculation(root, model, scenario.traffic.classes);
  read_hardware(scenario, root, cluster, policies, model, gpu, mistakes);
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

Scenario build(config::Node root, const ScenarioOptions& options) {
  const auto wrong_overrides = apply_overrides(root, options.overrides);
  apply_engine_preset(root);
  Scenario scenario;
  scenario.file = root.where.file;
  scenario.error_band = options.error_band;
  config::Document document(std::move(root));
  for (const auto& d : wrong_overrides) document.error(d.where, d.path, d.message, d.hint);
  read(scenario, document);
  document.throw_if_errors();
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
