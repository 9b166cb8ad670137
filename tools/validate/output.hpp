#pragma once

#include <span>
#include <string>

#include "tools/validate/errors.hpp"

namespace tokenline::validate {

/// What a command prints: errors by group and over all, what was refused and why, further figures,
/// a line "failed: …" for each of `violations`, and as its last lines overall_lines(). Groups
/// without a predicted row are left out.
[[nodiscard]] std::string text(const Comparison& comparison,
                               std::span<const std::string> violations = {});

/// One line per metric, for scripts: `overall metric=… median_ape_pct=… mean_ape_pct=… bias_pct=…
/// p90_ape_pct=… rows=… refused=…`, without `metric=` where there is one; `-` where nothing was
/// predicted. `check` comes before the metric: `metric=silicon.ttft_mean`.
[[nodiscard]] std::string overall_lines(const Comparison& comparison,
                                        const std::string& check = {});

/// Every row: `group,metric,unit,label,measured,predicted,error_pct,refused`; fields with a comma
/// or a quote are quoted as in RFC 4180.
[[nodiscard]] std::string csv(const Comparison& comparison);

/// One object: `title`, `overall` (by metric), `groups`, `refusals`, `figures`, `rows`. Empty is
/// null.
[[nodiscard]] std::string json(const Comparison& comparison);

}  // namespace tokenline::validate
