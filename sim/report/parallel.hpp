#pragma once

#include <cstddef>
#include <functional>

namespace tokenline::report {

/// Calls `job(0)` … `job(count − 1)`, each once, on at most `threads` threads. Jobs must not touch
/// each other's data. When jobs throw, the others still run and the exception of the lowest index
/// is thrown again.
void for_each_index(std::size_t count, std::size_t threads,
                    const std::function<void(std::size_t)>& job);

/// The number of hardware threads, at least 1.
[[nodiscard]] std::size_t hardware_threads();

}  // namespace tokenline::report
