#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/config/diagnostic.hpp"
#include "sim/report/run_directory.hpp"
#include "sim/report/version.hpp"
#include "tools/cli/arguments.hpp"
#include "tools/cli/commands.hpp"

namespace tokenline::cli {

std::span<const Command> commands() {
  static constexpr auto all = std::to_array<Command>(
      {{"run", "simulate a scenario and report on it", run_command},
       {"why", "explain the tail of a latency: what it is made of, and who caused it", why_command},
       {"compare", "simulate the variants of a study, rank them, check its claims",
        compare_command},
       {"sweep", "simulate a scenario at many points, to be interrupted and shared at will",
        sweep_command},
       {"merge", "make one table, CSV or SQLite, of the results of a sweep", merge_command},
       {"shrink", "find the few requests with which a condition still holds", shrink_command},
       {"incident", "make a scenario of a server's log and hold its replay against it",
        incident_command},
       {"from-vllm", "make a scenario of the command lines of a vLLM server and its benchmark",
        from_vllm_command},
       {"to-vllm", "print the command lines of vLLM that a scenario stands for", to_vllm_command},
       {"advise", "hold ten production rules against a scenario, with what following them gives",
        advise_command},
       {"plan", "find the cheapest fleet that meets the SLOs of a plan", plan_command},
       {"list", "list the models, GPUs, networks, policies or engines that are built in",
        list_command},
       {"describe", "explain one of them, or the keys of a scenario, study, plan, sweep",
        describe_command},
       {"roofline", "price a step by operator: FLOPs, bytes, bound, time, and the knee over batch",
        roofline_command},
       {"lab", "show a mechanism at work: attention, paged KV, batching, speculation", lab_command},
       {"calibrate", "fit a GPU's kernel models to measured times", calibrate_command},
       {"validate", "compare predictions with measured servers and kernels", validate_command}});
  return all;
}

std::string_view exit_codes() {
  return "Exit codes: 0 ok; 1 an assert, a baseline, --max-mean-ape or a ceiling does not hold;\n"
         "2 bad input, usage or output; 70 a broken invariant or a failed audit: our bug.\n";
}

namespace {

std::string overview() {
  std::string out =
      "usage: tokenline COMMAND [options]\n"
      "       tokenline --version | --help\n\n"
      "Simulates LLM inference serving from YAML scenarios, without a GPU.\n\nCommands:\n";
  for (const Command& command : commands())
    out += fmt::format("  {:<10} {}\n", command.name, command.summary);
  return out +
         "\n`tokenline COMMAND --help` explains a command. Results go to standard output,\n"
         "everything else to standard error.\n" +
         std::string(exit_codes());
}

Outcome dispatch(std::vector<std::string> words) {
  if (words.empty()) throw UsageError("no command is given\n" + overview());
  const std::string name = words.front();
  words.erase(words.begin());
  if (name == "--help" || name == "-h") return {success, overview()};
  if (name == "--version") return {success, fmt::format("tokenline {}\n", report::version())};
  for (const Command& command : commands())
    if (command.name == name) return command.execute(words);
  std::vector<std::string> known{"--help", "--version"};
  for (const Command& command : commands()) known.emplace_back(command.name);
  throw UsageError(unknown(name.starts_with('-') ? "option" : "command", name, known));
}

void complain(const char* text) { std::fprintf(stderr, "%s\n", text); }

/// Writes the notes and standard output. A reader that has gone away (`| head`) has what it wanted:
/// the verdict stays that of the command. Any other failure, as of a full disk, is an error.
int print(const Outcome& outcome) {
  std::fputs(outcome.notes.c_str(), stderr);
  const std::string& text = outcome.output;
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0)
    return outcome.exit_code;
  if (errno == EPIPE) return outcome.exit_code;
  std::fprintf(stderr, "tokenline: standard output: %s\n", std::strerror(errno));
  return bad_input;
}

int guarded_main(const std::vector<std::string>& words) {
  try {
    return print(dispatch(words));
  } catch (const config::ConfigError& e) {
    complain(e.what());
    return bad_input;
  } catch (const UsageError& e) {
    std::fprintf(stderr, "tokenline: %s\n", e.what());
    return bad_input;
  } catch (const report::OutputError& e) {
    std::fprintf(stderr, "tokenline: %s\n", e.what());
    return bad_input;
  } catch (const std::filesystem::filesystem_error& e) {
    std::fprintf(stderr, "tokenline: %s\n", e.what());
    return bad_input;
  } catch (const std::bad_alloc&) {
    complain("tokenline: out of memory: the input asks for more than this machine can hold");
    return bad_input;
  } catch (const InternalError& e) {
    std::fprintf(stderr, "tokenline: internal error: %s\n", e.what());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tokenline: %s\n", e.what());
  }
  return our_bug;
}

}  // namespace
}  // namespace tokenline::cli

int main(int argc, char** argv) {
  // A closed pipe fails the write that meets it.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return tokenline::cli::guarded_main(std::vector<std::string>(argv + 1, argv + argc));
  } catch (...) {
    return tokenline::cli::our_bug;
  }
}
