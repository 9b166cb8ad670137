#include "tools/python/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "sim/config/numbers.hpp"
#include "sim/report/steps_csv.hpp"
#include "tools/sweep/figure_table.hpp"

namespace tokenline::python {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

// The nearest double, as the reader of a decimal gives.
double in_ms(Duration duration) { return static_cast<double>(duration.count()) / 1e6; }
double in_s(TimePoint when) { return static_cast<double>(when.time_since_epoch().count()) / 1e9; }

double tpot_ms(const RequestRecord& r) {
  const std::int64_t gaps = r.output_tokens - 1;
  if (gaps == 0) return none;
  return in_ms(Duration(((r.e2el() - r.ttft()).count() + gaps / 2) / gaps));
}

/// The columns of a table of rows, each a function of a row.
template <class Rows>
class TableBuilder {
 public:
  explicit TableBuilder(const Rows& rows) : rows_(rows) {}

  template <class Of>
  void whole(std::string name, Of of) {
    add<std::int64_t>(std::move(name),
                      [&](const auto& row) { return static_cast<std::int64_t>(of(row)); });
  }
  template <class Of>
  void real(std::string name, Of of) {
    add<double>(std::move(name), of);
  }
  /// `code` gives the place of the row's text among the words.
  template <class Code>
  void words(std::string name, std::vector<std::string> words, Code code) {
    Words column{.codes = {}, .words = std::move(words)};
    column.codes.reserve(rows_.size());
    for (const auto& row : rows_) column.codes.push_back(static_cast<std::int32_t>(code(row)));
    columns_.push_back({std::move(name), std::move(column)});
  }
  void add(Column column) { columns_.push_back(std::move(column)); }
  [[nodiscard]] std::vector<Column> take() { return std::move(columns_); }

 private:
  template <class Value, class Of>
  void add(std::string name, Of of) {
    std::vector<Value> values;
    values.reserve(rows_.size());
    for (const auto& row : rows_) values.push_back(of(row));
    columns_.push_back({std::move(name), std::move(values)});
  }

  const Rows& rows_;
  std::vector<Column> columns_;
};

std::vector<std::string> instance_names(const RunResult& run) {
  std::vector<std::string> names;
  for (const InstanceResult& instance : run.instances) names.push_back(instance.name);
  return names;
}

std::vector<std::string> outcome_names() {
  std::vector<std::string> names;
  for (auto outcome = Outcome::in_flight; outcome <= Outcome::lost_crash;
       outcome = static_cast<Outcome>(static_cast<int>(outcome) + 1))
    names.emplace_back(name(outcome));
  return names;
}

std::vector<double> values_of(const sweep::Merged& merged, std::string_view scope,
                              std::string_view key) {
  std::vector<double> values;
  for (const auto& result : merged.results) {
    if (!result) continue;
    const report::Figures* figures = sweep::figures_in(*result, scope);
    const report::Figure* figure = figures == nullptr ? nullptr : figures->find(key);
    values.push_back(figure == nullptr ? none : figure->value.value_or(none));
  }
  return values;
}

/// A whole number in every row, so that integers hold it.
bool whole_everywhere(const std::vector<double>& values) {
  return std::ranges::all_of(values, [](double v) { return v == v; });
}

std::vector<std::int64_t> as_integers(const std::vector<double>& values) {
  std::vector<std::int64_t> whole(values.size());
  std::ranges::transform(values, whole.begin(),
                         [](double v) { return static_cast<std::int64_t>(v); });
  return whole;
}

/// The values of an axis, by row.
Column axis_values(const sweep::AxisColumn& axis, const std::vector<std::string>& values) {
  if (axis.type == sweep::AxisColumn::Type::text) {
    Words column{.codes = {}, .words = values};
    for (std::size_t i = 0; i < values.size(); ++i)
      column.codes.push_back(static_cast<std::int32_t>(i));
    return {axis.name, std::move(column)};
  }
  if (axis.type == sweep::AxisColumn::Type::integer) {
    std::vector<std::int64_t> numbers;
    for (const std::string& value : values)
      numbers.push_back(config::parse_integer(axis.cell(value)).value);
    return {axis.name, std::move(numbers)};
  }
  std::vector<double> numbers;
  for (const std::string& value : values)
    numbers.push_back(config::parse_real(axis.cell(value)).value);
  return {axis.name, std::move(numbers)};
}

}  // namespace

