#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tokenline::validate {

/// One measured figure and what the simulator says of it, or why it says nothing.
struct Row {
  std::string group;   ///< What is reported together: "h100_sxm vllm Qwen/Qwen3-32B bfloat16".
  std::string metric;  ///< "ttft_mean".
  std::string unit;    ///< "ms".
  std::string label;   ///< Which measurement; names its line in the file.
  double measured = 0.0;
  std::optional<double> predicted;  ///< Absent exactly where `refused` says why.
  std::string refused;              ///< A reason that many rows may share.
};

/// What a command found: its rows in the order of the input, and figures that are no percentages.
struct Comparison {
  std::string title;
  std::vector<Row> rows;
  std::vector<std::pair<std::string, double>> figures;  ///< By serialized name.
};

}  // namespace tokenline::validate
