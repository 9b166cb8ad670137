#pragma once

namespace tokenline::stats {

/// Signed 128-bit integer: a GCC and Clang extension on every 64-bit target we build for.
__extension__ using Int128 = __int128;

}  // namespace tokenline::stats
