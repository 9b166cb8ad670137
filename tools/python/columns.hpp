#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "sim/engine/run.hpp"
#include "sim/report/run_log.hpp"
#include "tools/sweep/merge.hpp"

namespace tokenline::python {

/// A column of few different texts: a row's is words[codes[row]].
struct Words {
  std::vector<std::int32_t> codes;
  std::vector<std::string> words;
};

/// A column of a table; NaN where a row has no number.
struct Column {
  std::string name;
  std::variant<std::vector<std::int64_t>, std::vector<double>, Words> values;
};

/// The columns of requests.csv: reading that file gives the same numbers.
[[nodiscard]] std::vector<Column> request_columns(const RunResult& run);

/// The columns of steps.csv, likewise.
[[nodiscard]] std::vector<Column> step_columns(const report::RunLog& log, const RunResult& run);

/// The columns of `tokenline merge` as CSV, likewise.
[[nodiscard]] std::vector<Column> sweep_columns(const sweep::Merged& merged);

}  // namespace tokenline::python
