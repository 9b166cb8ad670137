#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tools/cli/arguments.hpp"
#include "tools/cli/commands.hpp"

namespace tokenline::cli {

/// An experiment with the numerics of calib/reference: `lab flash-attention`. A line of labs().
struct Lab {
  std::string_view name;
  std::string_view summary;
  Usage (*usage)();
  Outcome (*execute)(const Arguments& arguments);
};

[[nodiscard]] std::span<const Lab> labs();

Usage attention_lab_usage();
Outcome attention_lab(const Arguments& arguments);
Usage paged_kv_lab_usage();
Outcome paged_kv_lab(const Arguments& arguments);
Usage batching_lab_usage();
Outcome batching_lab(const Arguments& arguments);
Usage speculation_lab_usage();
Outcome speculation_lab(const Arguments& arguments);

/// The option --seed, and what was given for it; 42 by default.
[[nodiscard]] Option seed_option();
[[nodiscard]] std::uint64_t seed_of(const Arguments& arguments);

}  // namespace tokenline::cli