std::vector<Column> request_columns(const RunResult& run) {
  const auto& records = run.log.records;
  TableBuilder table(records);
  const auto completed = [](double (*of)(const RequestRecord&)) {
    return [of](const RequestRecord& r) { return r.outcome == Outcome::completed ? of(r) : none; };
  };
  std::int64_t id = 0;
  table.whole("request_id", [&](const RequestRecord&) { return id++; });
  std::vector<std::string> classes;
  for (const traffic::RequestClass& c : run.classes) classes.push_back(c.name);
  table.words("class", classes, [](const RequestRecord& r) { return r.class_index; });
  std::vector<std::string> instances = instance_names(run);
  const std::size_t no_instance = instances.size();
  instances.emplace_back();
  table.words("instance", std::move(instances), [&](const RequestRecord& r) {
    return r.outcome == Outcome::rejected ? no_instance : r.instance;
  });
  table.words("outcome", outcome_names(),
              [](const RequestRecord& r) { return static_cast<std::int32_t>(r.outcome); });
  table.real("arrival_s", [](const RequestRecord& r) { return in_s(r.arrival); });
  table.whole("prompt_tokens", [](const RequestRecord& r) { return r.prompt_tokens; });
  table.whole("output_tokens", [](const RequestRecord& r) { return r.output_tokens; });
  table.real("ttft_ms", completed([](const RequestRecord& r) { return in_ms(r.ttft()); }));
  table.real("tpot_ms", completed(tpot_ms));
  table.real("e2el_ms", completed([](const RequestRecord& r) { return in_ms(r.e2el()); }));
  table.real("first_token_s",
             completed([](const RequestRecord& r) { return in_s(r.first_token); }));
  table.real("finish_s", [](const RequestRecord& r) {
    return r.outcome == Outcome::in_flight ? none : in_s(r.finish);
  });
  table.whole("preemptions", [](const RequestRecord& r) { return r.preemptions; });
  table.whole("retries", [](const RequestRecord& r) { return r.retries; });
  table.whole("recomputed_tokens", [](const RequestRecord& r) { return r.recomputed_tokens; });
  if (!run.log.cached_tokens.empty()) table.add({"cached_tokens", run.log.cached_tokens});
  const auto part_ms = [](const RequestRecord& r, const auto& parts, Part part) {
    return r.outcome == Outcome::completed ? in_ms(parts[part]) : none;
  };
  for (std::size_t i = 0; i < ttft_part_count; ++i)
    table.real(fmt::format("ttft_{}_ms", name(static_cast<Part>(i))), [&](const RequestRecord& r) {
      return part_ms(r, r.ttft_parts, static_cast<Part>(i));
    });
  for (std::size_t i = 0; i < part_count; ++i)
    table.real(fmt::format("e2el_{}_ms", name(static_cast<Part>(i))),
               [&](const RequestRecord& r) { return part_ms(r, r.parts, static_cast<Part>(i)); });
  return table.take();
}

