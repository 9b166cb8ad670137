#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/validate/row.hpp"

namespace tokenline::validate {

/// How far predictions lie from measurements, as fractions of the measured value. The figures are
/// empty without a predicted row.
struct Errors {
  std::int64_t rows = 0;     ///< Predicted.
  std::int64_t refused = 0;  ///< Not predicted: in none of the figures.
  std::optional<double> median_ape;
  std::optional<double> mean_ape;
  std::optional<double> bias;  ///< Mean of (predicted − measured) / measured.
  std::optional<double> p90_ape;
};

/// (predicted − measured) / measured; empty for a refused row.
[[nodiscard]] std::optional<double> relative_error(const Row& row);

/// The errors of one group and metric; an empty group or metric stands for all. Percentiles are
/// numpy's.
[[nodiscard]] Errors errors_of(std::span<const Row> rows, const std::string& metric,
                               const std::string& group = {});

/// The metrics of the rows, in the order of their first row.
[[nodiscard]] std::vector<std::string> metrics_of(std::span<const Row> rows);
/// The groups of the rows, in the order of their first row.
[[nodiscard]] std::vector<std::string> groups_of(std::span<const Row> rows);

/// A reason and how many measurements it kept out; one with several metrics counts once.
struct Refusal {
  std::string reason;
  std::int64_t count = 0;
};

/// The most frequent first; equal ones by their text.
[[nodiscard]] std::vector<Refusal> refusals_of(std::span<const Row> rows);

/// The metrics whose mean error is unknown or above `ceiling_pct` percent, each with what it is
/// against what is allowed: "tpot_mean: mean error 12.5 % exceeds 10 %".
[[nodiscard]] std::vector<std::string> violations(const Comparison& comparison, double ceiling_pct);

}  // namespace tokenline::validate
