#include "tools/cli/lab.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <vector>

namespace tokenline::cli {
namespace {

std::string lab_overview() {
  std::string out =
      "usage: tokenline lab NAME [options]\n\n"
      "Shows a mechanism that the models rest on at work, computed in double precision by the\n"
      "plain reference code, with what it costs counted.\n\n";
  for (const Lab& lab : labs()) out += fmt::format("  {:<16} {}\n", lab.name, lab.summary);
  return out + "\n`tokenline lab NAME --help` lists its options.\n" + std::string(exit_codes());
}

}  // namespace

std::span<const Lab> labs() {
  static constexpr std::array<Lab, 4> all{
      {{"flash-attention", "standard attention, FlashAttention-1 and -2, FlashDecoding",
        attention_lab_usage, attention_lab},
       {"paged-kv", "block tables, and what memory each way of handing it out wastes",
        paged_kv_lab_usage, paged_kv_lab},
       {"batching", "static and continuous batches", batching_lab_usage, batching_lab},
       {"speculation", "drafts accepted and rejected so that the target's distribution remains",
        speculation_lab_usage, speculation_lab}}};
  return all;
}

Option seed_option() { return {"seed", "N", "Seed of every random draw; 42 by default.", false}; }

std::uint64_t seed_of(const Arguments& arguments) {
  return static_cast<std::uint64_t>(
      arguments.integer("seed", 42, 0, std::numeric_limits<std::int64_t>::max()));
}

Outcome lab_command(const std::vector<std::string>& words) {
  if (words.empty()) throw UsageError("which laboratory is missing\n" + lab_overview());
  const std::string& name = words.front();
  if (name == "--help" || name == "-h") return {success, lab_overview()};
  std::vector<std::string> known{"--help"};
  for (const Lab& lab : labs()) {
    known.emplace_back(lab.name);
    if (lab.name != name) continue;
    const auto arguments = parse(lab.usage(), {words.begin() + 1, words.end()});
    return arguments ? lab.execute(*arguments) : Outcome{success, help_text(lab.usage())};
  }
  throw UsageError(unknown("laboratory", name, known));
}

}  // namespace tokenline::cli