std::vector<Column> step_columns(const report::RunLog& log, const RunResult& run) {
  struct Row {
    std::size_t instance = 0;
    const report::LoggedStep* step = nullptr;
    TimePoint end{};
  };
  std::vector<Row> rows;
  for (std::size_t i = 0; i < log.instances().size(); ++i) {
    const report::InstanceLog& instance = log.instances()[i];
    for (std::size_t s = 0; s < instance.steps.size(); ++s)
      rows.push_back({i, &instance.steps[s], instance.ended(s)});
  }
  TableBuilder table(rows);
  table.words("instance", instance_names(run), [](const Row& r) { return r.instance; });
  table.whole("micro_batch", [](const Row& r) { return r.step->micro_batch; });
  table.real("begin_s", [](const Row& r) { return in_s(r.step->begin); });
  table.real("end_s", [](const Row& r) { return in_s(r.end); });
  table.real("host_ms", [](const Row& r) { return in_ms(r.step->host); });
  table.real("swap_ms", [](const Row& r) { return in_ms(r.step->swapping); });
  table.real("gpu_ms", [](const Row& r) { return in_ms(r.step->gpu); });
  table.real("pipeline_wait_ms", [](const Row& r) { return in_ms(r.step->waiting); });
  table.whole("decode_sequences", [](const Row& r) { return r.step->decode_sequences; });
  table.whole("decode_context", [](const Row& r) { return r.step->decode_context; });
  table.whole("prompts", [](const Row& r) { return r.step->pieces; });
  table.whole("prefill_tokens", [](const Row& r) { return r.step->prefill_tokens; });
  table.whole("running", [](const Row& r) { return r.step->running; });
  table.whole("waiting", [](const Row& r) { return r.step->waiting_requests; });
  std::vector<std::string> causes;
  for (const Blocked blocked :
       {Blocked::nothing, Blocked::sequence_slot, Blocked::kv_blocks, Blocked::token_budget})
    causes.emplace_back(report::blocked_name(blocked));
  table.words("blocked", std::move(causes), [](const Row& r) {
    switch (r.step->blocked) {
      case Blocked::nothing:
        return 0;
      case Blocked::sequence_slot:
        return 1;
      case Blocked::kv_blocks:
        return 2;
      case Blocked::token_budget:
        return 3;
    }
    return 0;
  });
  table.whole("kv_used_blocks", [](const Row& r) { return r.step->kv_used_blocks; });
  table.real("flops", [](const Row& r) { return r.step->flops.value(); });
  table.real("hbm_bytes", [](const Row& r) { return r.step->hbm_bytes.value(); });
  return table.take();
}

std::vector<Column> sweep_columns(const sweep::Merged& merged) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < merged.results.size(); ++i)
    if (merged.results[i]) rows.push_back(i);
  TableBuilder table(rows);
  const auto result = [&](std::size_t row) -> const sweep::PointResult& {
    return *merged.results[row];
  };
  table.whole("point", [](std::size_t row) { return row; });
  const std::vector<sweep::AxisColumn> axes = sweep::axis_columns(merged.sweep);
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    std::vector<std::string> values;
    for (const std::size_t row : rows) values.push_back(merged.sweep.points[row].values[axis]);
    table.add(axis_values(axes[axis], values));
  }
  table.whole("seed", [&](std::size_t row) { return result(row).seed; });
  table.whole("asserts_failed",
              [&](std::size_t row) { return sweep::asserts_failed(result(row)); });
  table.real("simulated_s", [&](std::size_t row) { return result(row).simulated_s; });
  for (const sweep::FigureTable& figures : sweep::figure_tables(merged))
    for (const sweep::FigureColumn& figure : figures.columns) {
      const std::string name = fmt::format("{}.{}", figures.scope, figure.key);
      std::vector<double> values = values_of(merged, figures.scope, figure.key);
      if (figure.whole && whole_everywhere(values))
        table.add({name, as_integers(values)});
      else
        table.add({name, std::move(values)});
    }
  const auto texts = [&](const char* name, std::string sweep::PointResult::* member) {
    Words column;
    for (const std::size_t row : rows) {
      column.codes.push_back(static_cast<std::int32_t>(column.words.size()));
      column.words.push_back(result(row).*member);
    }
    table.add({name, std::move(column)});
  };
  texts("config_sha256", &sweep::PointResult::config_sha256);
  texts("point_sha256", &sweep::PointResult::sha256);
  return table.take();
}

}  // namespace tokenline::python
