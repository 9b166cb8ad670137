#include "sim/report/why/why_words.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "sim/report/figures.hpp"

namespace tokenline::report {

std::string_view phrase(Part part) {
  static constexpr std::array<std::string_view, part_count> phrases{
      "waiting for the step under way",
      "waiting for a sequence slot",
      "waiting for KV blocks",
      "waiting for token budget",
      "prefill of its own",
      "prefill stretched by what is batched with it",
      "preempted and waiting for blocks again",
      "prefill repeated after preemptions",
      "host gaps",
      "waiting in the pipeline",
      "KV waiting for blocks in a decode replica",
      "KV on the wire",
      "attempts that failed and waiting for restarts",
      "decode at its floor",
      "decode stretched by the other decodes of the batch",
      "decode stalled by prefills of others"};
  return phrases.at(static_cast<std::size_t>(part));
}

std::string subject(const Question& question, const RunResult& run) {
  std::string text;
  for (const char c : name(question.latency)) text += static_cast<char>(c - 'a' + 'A');
  if (question.latency == Latency::e2el) text = "E2EL";
  if (!question.class_index) return text;
  return fmt::format("{} of class {}", text, run.classes[*question.class_index].name);
}

std::string described(std::uint32_t request, const RunResult& run) {
  const RequestRecord& record = run.log.records[request];
  return fmt::format("request {} of class {}, {} tokens", request,
                     run.classes[record.class_index].name, record.prompt_tokens);
}

std::string blamed(const ExcessShare& share, const RunResult& run) {
  switch (share.culprit.cause) {
    case Cause::own:
      return "its own computation";
    case Cause::prompts: {
      if (share.request)
        return fmt::format("behind the prompt of {}", described(*share.request, run));
      const std::uint64_t above =
          share.culprit.bits == 0 ? 0 : std::uint64_t{1} << (share.culprit.bits - 1);
      return fmt::format("behind {} prompts of class {} longer than {} tokens", share.prompts,
                         run.classes[share.culprit.class_index].name, above);
    }
    case Cause::decodes:
      return "behind decodes";
    case Cause::host:
      return "host work";
    case Cause::pipeline:
      return "the host or a stage busy with another step";
    case Cause::idle:
      return "no step under way";
    case Cause::preemption:
      return "its own preemptions";
    case Cause::transfer:
      return "copies of KV";
    case Cause::crash:
      return "crashes";
    case Cause::client:
      return "its client, who gave up before";
    case Cause::door:
      return "refused at the door before";
  }
  return {};
}

std::string time_text(double nanoseconds) {
  const bool seconds = nanoseconds >= 1e9 || nanoseconds <= -1e9;
  return figure_text(nanoseconds / (seconds ? 1e9 : 1e6)) + (seconds ? " s" : " ms");
}

std::string share_text(double amount, double whole) {
  if (whole == 0.0) return "-";
  // Without a minus before a zero.
  return fmt::format("{:.0f} %", std::round(100.0 * amount / whole) + 0.0);
}

}  // namespace tokenline::report
