// The strict reader of plan files.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "sim/config/numbers.hpp"
#include "sim/report/metric.hpp"
#include "tools/plan/load.hpp"
#include "tools/plan/plan.hpp"
#include "tools/plan/prices.hpp"

namespace tokenline::plan {
namespace {

using config::Document;
using config::Location;
using config::Reader;

/// What a design may not set: it is asked of every design alike, or set by the plan.
constexpr std::array<std::string_view, 8> not_designed{
    "scenario", "description", "seed", "traffic", "measure", "observed", "assert", "faults"};

constexpr config::Range<std::int64_t> fleet_sizes{1, 4096};

std::string_view first_key(std::string_view path) { return path.substr(0, path.find('.')); }

Prices read_price_list(Reader& reader) {
  Prices prices;
  prices.date = reader.text({"date", "When the prices were read, as YYYY-MM-DD."});
  prices.source = reader.text({"source", "Whose prices they are."});
  Reader list = reader.section({"usd_per_gpu_hour", "Dollars per hour by GPU."});
  const config::Node* node = list.document().root().find("usd_per_gpu_hour");
  for (std::size_t i = 0; node != nullptr && i < node->entries.size(); ++i)
    prices.usd_per_gpu_hour[node->entries[i].key] =
        list.real({node->entries[i].key, "Dollars per hour."}, {1e-4, 1e4});
  list.finish();
  return prices;
}

Prices default_prices() {
  const embedded::File& file = embedded::files().front();
  Document document(config::parse_yaml("prices.yaml", file.text));
  Reader reader(document);
  Prices prices = read_price_list(reader);
  reader.finish();
  document.throw_if_errors();
  return prices;
}

class PlanReader {
 public:
  explicit PlanReader(Document& document) : document_(document), root_(document) {}

  Plan read() {
    plan_.name = root_.text({"plan", "Name of the plan."});
    plan_.description = root_.text({"description", "What it is for."}, "");
    read_base();
    read_load();
    read_sizes();
    slo_ = root_.texts({"slo",
                        "What every fleet must meet, written as `assert:`: p99_ttft(chat) < 500 "
                        "ms. No request may fail either, unless one of them is about `failed`."});
    for (Reader& axis : root_.items({"axes",
                                     "The search space: every choice of each axis with "
                                     "every one of the others."}))
      read_axis(axis);
    read_prices();
    root_.finish();
    return std::move(plan_);
  }

  /// Once the base is known: its traffic and classes.
  void complete(Plan& plan) {
    if (document_.mistakes() > 0 || plan.base.empty()) return;
    const Scenario base = load_scenario(plan.base);
    const config::Node* list = document_.root().find("slo");
    for (std::size_t i = 0; i < slo_.size(); ++i)
      add_condition(plan, base, slo_[i], list->items[i].where, fmt::format("slo[{}]", i));
    if (const auto trouble = unscalable(base.resolved);
        !trouble.empty() && (plan.growth != 1.0 || plan.burst != 1.0))
      root_.error(plan.growth != 1.0 ? "growth" : "burst", trouble,
                  "leave it out, and state the load that is to be served in the base");
  }

 private:
  void read_base() {
    const std::string base =
        root_.text({"base",
                    "The scenario whose traffic is to be served; the choices change the "
                    "rest of it."});
    if (!base.empty()) plan_.base = root_.existing_file("base", base);
  }

  void read_load() {
    plan_.growth =
        root_.real({"growth", "Load to plan for, over that of the base."}, {0.01, 100.0}, 1.0);
    plan_.burst = root_.real(
        {"burst",
         "Load at which all replicas together must still meet the SLOs, over the planned."},
        {1.0, 10.0}, 1.0);
    plan_.survive = root_.integer(
        {"survive",
         "Replicas (of each pool in turn) without which the rest must still meet the SLOs."},
        {0, 100}, 0);
    plan_.seeds = root_.integer(
        {"seeds", "Replications, each with other arrivals and lengths: all must meet the SLOs."},
        {1, 1000}, 5);
    plan_.confidence = root_.real({"confidence", "Of the statement that the replications allow."},
                                  {0.5, 0.999}, 0.95);
  }

