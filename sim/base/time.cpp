#include "sim/base/time.hpp"

#include "sim/base/check.hpp"

namespace tokenline {

Duration to_duration(Seconds seconds) {
  const double nanoseconds = seconds.value() * 1e9;
  // Written so that NaN fails. 2^63 is the first double beyond int64.
  TOKENLINE_CHECK(nanoseconds >= 0.0 && nanoseconds < 0x1p63, "{} s is not a simulated duration",
                  seconds.value());
  const auto whole = static_cast<std::int64_t>(nanoseconds);
  // The difference is exact; adding 0.5 before truncating would round twice.
  return Duration(nanoseconds - static_cast<double>(whole) >= 0.5 ? whole + 1 : whole);
}

}  // namespace tokenline
