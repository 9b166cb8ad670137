#pragma once

#include <nanobind/nanobind.h>

namespace tokenline::python {

/// Scenarios, runs and studies.
void bind_run(nanobind::module_& m);

/// Capacity plans.
void bind_plan(nanobind::module_& m);

/// Sweeps, their points and folders of results.
void bind_sweep(nanobind::module_& m);

}  // namespace tokenline::python
