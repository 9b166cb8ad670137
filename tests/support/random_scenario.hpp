#pragma once

#include <cstdint>
#include <string>

namespace tokenline::test {

/// The YAML of a small scenario drawn from `seed`: any scheduler, router and KV layout, one to
/// three replicas, a handful of requests of one to three classes, and limits tight enough that
/// queueing, preemptions, partial prefills, held rows and out-of-memory crashes are common. It
/// always passes the scenario reader's checks, and simulates in milliseconds.
[[nodiscard]] std::string random_scenario(std::uint64_t seed);

}  // namespace tokenline::test
