#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <future>
#include <stop_token>

namespace tokenline::python {

/// Runs `work(stop)` on a thread of its own, without the GIL, and gives back its result; what it
/// throws is thrown here. Signals are looked at 50 times a second: if a handler raises, as that of
/// Ctrl-C does, a stop is requested and the handler's exception is thrown once the work has ended.
/// Why a thread: signals are handled on the caller's thread, between steps of any length.
template <class Work>
auto interruptible(Work work) {
  std::stop_source stop;
  auto done = std::async(std::launch::async, [&] { return work(stop.get_token()); });
  const auto ready = [&] {
    const nanobind::gil_scoped_release released;
    return done.wait_for(std::chrono::milliseconds(20)) == std::future_status::ready;
  };
  while (!ready()) {
    if (PyErr_CheckSignals() == 0) continue;
    stop.request_stop();
    {
      const nanobind::gil_scoped_release released;
      done.wait();
    }
    throw nanobind::python_error();
  }
  return done.get();
}

}  // namespace tokenline::python
