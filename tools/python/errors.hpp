#pragma once

namespace tokenline::python {

/// Makes exceptions of the library those of tokenline/_errors.py: ConfigError with its diagnostics,
/// OutputError, InternalError.
void register_errors();

}  // namespace tokenline::python
