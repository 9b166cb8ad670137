#pragma once

#include <cstdint>
#include <string>

namespace tokenline::test {

/// The YAML of a small scenario drawn from `seed`: any scheduler, router and KV layout, one to
/// three replicas, a handful of requests of one to three classes, and limits tight enough that
/// queueing, preemptions, partial prefills, held rows and out-of-memory crashes are common. It
/// always passes the scenario reader's checks, and simulates in milliseconds.
[[nodiscard]] std::string random_scenario(std::uint64_t seed);
/// The same with a pool that is hardly larger than a request, and host memory or drives behind it:
/// preemptions swap, or requests that begin alike load what the pool has overwritten.
[[nodiscard]] std::string random_crowded_scenario(std::uint64_t seed);

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
#else
inline constexpr bool sanitized = false;
#endif

/// How many scenarios a test draws: `count`, and a quarter of them under sanitizers, where each
/// takes ten times as long and looks for other mistakes.
[[nodiscard]] constexpr int sample(int count) { return sanitized ? count / 4 : count; }

}  // namespace tokenline::test
