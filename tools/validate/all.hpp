#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tools/validate/row.hpp"

namespace tokenline::validate {

/// One comparison of `validate all`: "operators.<gpu>", "silicon", "requests.<run>", "throughput",
/// "attention".
struct Check {
  std::string name;
  Comparison comparison;
};

/// Compares the kernel tables in `folder`/<gpu> of every GPU of the catalog that has some, and
/// everything below `folder`/e2e: silicon_colocated.csv, vllm_runs/*,
/// distserve_opt13b_a100_{requests,disaggregated}.csv, trtllm_docs_max_throughput.csv,
/// flash_attention_tflops.csv. Throws ConfigError for a file that is missing or wrong.
[[nodiscard]] std::vector<Check> compare_all(const std::string& folder, std::size_t threads);

/// What a metric of a check may not exceed. Ceilings may only go down.
struct Ceiling {
  std::string check;
  std::string metric;
  std::optional<double> mean_ape_pct;  ///< Empty: nothing is predicted yet.
  std::int64_t refused = 0;
};

/// Reads `check: {metric: {mean_ape_pct: 12.5, refused: 3}}`; `file` is for messages. Throws
/// ConfigError.
[[nodiscard]] std::vector<Ceiling> parse_ceilings(const std::string& file, const std::string& text);
/// Those of ceilings.yaml beside this file, embedded.
[[nodiscard]] std::vector<Ceiling> shipped_ceilings();

/// The checks against their ceilings.
struct Verdict {
  bool passed = true;
  std::string text;  ///< A table, a line per violation, and the `overall` lines of every check.
};

/// Fails where a mean error or a number of refusals exceeds its ceiling, and where a metric has no
/// ceiling or a ceiling no metric.
[[nodiscard]] Verdict judge(const std::vector<Check>& checks, const std::vector<Ceiling>& ceilings);

}  // namespace tokenline::validate
