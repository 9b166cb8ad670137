#include <nlohmann/json.hpp>

#include "sim/report/why/why.hpp"

namespace tokenline::report {
namespace {

using Json = nlohmann::ordered_json;

std::int64_t ns(TimePoint when) { return when.time_since_epoch().count(); }

Json sample(const std::optional<Sample>& sample) {
  if (!sample) return {};
  return {{"ns", sample->value.count()}, {"tokens", sample->tokens}};
}

Json side(const Side& side, const RunResult& run) {
  Json object{{"samples", side.samples}, {"tokens", side.tokens}, {"ns", side.time.count()}};
  object["parts_ns"] = Json::object();
  for (std::size_t i = 0; i < part_count; ++i) {
    const auto part = static_cast<Part>(i);
    object["parts_ns"][std::string(name(part))] = side.blame.of(part).count();
  }
  object["instances_ns"] = Json::object();
  for (const auto& [instance, time] : side.blame.by_instance)
    object["instances_ns"][run.instances[instance].name] = time.count();
  object["crashes"] = Json::array();
  for (const auto& [crash, time] : side.blame.by_crash)
    object["crashes"].push_back({{"instance", run.instances[crash.first].name},
                                 {"at_ns", ns(crash.second)},
                                 {"ns", time.count()}});
  object["faults"] = Json::array();
  for (const auto& [index, time] : side.blame.by_fault)
    object["faults"].push_back(
        {{"fault", index}, {"kind", name(run.faults[index].fault.kind)}, {"ns", time.count()}});
  object["running_meanwhile"] = Json::object();
  for (const auto& [key, sequences] : side.blame.holders)
    object["running_meanwhile"][std::string(name(key.first))][run.classes[key.second].name] =
        sequences / static_cast<double>(side.blame.of(key.first).count());
  return object;
}

Json share(const ExcessShare& share, const RunResult& run) {
  Json object = Json::object();
  if (share.part) object["part"] = name(*share.part);
  object["cause"] = name(share.culprit.cause);
  if (share.culprit.cause == Cause::prompts) {
    const std::uint64_t up_to = std::uint64_t{1} << share.culprit.bits;
    object["class"] = run.classes[share.culprit.class_index].name;
    object["tokens_above"] = share.culprit.bits == 0 ? 0 : up_to / 2;
    object["tokens_up_to"] = up_to;
    object["prompts"] = share.prompts;
    object["request"] = share.request ? Json(*share.request) : Json();
  }
  object["tail_ns"] = share.tail.count();
  object["typical_ns"] = share.typical.count();
  object["excess_ns"] = share.excess.count();
  return object;
}

Json gap(const LongGap& gap, const RunResult& run) {
  Json object{{"ns", gap.sample.value.count()},
              {"from_ns", ns(gap.sample.from)},
              {"to_ns", ns(gap.sample.to)},
              {"sequences", gap.sample.weight}};
  object["request"] = gap.sample.request ? Json(*gap.sample.request) : Json();
  object["instances"] = Json::array();
  for (const auto& [instance, time] : gap.blame.by_instance)
    object["instances"].push_back(run.instances[instance].name);
  object["parts_ns"] = Json::object();
  for (std::size_t i = 0; i < part_count; ++i)
    if (const Duration time = gap.blame.of(static_cast<Part>(i)); time != Duration{})
      object["parts_ns"][std::string(name(static_cast<Part>(i)))] = time.count();
  object["prompts"] = Json::array();
  for (const auto& [part, by_request] : gap.blame.by_request)
    for (std::size_t i = 0; i < by_request.size(); ++i)
      if (by_request[i] > Duration{})
        object["prompts"].push_back(
            {{"request", i}, {"part", name(part)}, {"ns", by_request[i].count()}});
  return object;
}

}  // namespace

std::string why_json(const Explanation& e, const RunResult& run) {
  Json root{{"metric", name(e.question.latency)}, {"samples", e.samples}};
  root["class"] =
      e.question.class_index ? Json(run.classes[*e.question.class_index].name) : Json("all");
  root["p50"] = sample(e.p50);
  root["p99"] = sample(e.p99);
  root["has_tail"] = e.has_tail();
  if (!e.p99) return root.dump(2) + '\n';
  root["tail"] = side(e.tail, run);
  root["typical"] = side(e.typical, run);
  root["excess_ns"] = e.excess.count();
  root["shares"] = Json::array();
  for (const ExcessShare& one : e.shares) root["shares"].push_back(share(one, run));
  root["causes"] = Json::array();
  for (const ExcessShare& one : e.causes) root["causes"].push_back(share(one, run));
  root["prompts"] = Json::array();
  for (const PromptShare& prompt : e.prompts) {
    const RequestRecord& record = run.log.records[prompt.request];
    root["prompts"].push_back({{"request", prompt.request},
                               {"class", run.classes[record.class_index].name},
                               {"prompt_tokens", record.prompt_tokens},
                               {"arrival_ns", ns(record.arrival)},
                               {"tail_ns", prompt.tail.count()}});
  }
  root["when"] = {{"from_ns", ns(e.from)}, {"to_ns", ns(e.to)}, {"tail_ns", e.inside.count()}};
  root["longest_gaps"] = Json::array();
  for (const LongGap& one : e.longest) root["longest_gaps"].push_back(gap(one, run));
  return root.dump(2) + '\n';
}

}  // namespace tokenline::report