  void read_sizes() {
    Reader sizes = root_.section(
        {"replicas", "Sizes of a fleet: replicas, or units of the pools that a choice names."},
        true);
    const std::size_t before = document_.mistakes();
    plan_.min_units = sizes.integer({"min", "The smallest."}, fleet_sizes, 1);
    plan_.max_units = sizes.integer({"max", "The largest."}, fleet_sizes, 16);
    if (document_.mistakes() == before && plan_.max_units < plan_.min_units)
      sizes.error("max", fmt::format("is less than min ({})", plan_.min_units));
    sizes.finish();
    plan_.size_all = root_.boolean(
        {"size_all",
         "Whether designs that cost more than the cheapest are sized too (with one seed): for the "
         "fronts of cost, latency and throughput."},
        false);
  }

  void read_axis(Reader& reader) {
    Axis axis;
    axis.name = reader.text({"axis", "Name of the knob."});
    const bool listed = reader.has("values");
    const auto key = reader.optional_text({"key", "The key of the scenario that `values` are of."});
    const auto values = reader.texts({"values", "Its values; or `choices`."}, true);
    if (listed != key.has_value())
      reader.error("", "`key` and `values` belong together", "or give `choices`");
    if (key && listed) {
      check_key(reader, "key", *key, reader.where("key"));
      for (const std::string& value : values)
        axis.choices.push_back(
            {.name = value,
             .set = {{fmt::format("{}={}", *key, config::emit_scalar(value, false)),
                      reader.where("key")}},
             .pools = {}});
    }
    std::vector<Reader> choices =
        reader.items({"choices", "Values that set several keys: {name: …, set: {…}}."}, true);
    if (listed && !choices.empty()) reader.error("choices", "beside `values`: give one of them");
    for (Reader& choice : choices) axis.choices.push_back(read_choice(choice));
    if (axis.choices.empty() && !reader.has("values") && !reader.has("choices"))
      reader.error("", "an axis needs `key` and `values`, or `choices`");
    else if (axis.choices.empty())
      reader.error(listed ? "values" : "choices", "no value is given");
    reader.finish();
    check_names(reader, axis);
    plan_.axes.push_back(std::move(axis));
  }

  Choice read_choice(Reader& reader) {
    Choice choice;
    choice.name = reader.text({"name", "Name of the choice."});
    for (const auto& [key, value] : reader.assignments(
             {"set", "Overrides of the base: {engine.max_num_seqs: 64, …}."}, true)) {
      const Location where = document_of(reader, "set", key);
      check_key(reader, "set", key, where);
      choice.set.emplace_back(fmt::format("{}={}", key, value), where);
    }
    for (const auto& [pool, text] : reader.assignments(
             {"pools",
              "Replicas of each pool in a unit: {prefill: 1, decode: 2}; without it the "
              "fleet grows by `cluster.replicas`."},
             true)) {
      const auto number = config::parse_integer(text);
      if (!number.ok() || number.value < 1 || number.value > fleet_sizes.max)
        document_.error(document_of(reader, "pools", pool), reader.path() + ".pools." + pool,
                        fmt::format("'{}' is no number of replicas", text), "1 to 4096");
      else
        choice.pools.emplace_back(pool, number.value);
    }
    reader.finish();
    return choice;
  }

  /// The place of an entry of a mapping of `reader`.
  Location document_of(const Reader& reader, std::string_view mapping, std::string_view key) {
    const Location at = reader.where(mapping);
    const config::Node* axes = document_.root().find("axes");
    if (axes == nullptr) return at;
    for (const config::Node& axis : axes->items)
      if (const config::Node* choices = axis.find("choices"))
        for (const config::Node& choice : choices->items)
          if (const config::Node* map = choice.find(mapping);
              map != nullptr && map->where.line == at.line && map->where.column == at.column)
            for (const auto& entry : map->entries)
              if (entry.key == key) return entry.where;
    return at;
  }

