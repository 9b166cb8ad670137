#include "sim/engine/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/check.hpp"

namespace tokenline {
namespace {

using config::Reader;

TimePoint time_point(Seconds seconds) { return TimePoint{} + to_duration(seconds); }

ClusterConfig read_cluster(Reader& cluster, const Policies& policies) {
  ClusterConfig config;
  config.replicas =
      cluster.integer({"replicas", "Engine replicas behind the router."}, {1, 4096}, 1);
  config.router =
      cluster.word({"router", "Which replica gets a request: see `tokenline list policies`."},
                   policies.router.names(), "least_outstanding");
  config.tensor_parallel_size =
      cluster.integer({"tensor_parallel_size", "GPUs that share one replica's model."}, {1, 64}, 1);
  config.restart_delay = to_duration(cluster.seconds(
      {"restart_delay", "From an out-of-memory crash until the replica serves again."},
      {1e-3, 86'400.0}, "130 s"));
  const std::vector<std::string> reactions{"retry", "lose"};
  config.retry_after_oom =
      cluster.word({"on_oom", "What happens to the requests of a replica that crashes."}, reactions,
                   "retry") == "retry";
  config.max_retries = cluster.integer(
      {"max_retries", "Attempts after the first one before a request is lost."}, {0, 1000}, 3);
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

/// Checks that need more than one section, each reported at the key to change.
class CrossChecks {
 public:
  CrossChecks(Scenario& scenario, Reader& root, Reader& cluster, Reader& engine)
      : scenario_(scenario), root_(root), cluster_(cluster), engine_(engine) {}

  /// Whether the tensor-parallel degree divides what it shards.
  bool sharding(const models::Architecture& model) {
    const std::int64_t degree = scenario_.cluster.tensor_parallel_size;
    for (const auto& [what, size] : {std::pair{"attention heads", model.attention_heads},
                                     std::pair{"MLP columns", model.intermediate_size}})
      if (size % degree != 0) {
        cluster_.error("tensor_parallel_size", fmt::format("{} does not divide the {} {} of {}",
                                                           degree, size, what, model.name));
        return false;
      }
    return true;
  }

  /// Whether the cost model covers the setup. What to change is found by leaving out one choice
  /// after the other.
  bool priced(const hw::StepSetup& setup) {
    hw::StepSetup part = setup;
    part.tensor_parallel_size = 1;
    part.prefill_kernel = hw::PrefillKernel::fa2;
    if (const std::string reason = hw::StepCost::first_refusal(part); !reason.empty()) {
      root_.error("model", reason);
      return false;
    }
    part.prefill_kernel = setup.prefill_kernel;
    if (const std::string reason = hw::StepCost::first_refusal(part); !reason.empty()) {
      engine_.error("prefill_attention", reason);
      return false;
    }
    const std::string reason = hw::StepCost::first_refusal(setup);
    if (!reason.empty()) cluster_.error("tensor_parallel_size", reason);
    return reason.empty();
  }

  void memory() {
    const MemoryPlan& plan = scenario_.memory;
    const EngineConfig& engine = scenario_.engine;
    const auto gib = [](Bytes bytes) { return bytes.value() / 0x1p30; };
    if (plan.blocks <= 0) {
      cluster_.error(
          "tensor_parallel_size",
          fmt::format("{} does not fit {}: weights {:.1f} GiB + activations {:.1f} GiB + non-torch "
                      "{:.1f} GiB per GPU leave no KV block of {:.1f} usable GiB",
                      scenario_.cost->setup().model.name, scenario_.cost->setup().gpu.name,
                      gib(plan.weights), gib(plan.activation_peak), gib(plan.non_torch),
                      gib(plan.budget)),
          "more GPUs per replica, a smaller max_num_batched_tokens, or more "
          "gpu_memory_utilization");
      return;
    }
    if (engine.num_gpu_blocks_override &&
        plan.in_use(engine.kv_sizing, 0, plan.activation_peak) > plan.capacity)
      engine_.error("num_gpu_blocks_override",
                    fmt::format("{} blocks of {:.3f} GiB do not fit the GPU's {:.1f} GiB beside "
                                "weights and activations",
                                plan.blocks, gib(plan.block), gib(plan.capacity)));
    const std::int64_t block = engine.pool_block_size();
    const auto watermark =
        static_cast<std::int64_t>(std::ceil(engine.watermark * static_cast<double>(plan.blocks)));
    const std::int64_t needed = (engine.max_model_len + block - 1) / block;
    if (needed > plan.blocks - watermark)
      engine_.error("max_model_len",
                    fmt::format("a request of {} tokens needs {} KV blocks; the pool has {}, of "
                                "which {} stay free as watermark",
                                engine.max_model_len, needed, plan.blocks, watermark),
                    "lower max_model_len, or give the replica more memory");
    alone_fits();
  }

  void lengths() {
    for (const auto& longest : scenario_.traffic.longest)
      if (longest.total_tokens > scenario_.engine.max_model_len)
        root_.document().error(
            longest.where, longest.path,
            fmt::format("a request of {} prompt tokens and {} in all exceeds max_model_len ({})",
                        longest.prompt_tokens, longest.total_tokens,
                        scenario_.engine.max_model_len),
            "raise engine.max_model_len, or bound the lengths");
  }

 private:
  /// A pool that grows on demand may crash under load, but a single request must be able to run:
  /// otherwise every attempt would crash.
  void alone_fits() {
    const EngineConfig& engine = scenario_.engine;
    if (engine.kv_sizing != KvSizing::on_demand) return;
    const MemoryPlan& plan = scenario_.memory;
    const std::int64_t longest = engine.max_model_len;
    const std::int64_t piece = std::min(longest, engine.max_num_batched_tokens);
    const std::int64_t block = engine.pool_block_size();
    const Bytes alone = plan.in_use(engine.kv_sizing, (longest + block - 1) / block,
                                    scenario_.cost->activations(piece, 1, piece * longest));
    if (alone > plan.capacity)
      engine_.error("max_model_len",
                    fmt::format("a single request of {} tokens takes {:.1f} of the GPU's {:.1f} "
                                "GiB: every attempt would run out of memory",
                                longest, alone.value() / 0x1p30, plan.capacity.value() / 0x1p30));
  }

  Scenario& scenario_;
  Reader& root_;
  Reader& cluster_;
  Reader& engine_;
};

/// Reads a key that names a model or GPU, and loads it: a built-in name, or a path relative to the
/// scenario. A mistake in the name is reported at the key, one in the file at its own line.
template <class Load>
auto load_named(Reader& reader, config::Key key, const Load& load)
    -> std::optional<decltype(load(std::string()))> {
  const std::size_t before = reader.document().mistakes();
  const std::string name = reader.text(key);
  if (!reader.has(key.name) || reader.document().mistakes() != before) return {};
  const bool is_path =
      name.find('/') != std::string::npos || name.ends_with(".json") || name.ends_with(".yaml");
  const std::string source = is_path ? reader.file_path(key.name, name) : name;
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
  if (!model || !gpu || mistakes.cluster || root.document().mistakes() != before) return;
  CrossChecks checks(scenario, root, cluster, engine);
  if (!checks.sharding(*model)) return;
  const hw::StepSetup setup{.model = *model,
                            .gpu = *gpu,
                            .tensor_parallel_size = scenario.cluster.tensor_parallel_size,
                            .prefill_kernel = scenario.engine.prefill_attention,
                            .decode_kernel = scenario.engine.decode_attention,
                            .max_tokens = scenario.engine.max_num_batched_tokens,
                            .max_sequences = scenario.engine.max_num_seqs};
  if (!checks.priced(setup)) return;
  scenario.cost = std::make_shared<const hw::StepCost>(setup);
  scenario.memory = plan_memory(scenario.engine, *scenario.cost);
  checks.memory();
  if (!mistakes.traffic) checks.lengths();
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
  scenario.measure = read_measure(root);
  scenario.asserts =
      root.texts({"assert", "Conditions on metrics; exit code 1 when one fails."}, true);
  before = document.mistakes();
  scenario.traffic = traffic::read_traffic(root, scenario.seed);
  mistakes.traffic = document.mistakes() != before;
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
  config::Document document(std::move(root));
  for (const auto& d : wrong_overrides) document.error(d.where, d.path, d.message, d.hint);
  read(scenario, document);
  document.throw_if_errors();
  scenario.resolved = document.resolved();
  return scenario;
}

}  // namespace

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
