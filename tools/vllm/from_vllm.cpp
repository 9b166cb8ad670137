#include "tools/vllm/from_vllm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sim/config/node.hpp"
#include "sim/config/numbers.hpp"
#include "sim/engine/scenario.hpp"

namespace tokenline::vllm {
namespace {

/// The mistakes of a scenario in the words of who gave the flags.
[[noreturn]] void throw_translated(const config::ConfigError& error, const Keys& keys,
                                   const std::string& file) {
  std::vector<config::Diagnostic> mistakes;
  for (config::Diagnostic d : error.diagnostics()) {
    const std::string from = keys.origin(d.path);
    if (d.where.file == file)
      d.where = {from.starts_with("--") || from.starts_with('-') ? from : "vllm serve", 1, 1};
    mistakes.push_back(std::move(d));
  }
  throw config::ConfigError(std::move(mistakes));
}

}  // namespace

std::optional<std::int64_t> human_int(const std::string& text) {
  if (const auto plain = config::parse_integer(text); plain.ok()) return plain.value;
  if (text.size() < 2) return std::nullopt;
  constexpr std::string_view decimal = "kmgt";
  constexpr std::string_view binary = "KMGT";
  const std::string number = text.substr(0, text.size() - 1);
  const auto small = decimal.find(text.back());
  const auto large = binary.find(text.back());
  if (small != std::string_view::npos) {
    const auto real = config::parse_real(number);
    double factor = 1e3;
    for (std::size_t i = 0; i < small; ++i) factor *= 1e3;
    if (real.ok() && real.value >= 0.0 && real.value * factor < 1e15)
      return static_cast<std::int64_t>(real.value * factor);
  } else if (large != std::string_view::npos) {
    const auto whole = config::parse_integer(number);
    if (whole.ok() && whole.value >= 0 && whole.value < 4096)
      return whole.value << (10 * (large + 1));
  }
  return std::nullopt;
}

std::string named_from(const FromVllmOptions& options, const std::string& file) {
  const std::filesystem::path path(file);
  if (path.is_absolute()) return file;
  const auto folder = std::filesystem::absolute(options.file).parent_path();
  return std::filesystem::absolute(path).lexically_relative(folder).generic_string();
}

void note_flags(const CommandLine& line, const std::string& what, Keys& keys) {
  std::string harmless;
  for (const Given& given : line.flags) {
    const Flag& flag = *given.flag;
    if (flag.effect == Effect::modelled) continue;
    const bool off = flag.takes == Takes::nothing && !given.on;
    const bool usual = off || (!flag.harmless.empty() && given.values.size() == 1 &&
                               given.values.front() == flag.harmless);
    if (flag.effect == Effect::unmodelled && !usual) {
      keys.unmodelled(given.text, "");
      continue;
    }
    const std::string name = "--" + std::string(flag.name);
    if (harmless.find(name + ",") == std::string::npos) harmless += name + ", ";
  }
  if (!harmless.empty())
    keys.note(fmt::format("without effect here, of {}: {}", what,
                          harmless.substr(0, harmless.size() - 2)));
}

FromVllm from_vllm(std::span<const std::string> serve, std::span<const std::string> bench,
                   const FromVllmOptions& options) {
  config::Mistakes mistakes;
  CommandLine server;
  CommandLine client;
  mistakes.gather([&] { server = parse_command(serve, serve_flags(), "vllm serve"); });
  if (!bench.empty())
    mistakes.gather([&] { client = parse_command(bench, bench_flags(), "vllm bench serve"); });
  mistakes.throw_if_any();
  Keys keys;
  keys.set("cluster.gpu", config::emit_scalar(options.gpu, false), "--gpu");
  if (bench.empty()) keys.note("traffic: the defaults of `vllm bench serve`");
  serve_keys(server, options, keys);
  bench_keys(client, options, keys);
  note_flags(server, "vllm serve", keys);
  if (!bench.empty()) note_flags(client, "vllm bench serve", keys);
  for (const std::string& assignment : options.overrides) {
    const auto equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0)
      keys.mistake(mistake_in("--set " + assignment, "", "is no PATH=VALUE"));
    else
      keys.set(assignment.substr(0, equals), assignment.substr(equals + 1), "--set");
  }
  keys.throw_if_mistakes();
  FromVllm result{.yaml = keys.yaml("Made by `tokenline from-vllm`."),
                  .unmodelled = keys.unmodelled()};
  try {
    static_cast<void>(parse_scenario(options.file, result.yaml));
  } catch (const config::ConfigError& error) {
    throw_translated(error, keys, options.file);
  }
  return result;
}

}  // namespace tokenline::vllm
