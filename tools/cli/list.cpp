#include <fmt/format.h>

#include "hwmodels/gpu.hpp"
#include "hwmodels/network/fabric.hpp"
#include "sim/engine/engine_config.hpp"
#include "sim/report/text_table.hpp"
#include "tools/cli/arguments.hpp"
#include "tools/cli/commands.hpp"
#include "workloads/models/architecture.hpp"

namespace tokenline::cli {
namespace {

Usage list_usage() {
  return {.synopsis = "list {models,gpus,networks,policies,engines}",
          .about = "Lists what is built in; `tokenline describe NAME` tells more about one.",
          .positional = "what to list",
          .options = {},
          .epilogue = std::string(exit_codes())};
}

std::string list_models() {
  report::TextTable table(1);
  table.row({"model", "parameters", "active", "KV/token"});
  for (const std::string& name : models::model_names()) {
    const models::Architecture model = models::load_model(name);
    const auto billions = [](std::int64_t n) {
      return fmt::format("{:.1f} B", static_cast<double>(n) / 1e9);
    };
    table.row({name, billions(model.parameters()), billions(model.active_parameters()),
               fmt::format("{:.0f} KiB", model.kv_bytes_per_token().value() / 1024.0)});
  }
  return table.text();
}

std::string list_gpus() {
  report::TextTable table(3);
  table.row({"GPU", "prices", "product"});
  for (const std::string& name : hw::gpu_names()) {
    const hw::Gpu gpu = hw::load_gpu(name);
    table.row({name, gpu.calibrated() ? "calibrated" : "datasheet", gpu.description});
  }
  return table.text();
}

std::string list_networks() {
  report::TextTable table(3);
  table.row({"of", "name", "what it is"});
  for (const std::string& name : hw::node_fabric_names())
    table.row({"node", name, hw::load_node_fabric(name).description});
  for (const std::string& name : hw::inter_fabric_names())
    table.row({"fabric", name, hw::load_inter_fabric(name).description});
  return table.text();
}

template <class Registry>
void add_policies(report::TextTable& table, std::string_view kind, const Registry& registry) {
  for (const std::string& name : registry.names())
    table.row({std::string(kind), name, registry.at(name).summary});
}

std::string list_policies() {
  const Policies policies = builtin_policies();
  report::TextTable table(3);
  add_policies(table, "admission", policies.admission);
  add_policies(table, "queue", policies.queue);
  add_policies(table, "router", policies.router);
  add_policies(table, "scheduler", policies.scheduler);
  return table.text();
}

std::string list_engines() {
  report::TextTable table(2);
  for (const std::string& name : engine_preset_names()) {
    const config::Node preset = load_engine_preset(name);
    const config::Node* modelled = preset.find("modelled");
    table.row({name, modelled == nullptr ? "" : modelled->scalar});
  }
  return table.text();
}

}  // namespace

Outcome list_command(const std::vector<std::string>& words) {
  const auto arguments = parse(list_usage(), words);
  if (!arguments) return {success, help_text(list_usage())};
  const std::string& what = arguments->positional();
  if (what == "models") return {success, list_models()};
  if (what == "gpus") return {success, list_gpus()};
  if (what == "networks") return {success, list_networks()};
  if (what == "policies") return {success, list_policies()};
  if (what == "engines") return {success, list_engines()};
  throw UsageError(unknown("list", what, {"models", "gpus", "networks", "policies", "engines"}));
}

}  // namespace tokenline::cli
