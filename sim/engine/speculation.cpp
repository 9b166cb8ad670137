#include "sim/engine/speculation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace tokenline {
namespace {

using config::Reader;

constexpr config::Range<double> probability{0.0, 1.0};

/// The model itself with its one multi-token-prediction layer (DeepSeek-V3, arXiv 2412.19437,
/// section 2.2): embedding and LM head are shared, the layer is like the last ones.
models::Architecture prediction_layer(const models::Architecture& model, std::int64_t layers) {
  models::Architecture one = model;
  one.name += " (one layer)";
  one.layers = layers;
  if (one.moe) one.moe->dense_layers = 0;
  one.sliding_layers = std::min(one.sliding_layers, layers);
  return one;
}

std::vector<double> read_positions(Reader& reader, config::Key key, std::int64_t tokens) {
  if (!reader.is_sequence(key.name))
    return std::vector<double>(static_cast<std::size_t>(tokens), reader.real(key, probability));
  std::vector<double> positions = reader.reals(key, probability);
  if (static_cast<std::int64_t>(positions.size()) != tokens)
    reader.error(key.name, fmt::format("{} positions for num_speculative_tokens: {}",
                                       positions.size(), tokens));
  positions.resize(static_cast<std::size_t>(tokens));
  return positions;
}

/// Weights of accepting 0, 1, … tokens as the chance of each position given those before it.
std::vector<double> conditional(const std::vector<double>& weights, std::size_t positions) {
  std::vector<double> chances(positions);
  double reached = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (std::size_t i = 0; i < positions && i + 1 < weights.size(); ++i) {
    const double further = reached - weights[i];
    chances[i] = reached > 0.0 ? std::clamp(further / reached, 0.0, 1.0) : 0.0;
    reached = further;
  }
  return chances;
}

std::vector<double> read_histogram(Reader& speculation, std::int64_t tokens) {
  constexpr config::Range<double> weights{0.0, 1e12};
  const std::vector<double> lengths = speculation.reals(
      {"accepted_lengths", "How often 0, 1, … num_speculative_tokens tokens are accepted."},
      weights, true);
  const double sum = std::accumulate(lengths.begin(), lengths.end(), 0.0);
  if (static_cast<std::int64_t>(lengths.size()) != tokens + 1 || sum <= 0.0)
    speculation.error(
        "accepted_lengths",
        fmt::format("needs num_speculative_tokens + 1 = {} counts, not all zero", tokens + 1));
  return conditional(lengths, static_cast<std::size_t>(tokens));
}

std::vector<std::vector<double>> read_chances(Reader& speculation, std::int64_t tokens,
                                              std::span<const traffic::RequestClass> classes) {
  constexpr config::Key key{"acceptance",
                            "Chance that a draft token is accepted when those before it were: a "
                            "number, one per position, or either by class."};
  if (!speculation.is_mapping(key.name)) {
    const std::size_t count = std::max<std::size_t>(1, classes.size());
    return std::vector<std::vector<double>>(count, read_positions(speculation, key, tokens));
  }
  Reader by_class = speculation.section(key);
  std::vector<std::vector<double>> all;
  for (const traffic::RequestClass& c : classes)
    all.push_back(read_positions(by_class, {c.name, "Of that class."}, tokens));
  by_class.finish();
  return all;
}

std::vector<std::vector<double>> read_acceptance(Reader& speculation, std::int64_t tokens,
                                                 std::span<const traffic::RequestClass> classes) {
  const bool histogram = speculation.has("accepted_lengths");
  std::vector<std::vector<double>> all;
  speculation.alternative("instead of acceptance", histogram, [&] {
    all.assign(std::max<std::size_t>(1, classes.size()), read_histogram(speculation, tokens));
    if (speculation.has("acceptance"))
      speculation.error("accepted_lengths", "beside acceptance: one of them says it all");
  });
  speculation.alternative("without accepted_lengths", !histogram || speculation.has("acceptance"),
                          [&] { all = read_chances(speculation, tokens, classes); });
  return all;
}

std::optional<SpeculationBreaker> read_breaker(Reader& speculation) {
  auto section = speculation.optional_section(
      {"breaker", "Stops drafting for a while when too few tokens are accepted."});
  if (!section) return {};
  SpeculationBreaker breaker;
  breaker.below = section->real({"below", "Share of tested draft tokens that must be accepted."},
                                probability, 0.65);
  breaker.window = section->integer({"window", "Draft tokens that are tested between two looks."},
                                    {1, 1'000'000'000}, 1000);
  breaker.cooldown = to_duration(section->seconds({"cooldown", "How long nothing is drafted then."},
                                                  {1e-3, 86'400.0}, "30 s"));
  section->finish();
  return breaker;
}

std::optional<models::Architecture> read_draft(Reader& speculation) {
  const std::string name = speculation.text(
      {"draft", "The draft model: a name of `tokenline list models`, or a config.json."});
  if (!speculation.has("draft") || name.empty()) return {};
  const bool is_path = config::is_file_name(name);
  const std::string source = is_path ? speculation.existing_file("draft", name) : name;
  if (source.empty()) return {};
  try {
    return models::load_model(source);
  } catch (const config::ConfigError& e) {
    for (const auto& d : e.diagnostics()) speculation.error("draft", d.message, d.hint);
    return {};
  }
}

}  // namespace

std::optional<SpeculationConfig> read_speculation(Reader& root,
                                                  const std::optional<models::Architecture>& model,
                                                  std::span<const traffic::RequestClass> classes) {
  auto section = root.optional_section(
      {"speculation", "Speculative decoding: drafts of several tokens, verified in one pass."});
  if (!section) return {};
  SpeculationConfig config;
  const std::vector<std::string> methods{"draft_model", "ngram", "mtp", "none"};
  const std::string method = section->word(
      {"method",
       "draft_model: a smaller model; ngram: repetitions in the request, found by the host; mtp: a "
       "prediction layer of the model; none: nothing is drafted, as without the section."},
      methods);
  const bool drafts = method != "none";
  config.tokens = section->integer({"num_speculative_tokens", "Draft tokens of a pass."}, {1, 64});
  config.acceptance = read_acceptance(*section, config.tokens, classes);
  config.breaker = read_breaker(*section);
  config.method = method == "ngram" ? DraftMethod::ngram
                  : method == "mtp" ? DraftMethod::mtp
                                    : DraftMethod::draft_model;
  const bool model_drafts = method == "draft_model" && section->has("method");
  section->alternative("method: draft_model", model_drafts || (!drafts && section->has("draft")),
                       [&] { config.draft = read_draft(*section); });
  if (config.method == DraftMethod::mtp && model) config.draft = prediction_layer(*model, 1);
  section->finish();
  if (!drafts) return {};
  return config;
}

std::string price_draft(SpeculationConfig& config, const hw::StepSetup& target) {
  if (target.parallelism.pipeline > 1)
    return "speculation in a pipeline is not modelled: pipeline_parallel_size must be 1";
  if (!config.draft) return {};
  hw::StepSetup setup = target;
  setup.model = *config.draft;
  if (std::string reason = hw::StepCost::first_refusal(setup); !reason.empty()) return reason;
  config.cost = std::make_shared<const hw::StepCost>(setup);
  config.weights = config.cost->weights();
  if (config.method == DraftMethod::mtp)  // the vocabulary is the model's own
    config.weights =
        models::weight_bytes(prediction_layer(target.model, 2), setup.parallelism) - config.weights;
  return {};
}

Speculator::Speculator(const SpeculationConfig& config, std::uint64_t seed)
    : config_(config), seed_(seed), purpose_(RandomStream::hash("speculation")) {}

std::int64_t Speculator::verify(std::uint32_t request, std::uint32_t class_index,
                                std::int64_t generated) {
  const std::uint64_t id = (static_cast<std::uint64_t>(request) << 32U) |
                           static_cast<std::uint64_t>(static_cast<std::uint32_t>(generated));
  RandomStream random(seed_, purpose_, id);
  std::int64_t accepted = 0;
  for (const double chance : config_.acceptance[class_index]) {
    if (static_cast<double>(random()) * 0x1p-32 >= chance) break;
    ++accepted;
  }
  const std::int64_t tested = std::min(accepted + 1, config_.tokens);
  ++counts_.passes;
  counts_.drafted += config_.tokens;
  counts_.tested += tested;
  counts_.accepted += accepted;
  window_tested_ += tested;
  window_accepted_ += accepted;
  return accepted;
}

void Speculator::step_ended(TimePoint now) {
  if (!config_.breaker || window_tested_ < config_.breaker->window) return;
  const double rate = static_cast<double>(window_accepted_) / static_cast<double>(window_tested_);
  window_tested_ = 0;
  window_accepted_ = 0;
  if (rate >= config_.breaker->below) return;
  ++counts_.trips;
  closed_again_ = now + config_.breaker->cooldown;
}

hw::Price Speculator::price(const hw::StepShape& shape, std::int64_t drafts) const {
  hw::Price sum;
  if (!config_.cost || drafts == 0) return sum;
  if (!shape.chunks.empty()) sum += config_.cost->price({.chunks = shape.chunks, .sampled = 0});
  if (shape.decode_sequences == 0) return sum;
  const std::int64_t rows = shape.decode_sequences;
  const std::int64_t stored = shape.decode_context - rows * shape.decode_queries;
  for (std::int64_t i = 1; i <= drafts; ++i)
    sum += config_.cost->price({.decode_sequences = rows,
                                .decode_context = stored + i * rows,
                                .chunks = {},
                                .sampled = rows});
  return sum;
}

}  // namespace tokenline
