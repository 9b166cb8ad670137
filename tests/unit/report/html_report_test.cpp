// report.html: its data, and that no text can break out of them.
#include "sim/report/html_report.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/report/assertions.hpp"
#include "sim/report/config_origins.hpp"
#include "tests/unit/report/builders.hpp"

using namespace tokenline;
using namespace tokenline::report;
using Catch::Contains;
using Json = nlohmann::json;

namespace {

struct Page {
  std::string html;
  Summary summary;
};

Page page_of(Scenario scenario) {
  Timeline timeline;
  const RunResult result = run(scenario, {}, &timeline);
  timeline.finish(result);
  Page page{.html = {}, .summary = summarize(scenario, result)};
  page.summary.asserts = check(read_conditions(scenario), page.summary);
  page.html = run_report(scenario, result, page.summary, timeline);
  return page;
}

Page small_page() { return page_of(parse_scenario("small.yaml", std::string(small_scenario))); }

/// The text of the one script element that holds data.
std::string data_text(const std::string& html) {
  const std::string begin = R"(<script type="application/json" id="data">)";
  const std::size_t from = html.find(begin) + begin.size();
  return html.substr(from, html.find("</script>", from) - from);
}

Json data_of(const std::string& html) { return Json::parse(data_text(html)); }

std::size_t count(const std::string& text, std::string_view what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("a report holds the summary as summary.json has it", "[report]") {
  const Page page = small_page();
  CHECK(data_of(page.html)["summary"] == Json::parse(summary_json(page.summary)));
}

TEST_CASE("a report is one file: nothing in it names another", "[report]") {
  const std::string html = small_page().html;
  CHECK_THAT(html, Contains("default-src 'none'"));
  for (const char* reference : {" src=", "<link", "@import", "url(", "fetch(", "import("})
    CHECK_THAT(html, !Contains(reference));
}

TEST_CASE("the same run gives the same report", "[report]") {
  CHECK(small_page().html == small_page().html);
}

TEST_CASE("no text ends the script element of the data", "[report]") {
  const std::string hostile = "</script><img src=x onerror=alert(1)>";
  Scenario scenario =
      parse_scenario("small.yaml", std::string(small_scenario) +
                                       "description: \"<!-- <script> {} /* scripts */\"\n");
  RunResult result = run_of({hostile});
  result.log.records.push_back(completed({.arrival = ms(1), .ttft = ms(2), .e2el = ms(3)}));
  Timeline timeline;
  timeline.finish(result);
  const std::string html = run_report(scenario, result, summarize(scenario, result), timeline);
  CHECK(count(html, "</script>") == count(small_page().html, "</script>"));
  CHECK_THAT(data_text(html), !Contains("<"));
  const Json data = data_of(html);
  CHECK(data["summary"]["classes"].contains(hostile));
  CHECK(data["scenario"]["description"] == "<!-- <script> {} /* scripts */");
}

TEST_CASE("requests behind a slice are those of requests.csv", "[report]") {
  Scenario scenario = parse_scenario("small.yaml", std::string(small_scenario));
  Timeline timeline;
  const RunResult result = run(scenario, {}, &timeline);
  timeline.finish(result);
  const Summary summary = summarize(scenario, result);
  const Json ledger = data_of(run_report(scenario, result, summary, timeline))["ledger"];
  REQUIRE(ledger["classes"].size() == 3);
  const Json& slowest = ledger["classes"][0]["ttft"].back();
  const auto own = static_cast<std::size_t>(Part::own_prefill);
  REQUIRE_FALSE(slowest["behind"][own].empty());
  const auto id = slowest["behind"][own][0].get<std::uint32_t>();
  const RequestRecord& record = result.log.records[id];
  const Json& shown = ledger["requests"][std::to_string(id)];
  CHECK(shown["prompt_tokens"] == record.prompt_tokens);
  CHECK(shown["class"] == result.classes[record.class_index].name);
  CHECK(shown["ttft_ms"].get<double>() == Approx(milliseconds(record.ttft())).margin(0.001));
  CHECK(shown["ttft"][std::to_string(own)].get<double>() ==
        Approx(milliseconds(record.ttft_parts[Part::own_prefill])).margin(0.001));
}

TEST_CASE("every bin of a report's timeline is in every list", "[report]") {
  const Json timeline = data_of(small_page().html)["timeline"];
  const std::size_t bins = timeline["arrivals"]["offered"].size();
  std::int64_t offered = 0;
  for (const Json& n : timeline["arrivals"]["offered"]) offered += n.get<std::int64_t>();
  CHECK(offered == 50);
  for (const Json& instance : timeline["instances"]) {
    for (const auto& [name, gauge] : instance["gauges"].items())
      for (const char* list : {"mean", "min", "max"}) CHECK(gauge[list].size() == bins);
    for (const char* list : {"busy_fraction", "flops_utilization", "bandwidth_utilization"})
      CHECK(instance[list].size() == bins);
  }
}

TEST_CASE("a report of a hundred thousand requests is smaller than 3 MB", "[report]") {
  Scenario scenario = parse_scenario("small.yaml", std::string(small_scenario));
  RunResult result = run_of({"chat", "batch"});
  result.instances.resize(32, result.instances.front());
  for (std::int64_t i = 0; i < 100'000; ++i) {
    const std::int64_t ttft = 20 + (i * 7919) % 30'011;
    result.log.records.push_back(completed({.arrival = ms(10 * i),
                                            .ttft = ms(ttft),
                                            .e2el = ms(ttft + (i * 104'729) % 60'013),
                                            .class_index = static_cast<std::uint32_t>(i % 2)}));
  }
  result.end = TimePoint{} + ms(1'100'000);
  Timeline timeline;
  for (std::uint32_t instance = 0; instance < 32; ++instance)
    for (std::int64_t i = 0; i < 1000; ++i) {
      const Duration time = ms(20 + (i * 37 + instance) % 300);
      timeline.step({.instance = instance,
                     .micro_batch = 0,
                     .begin = TimePoint{} + ms(1080 * i),
                     .end = TimePoint{} + ms(1080 * i) + time,
                     .host = {},
                     .gpu = time,
                     .waiting = {},
                     .decode = time,
                     .decode_floor = {},
                     .decode_sequences = 1 + (i * 13) % 256,
                     .decode_context = 1000,
                     .pieces = {},
                     .running = 1 + (i * 13) % 256,
                     .waiting_requests = (i * 17) % 1000,
                     .blocked = {},
                     .kv_used_blocks = (i * 11) % 100,
                     .flops = Flops(1e9 * static_cast<double>(1 + (i * i) % 1009)),
                     .hbm_bytes = Bytes(1e7 * static_cast<double>(1 + (i * 31) % 1013))});
    }
  timeline.finish(result);
  const Summary summary = summarize(scenario, result);
  const std::string html = run_report(scenario, result, summary, timeline);
  CHECK(html.size() < 3'000'000);
  CHECK(count(html, "\"roofline\":") == 32);
}

TEST_CASE("every value of a scenario says where it comes from", "[report]") {
  const Scenario scenario =
      parse_scenario("small.yaml", std::string(small_scenario),
                     {.overrides = {"cluster.replicas=2", "engine.block_size=32", "seed=7"}});
  const auto values = config_values(scenario);
  const auto of = [&](std::string_view path) {
    const auto found = std::ranges::find(values, path, &ConfigValue::path);
    REQUIRE(found != values.end());
    return *found;
  };
  CHECK(of("model").origin == Origin::scenario);
  CHECK(of("model").place == "small.yaml:2");
  CHECK(of("traffic.chat.slo.ttft").value == "1 s");
  CHECK(of("traffic.chat.slo.ttft").origin == Origin::scenario);
  CHECK(of("cluster.replicas").origin == Origin::overridden);
  CHECK(of("engine.block_size").value == "32");
  CHECK(of("engine.block_size").place == "--set engine.block_size=32");
  CHECK(of("engine.max_num_seqs").origin == Origin::preset);
  CHECK(of("engine.max_num_seqs").place == "preset vllm-v1");
  CHECK(of("cluster.router").origin == Origin::standard);
  CHECK(of("cluster.tensor_parallel_size").place.empty());
}

TEST_CASE("a default beside overridden keys stays a default", "[report]") {
  const std::vector<std::string> overrides{
      "cluster.autoscale.min=1", "cluster.autoscale.max=3", "cluster.autoscale.metric=queue_length",
      "cluster.autoscale.target=5", "cluster.autoscale.cold_start.node=1 s"};
  const Scenario scenario =
      parse_scenario("small.yaml", std::string(small_scenario), {.overrides = overrides});
  int defaults = 0;
  for (const ConfigValue& value : config_values(scenario)) {
    if (!value.path.starts_with("cluster.autoscale.")) continue;
    const bool given = std::ranges::any_of(overrides, [&](const std::string& text) {
      return text.substr(0, text.find('=')) == value.path;
    });
    CHECK(value.origin == (given ? Origin::overridden : Origin::standard));
    defaults += given ? 0 : 1;
  }
  CHECK(defaults >= 3);
}

TEST_CASE("the report of a study has the curves and the ledger of each variant", "[report]") {
  Study study = parse_study("study.yaml", "study: s\nbase: " TOKENLINE_SOURCE_DIR
                                          "/scenarios/quickstart.yaml\n"
                                          "columns: [all.completed]\nvariants:\n"
                                          "  - {name: a, set: {traffic.chat.stop: 5 s}}\n"
                                          "  - {name: b <i>, set: {traffic.chat.stop: 5 s}}\n");
  const Comparison comparison = compare(study, {.threads = 1, .out = {}, .report = true});
  const std::string html = comparison_report(comparison);
  const Json data = data_of(html);
  CHECK(data["kind"] == "study");
  CHECK(data["comparison"] == Json::parse(comparison_json(comparison)));
  REQUIRE(data["variants"].size() == 2);
  CHECK(data["variants"][1]["curves"][0]["class"] == "chat");
  CHECK(data["variants"][1]["ledger"]["classes"][0]["ttft"].size() == 5);
}
