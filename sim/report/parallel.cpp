#include "sim/report/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace tokenline::report {

void for_each_index(std::size_t count, std::size_t threads,
                    const std::function<void(std::size_t)>& job) {
  std::vector<std::exception_ptr> thrown(count);
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        job(i);
      } catch (...) {
        thrown[i] = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> pool;
    for (std::size_t i = 1; i < std::min(threads, count); ++i) pool.emplace_back(work);
    work();
  }
  for (const auto& exception : thrown)
    if (exception) std::rethrow_exception(exception);
}

std::size_t hardware_threads() { return std::max(1U, std::thread::hardware_concurrency()); }

}  // namespace tokenline::report