  void check_key(const Reader& reader, std::string_view mapping, const std::string& key,
                 const Location& where) {
    const std::string path = fmt::format("{}.{}", reader.path(), mapping);
    if (std::ranges::find(not_designed, first_key(key)) != not_designed.end())
      document_.error(where, path, fmt::format("'{}' is not part of a design", key),
                      "it is the same for all: write it into the base");
    else if (key == "cluster.replicas" || key == "cluster.autoscale" ||
             (key.starts_with("cluster.pools.") && key.ends_with(".replicas")))
      document_.error(where, path, fmt::format("'{}' is what the plan looks for", key),
                      "give its range in replicas: {min: …, max: …}");
  }

  void check_names(const Reader& reader, const Axis& axis) {
    for (const Axis& other : plan_.axes)
      if (other.name == axis.name && !axis.name.empty())
        reader.error("axis", fmt::format("there is another axis '{}' before", axis.name));
    for (std::size_t i = 0; i < axis.choices.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (axis.choices[i].name == axis.choices[j].name && !axis.choices[i].name.empty())
          reader.error(
              "", fmt::format("axis '{}' has two choices '{}'", axis.name, axis.choices[i].name));
  }

  void read_prices() {
    plan_.prices = default_prices();
    const config::Node* own = document_.root().find("prices");
    for (const auto& [gpu, text] :
         root_.assignments({"prices",
                            "Dollars per GPU and hour that differ from tools/plan/prices.yaml: "
                            "{h100_sxm: 2.10}."},
                           true)) {
      const auto number = config::parse_real(text);
      if (!number.ok() || !(number.value > 0.0) || number.value > 1e4)
        document_.error(own->find(gpu)->where, "prices." + gpu,
                        fmt::format("'{}' is no price in dollars per hour", text));
      else {
        plan_.prices.usd_per_gpu_hour[gpu] = number.value;
        plan_.prices.own.push_back(gpu);
      }
    }
  }

  void add_condition(Plan& plan, const Scenario& base, const std::string& text,
                     const Location& where, const std::string& path) {
    try {
      const report::Condition condition = report::read_condition(base, text, "slo");
      const std::string_view scope = report::scope_of(condition.metric);
      if (scope == "instances" || scope == "pools" || scope == "transfers")
        document_.error(where, path, "an SLO is about a class of requests or all of them",
                        "p99_ttft(chat) < 500 ms");
      plan.slo.push_back(condition);
    } catch (const config::ConfigError& error) {
      for (const config::Diagnostic& mistake : error.diagnostics())
        document_.error(where, path, mistake.message, mistake.hint);
    }
  }

  Document& document_;
  Reader root_;
  Plan plan_;
  std::vector<std::string> slo_;
};

Plan read_plan(config::Node root, const std::string& file) {
  Document document(std::move(root));
  PlanReader reader(document);
  Plan plan = reader.read();
  plan.file = file;
  reader.complete(plan);
  document.throw_if_errors();
  const auto about_failed = [](const report::Condition& c) {
    const std::string_view key = report::key_of(c.metric);
    return key == "failed" || key == "completed";
  };
  if (std::ranges::none_of(plan.slo, about_failed))
    plan.slo.push_back({.text = "failed(all) == 0",
                        .metric = "all.failed",
                        .comparison = report::Condition::Comparison::equal,
                        .bound = 0.0});
  return plan;
}

}  // namespace

Plan load_plan(const std::string& path) { return read_plan(config::load_yaml(path), path); }

Plan parse_plan(const std::string& file, std::string_view text) {
  return read_plan(config::parse_yaml(file, text), file);
}

std::vector<config::KeyInfo> plan_keys() {
  config::Node empty;
  empty.kind = config::Node::Kind::mapping;
  Document document(std::move(empty), Document::Purpose::describe);
  (void)PlanReader(document).read();
  return {document.keys().begin(), document.keys().end()};
}

}  // namespace tokenline::plan
