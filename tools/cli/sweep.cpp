#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>

#include "sim/config/numbers.hpp"
#include "tools/cli/arguments.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/sweep_progress.hpp"
#include "tools/cli/threads.hpp"
#include "tools/sweep/runner.hpp"

namespace tokenline::cli {
namespace {

Usage usage_of_sweep() {
  return {
      .synopsis = "sweep SWEEP --out DIR [options]",
      .about =
          "Simulates a scenario at every point of a sweep: a grid, a list or a Latin hypercube of "
          "any\nof its keys. Every result is kept as soon as it is there: whatever was killed goes "
          "on where\nit was, and processes may share a folder.",
      .positional = "SWEEP",
      .options = {{"out", "DIR", "One JSON file per point, for `tokenline merge`.", false},
                  {"shard", "I/N", "Only the I-th of N parts, from 0, for arrays of jobs.", false},
                  {"threads", "N", "Points simulated at a time; all processors by default.", false},
                  {"progress", "",
                   "Say how far it is on standard error, though that is no terminal.", false},
                  {"list", "", "Check the sweep and print its points; simulate nothing.", false}},
      .epilogue =
          "Conditions of `assert:` are a column of the results, not the exit code. SIGINT and "
          "SIGTERM end\nit after the points under way, with 130 and 143; a second one at once. "
          "`tokenline describe sweep`\nlists the keys of a sweep.\n" +
          std::string(exit_codes())};
}

/// A part of a sweep.
struct Shard {
  std::size_t index = 0;
  std::size_t count = 1;
};

Shard parse_shard(const std::optional<std::string>& text) {
  if (!text) return {};
  const auto slash = text->find('/');
  const auto index = config::parse_integer(text->substr(0, slash));
  const auto count =
      config::parse_integer(slash == std::string::npos ? "" : text->substr(slash + 1));
  if (!index.ok() || !count.ok() || count.value < 1 || index.value < 0 ||
      index.value >= count.value)
    throw UsageError(
        fmt::format("--shard {}: expected I/N with I from 0 to N - 1, as in 0/16", *text));
  return {static_cast<std::size_t>(index.value), static_cast<std::size_t>(count.value)};
}

/// The signal that asks the sweep to end; 0 before.
std::atomic<int> stop_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free);

/// The second one ends the process as it does by default.
void stop_on(int signal) {
  stop_signal = signal;
  std::signal(signal, SIG_DFL);
}

std::string list_points(const sweep::Sweep& sweep, const std::vector<std::size_t>& points) {
  std::string text;
  for (const std::size_t i : points)
    text +=
        fmt::format("{}  {:.16}  {}\n", i, sweep.points[i].sha256, label(sweep, sweep.points[i]));
  return text;
}

void complain_of(const sweep::Sweep& sweep, const std::vector<sweep::FailedPoint>& failures) {
  for (const sweep::FailedPoint& failed : failures)
    std::fprintf(stderr, "tokenline: point %zu (%s): %s%s\n", failed.point,
                 label(sweep, sweep.points[failed.point]).c_str(),
                 failed.our_bug ? "internal error: " : "", failed.what.c_str());
}

int exit_code_of(const std::vector<sweep::FailedPoint>& failures) {
  int code = success;
  for (const sweep::FailedPoint& failed : failures)
    code = std::max<int>(code, failed.our_bug ? our_bug : bad_input);
  return code;
}

std::string sweep_text(const sweep::Sweep& sweep, const Shard& shard, const std::string& out,
                       const sweep::RunProgress& counts) {
  const std::string part =
      shard.count == 1 ? "" : fmt::format(" of shard {}/{}", shard.index, shard.count);
  std::string text = fmt::format("{}: {} points{}: {} were there, {} simulated", sweep.name,
                                 counts.points, part, counts.found, counts.simulated);
  if (counts.failed > 0) text += fmt::format(", {} failed", counts.failed);
  const std::size_t left = counts.points - counts.found - counts.simulated - counts.failed;
  if (left > 0) text += fmt::format(", {} left", left);
  return text + fmt::format("\n`tokenline merge {} -o results.csv` makes a table of them\n", out);
}

}  // namespace

Outcome sweep_command(const std::vector<std::string>& words) {
  const auto arguments = parse(usage_of_sweep(), words);
  if (!arguments) return {success, help_text(usage_of_sweep())};
  const Shard shard = parse_shard(arguments->value("shard"));
  sweep::RunOptions options{.threads = threads(*arguments)};
  const bool list = arguments->has("list");
  if (list && arguments->has("out")) throw UsageError("--list writes nothing: leave out --out");
  const std::string out = list ? "" : arguments->required("out");
  const sweep::Sweep sweep = sweep::load_sweep(arguments->positional());
  const std::vector<std::size_t> points = sweep::shard_of(sweep, shard.index, shard.count);
  if (list) return {success, list_points(sweep, points)};

  const auto folder = sweep::ResultFolder::claim(out, sweep);
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  SweepProgress progress(terminal);
  if (terminal || arguments->has("progress"))
    options.progress = [&](const sweep::RunProgress& now) { progress.show(now); };
  options.stopped = [] { return stop_signal != 0; };
  std::signal(SIGINT, stop_on);
  std::signal(SIGTERM, stop_on);
  const sweep::RunReport report = sweep::run_points(sweep, points, folder, options);
  progress.finish();
  complain_of(sweep, report.failures);
  Outcome outcome{exit_code_of(report.failures), sweep_text(sweep, shard, out, report.counts)};
  if (const int signal = stop_signal; signal != 0) outcome.exit_code = 128 + signal;
  return outcome;
}

}  // namespace tokenline::cli
