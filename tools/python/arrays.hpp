#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "tools/python/columns.hpp"

namespace tokenline::python {

/// A dict of numpy arrays, one per column. Numbers are not copied: the array owns the column's
/// memory. Texts are objects, the same one for rows with the same word.
[[nodiscard]] nanobind::dict arrays(std::vector<Column> columns);

}  // namespace tokenline::python
