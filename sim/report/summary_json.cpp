#include <cstddef>
#include <nlohmann/json.hpp>

#include "sim/report/summary.hpp"
#include "sim/report/version.hpp"

namespace tokenline::report {
namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

void add(Json& object, const Figures& figures) {
  for (const Figure& figure : figures.all())
    object[figure.key] =
        figure.whole ? Json(static_cast<std::int64_t>(*figure.value)) : or_null(figure.value);
}

Json engine(const EngineConfig& config) {
  return {{"preset", config.preset},
          {"modelled", config.modelled},
          {"scheduler", config.scheduler},
          {"max_num_seqs", config.max_num_seqs},
          {"max_num_batched_tokens", config.max_num_batched_tokens},
          {"max_model_len", config.max_model_len},
          {"block_size", config.pool_block_size()}};
}

/// Nothing was measured: null for each part.
Json parts(const std::vector<double>& by_part_ms, std::size_t count) {
  Json object = Json::object();
  for (std::size_t i = 0; i < count; ++i)
    object[std::string(name(static_cast<Part>(i)))] =
        by_part_ms.empty() ? Json() : Json(by_part_ms[i]);
  return object;
}

Json breakdown(const Breakdown& b, std::size_t count) {
  return {{"mean_ms", parts(b.mean_ms, count)}, {"p99_ms", parts(b.p99_ms, count)}};
}

Json instance(const InstanceSummary& summary) {
  Json object{{"name", summary.name}, {"gpu", summary.gpu}};
  add(object, summary.figures);
  return object;
}

Json counts(const std::vector<std::pair<std::string, std::int64_t>>& all) {
  Json object = Json::object();
  for (const auto& [name, count] : all) object[name] = count;
  return object;
}

Json faults(const std::vector<FaultResult>& all) {
  Json list = Json::array();
  for (const FaultResult& result : all) {
    const Fault& fault = result.fault;
    Json item{{"kind", name(fault.kind)}};
    if (fault.kind == FaultKind::link_brownout)
      item["links"] = hw::name(fault.brownout);
    else
      item["replica"] = fault.replica;
    item["at_s"] = seconds_of(fault.at);
    item["happened"] = result.happened;
    list.push_back(std::move(item));
  }
  return list;
}

Json sizes(const FleetResult& fleet) {
  Json list = Json::array();
  for (const FleetSize& size : fleet.sizes)
    list.push_back({{"at_s", seconds_of(size.when)},
                    {"serving", size.serving},
                    {"starting", size.starting},
                    {"draining", size.draining}});
  return list;
}

Json audit(const AuditReport& report) {
  Json checks = Json::array();
  for (const AuditCheck& check : report.checks)
    checks.push_back({{"id", check.id},
                      {"name", check.name},
                      {"passed", check.passed},
                      {"details", check.details}});
  return {{"passed", report.passed}, {"checks", std::move(checks)}};
}

}  // namespace

std::string summary_json(const Summary& summary) {
  Json root{{"tokenline", version()},
            {"scenario", summary.scenario},
            {"seed", summary.seed},
            {"config_sha256", summary.config_sha256},
            {"simulated_s", summary.simulated_s},
            {"engine", engine(summary.engine)}};
  root["classes"] = Json::object();
  root["instances"] = Json::array();
  root["ledger"] = Json::object();
  for (const ClassSummary& c : summary.classes) {
    Json figures = Json::object();
    add(figures, c.figures);
    root["classes"][c.name] = std::move(figures);
    root["ledger"][c.name] = {{"ttft", breakdown(c.ttft, ttft_part_count)},
                              {"e2el", breakdown(c.e2el, part_count)}};
  }
  for (const InstanceSummary& i : summary.instances) root["instances"].push_back(instance(i));
  if (!summary.pools.empty()) {
    root["pools"] = Json::object();
    for (const PoolSummary& pool : summary.pools) {
      Json object{{"role", pool.role}, {"gpu", pool.gpu}};
      add(object, pool.figures);
      root["pools"][pool.name] = std::move(object);
    }
  }
  if (summary.transfers) {
    root["transfers"] = Json::object();
    add(root["transfers"], *summary.transfers);
  }
  Json by_operator = Json::object();
  for (const auto& [kind, share] : summary.off_grid_by_operator) by_operator[kind] = share;
  root["pricing"] = {{"off_grid_fraction", or_null(summary.off_grid_fraction)},
                     {"off_grid_by_operator", by_operator},
                     {"median_error_fraction", or_null(summary.price_error_fraction)},
                     {"gpu", summary.gpu},
                     {"prefill_attention", name(summary.engine.prefill_attention)},
                     {"decode_attention", name(summary.engine.decode_attention)}};
  root["traffic"] = {{"left_out", counts(summary.left_out)},
                     {"sessions", counts(summary.sessions)}};
  if (!summary.faults.empty()) root["faults"] = faults(summary.faults);
  if (summary.fleet) {
    root["fleet"] = Json::object();
    add(root["fleet"], summary.fleet_figures);
    root["fleet"]["sizes"] = sizes(*summary.fleet);
  }
  if (summary.fidelity) root["fidelity"] = Json::parse(fidelity_json(*summary.fidelity));
  root["audit"] = audit(summary.audit);
  root["asserts"] = Json::array();
  for (const AssertResult& result : summary.asserts)
    root["asserts"].push_back({{"condition", result.condition},
                               {"value", or_null(result.value)},
                               {"passed", result.passed}});
  return root.dump(2) + '\n';
}

}  // namespace tokenline::report
