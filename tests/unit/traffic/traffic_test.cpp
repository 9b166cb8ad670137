#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "tests/support/scratch.hpp"
#include "tests/unit/traffic/support.hpp"
#include "workloads/traffic/source.hpp"

using namespace tokenline;
using namespace tokenline::traffic;
using namespace tokenline::traffic::testing;

namespace {

/// A class of one line, whose parts a test replaces.
std::string chat_class(const std::string& arrival, const std::string& rest = "stop: 10 s",
                       const std::string& prompt = "200", const std::string& output = "100") {
  return "traffic:\n  chat:\n    arrival: " + arrival + "\n    " + rest +
         "\n    prompt_tokens: " + prompt + "\n    output_tokens: " + output + "\n";
}

const std::string poisson = "{process: poisson, rate: 35/s}";

struct YamlMistake {
  std::string yaml;
  std::string report;
};

}  // namespace

TEST_CASE("a class is read with its arrivals, lengths and targets", "[traffic]") {
  const auto traffic = read("s.yaml",
                            "traffic:\n"
                            "  chat:\n"
                            "    arrival: {process: constant, rate: 2/s}\n"
                            "    start: 1 s\n"
                            "    stop: 3 s\n"
                            "    prompt_tokens: 200\n"
                            "    output_tokens: {distribution: fixed, value: 7}\n"
                            "    slo: {ttft: 200 ms, e2el: 5 s}\n");
  REQUIRE(traffic.classes.size() == 1);
  REQUIRE(traffic.classes[0].name == "chat");
  REQUIRE(traffic.classes[0].slo.ttft == std::chrono::milliseconds(200));
  REQUIRE_FALSE(traffic.classes[0].slo.tpot);
  REQUIRE(traffic.classes[0].slo.e2el == std::chrono::seconds(5));
  const auto arrivals = all_of(*traffic.sources.at(0));
  REQUIRE(arrivals.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    REQUIRE(arrivals[i].when == TimePoint(std::chrono::milliseconds(1500 + 500 * i)));
    REQUIRE(arrivals[i].prompt_tokens == 200);
    REQUIRE(arrivals[i].output_tokens == 7);
  }
}

TEST_CASE("another class does not disturb a class's draws, whatever their order", "[traffic]") {
  const std::string a =
      "  a:\n    arrival: {process: gamma, burstiness: 0.3, rate: 5/s}\n    num_prompts: 50\n"
      "    prompt_tokens: {distribution: uniform, min: 1, max: 1000}\n"
      "    output_tokens: {distribution: lognormal, mean: 211, sigma: 0.9, max: 1000}\n";
  const std::string b =
      "  b:\n    arrival: {process: poisson, rate: 9/s}\n    num_prompts: 70\n"
      "    prompt_tokens: {distribution: uniform, min: 1, max: 1000}\n    output_tokens: 5\n";
  const auto alone = read("s.yaml", "traffic:\n" + a);
  const auto first = read("s.yaml", "traffic:\n" + a + b);
  const auto second = read("s.yaml", "traffic:\n" + b + a);
  const auto reference = all_of(*alone.sources[0]);
  REQUIRE(reference.size() == 50);
  // Drawn in turns with the other source, to show that they share nothing.
  for (const auto* traffic : {&first, &second}) {
    const std::size_t mine = traffic == &first ? 0 : 1;
    for (const auto& expected : reference) {
      (void)traffic->sources[1 - mine]->next();
      const auto arrival = traffic->sources[mine]->next();
      REQUIRE(arrival->when == expected.when);
      REQUIRE(arrival->prompt_tokens == expected.prompt_tokens);
      REQUIRE(arrival->output_tokens == expected.output_tokens);
      REQUIRE(arrival->class_index == mine);
    }
  }
}

TEST_CASE("a rate profile is in scenario time and may be written in minutes", "[traffic]") {
  const auto traffic =
      read("s.yaml", chat_class("{process: constant, rate: [{at: 0 s, rate: 60/min}, "
                                "{at: 1 min, rate: 0/s}, {at: 90 s, rate: 10/s}]}",
                                "stop: 91 s\n    start: 50 s"));
  const auto arrivals = all_of(*traffic.sources[0]);
  // Ten at 1/s from 51 s to 60 s, then nine at 10/s up to, not at, the stop.
  REQUIRE(arrivals.size() == 19);
  REQUIRE(arrivals[0].when == TimePoint(std::chrono::seconds(51)));
  REQUIRE(arrivals[9].when == TimePoint(std::chrono::seconds(60)));
  REQUIRE(arrivals[10].when == TimePoint(std::chrono::milliseconds(90'100)));
}

TEST_CASE("a ramp offers the area under it", "[traffic]") {
  const auto traffic = read("s.yaml", chat_class("{process: constant, rate: [{at: 0 s, rate: 0/s}, "
                                                 "{at: 100 s, rate: 20/s, ramp: true}]}",
                                                 "stop: 100.1 s"));
  // 1000 in the triangle and two more at 20/s; the n-th at t²/10 = n.
  const auto arrivals = all_of(*traffic.sources[0]);
  REQUIRE(arrivals.size() == 1001);
  for (std::size_t n = 1; n <= 1000; ++n)
    REQUIRE(to_seconds(arrivals[n - 1].when.time_since_epoch()).value() ==
            Approx(std::sqrt(10.0 * static_cast<double>(n))).margin(1e-9));
}

TEST_CASE("a closed loop is read with its clients", "[traffic]") {
  const auto traffic =
      read("s.yaml", chat_class("{process: closed_loop, max_concurrency: 3}", "num_prompts: 4"));
  Source& source = *traffic.sources[0];
  REQUIRE(all_of(source).size() == 3);
  REQUIRE(source.finished({TimePoint(std::chrono::seconds(2))}));
  REQUIRE_FALSE(source.finished({TimePoint(std::chrono::seconds(3))}));
}

TEST_CASE("the longest request of a class is known, with the key to blame", "[traffic]") {
  const auto traffic =
      read("s.yaml", chat_class(poisson, "stop: 1 s", "{distribution: uniform, min: 5, max: 8000}",
                                "{distribution: lognormal, mean: 100, sigma: 1, max: 900}"));
  REQUIRE(traffic.longest.at(0).prompt_tokens == 8000);
  REQUIRE(traffic.longest[0].total_tokens == 8900);
  REQUIRE(traffic.longest[0].where.line == 5);
  REQUIRE(traffic.longest[0].path == "traffic.chat.prompt_tokens.max");
}

TEST_CASE("every mistake of a class is reported at its place", "[traffic]") {
  const std::vector<YamlMistake> cases{
      {"traffic:\n  a: {stop: 1 s}\n",
       "traffic.a: a class is either generated (arrival) or "
       "replayed (trace): here is neither"},
      {"traffic: {}\n", "s.yaml:1:10: error: traffic: no class of requests is given"},
      {chat_class("{process: poison, rate: 35/s}"), "did you mean 'poisson'?"},
      {chat_class("{process: poisson}"), "traffic.chat.arrival.rate: required key is missing"},
      {chat_class("{process: poisson, rate: 35}"), "traffic.chat.arrival.rate: "},
      {chat_class("{process: poisson, rate: 0/s}"), "traffic.chat.arrival.rate: "},
      {chat_class("{process: poisson, rate: 35/s, burstiness: 2}"),
       "traffic.chat.arrival.burstiness: unknown key"},
      {chat_class("{process: gamma, rate: 35/s}"), "arrival.burstiness: required key is missing"},
      {chat_class("{process: gamma, rate: 35/s, burstiness: 0}"),
       "traffic.chat.arrival.burstiness: "},
      {chat_class("{process: closed_loop, rate: 35/s, max_concurrency: 2}"),
       "traffic.chat.arrival.rate: unknown key"},
      {chat_class("{process: closed_loop, max_concurrency: 0}"), "arrival.max_concurrency: "},
      {chat_class("{process: poisson, rate: []}"), "the rate is never above zero"},
      {chat_class("{process: poisson, rate: [{at: 0 s, rate: 0/s}]}"),
       "the rate is never above zero"},
      {chat_class("{process: poisson, rate: [{at: 5 s, rate: 1/s, ramp: true}]}"),
       "arrival.rate[0].ramp: the first point has none before it"},
      {chat_class("{process: poisson, rate: [{at: 5 s, rate: 1/s}, {at: 5 s, rate: 2/s}]}"),
       "arrival.rate[1].at: points must be in ascending order of time"},
      {chat_class("{process: poisson, rate: [{at: 5 s, rate: -1/s}]}"), "arrival.rate[0].rate: "},
      {chat_class(poisson, "start: 1 s"), "traffic.chat.arrival: the class would never end"},
      {chat_class(poisson, "start: 5 s\n    stop: 5 s"),
       "traffic.chat.stop: the class stops before"},
      {chat_class(poisson, "num_prompts: 0"), "traffic.chat.num_prompts: "},
      {chat_class(poisson, "stop: 1 s\n    sl0: {}"), "did you mean 'slo'?"},
      {chat_class(poisson, "stop: 1 s\n    slo: {tfft: 1 s}"),
       "traffic.chat.slo.tfft: unknown key"},
      {chat_class(poisson, "stop: 1 s\n    slo: {ttft: 0 ms}"), "traffic.chat.slo.ttft: "},
      {chat_class(poisson, "stop: 1 s", "0"), "traffic.chat.prompt_tokens: "},
      {chat_class(poisson, "stop: 1 s", "2.5"), "traffic.chat.prompt_tokens: "},
      {chat_class(poisson, "stop: 1 s", "{distribution: zipf}"), "prompt_tokens.distribution: "},
      {chat_class(poisson, "stop: 1 s", "{distribution: uniform, min: 9, max: 8}"),
       "traffic.chat.prompt_tokens.max: "},
      {chat_class(poisson, "stop: 1 s", "{distribution: lognormal, mean: 0, sigma: 1, max: 9}"),
       "traffic.chat.prompt_tokens.mean: "},
      {chat_class(poisson, "stop: 1 s", "{distribution: lognormal, mean: 9, sigma: 1}"),
       "prompt_tokens.max: required key is missing"},
      {chat_class(poisson, "stop: 1 s",
                  "{distribution: lognormal, mean: 9000, sigma: 0.1, max: 10}"),
       "prompt_tokens.mean: only 0 % of this distribution lies in [1, 10]"},
      {chat_class(poisson, "stop: 1 s", "{distribution: empirical, file: none.csv}"),
       "s.yaml:5:52: error: traffic.chat.prompt_tokens.file: there is no file 'none.csv'"},
      {"traffic:\n  all:\n    arrival: " + poisson +
           "\n    stop: 1 s\n    prompt_tokens: 1\n    output_tokens: 1\n",
       "traffic.all: 'all' is the sum of the classes"},
      {"traffic:\n  a.b:\n    arrival: " + poisson +
           "\n    stop: 1 s\n    prompt_tokens: 1\n    output_tokens: 1\n",
       "class name 'a.b' has other characters"},
      {"traffic:\n  a:\n    trace: {file: t.csv, format: csv, speedup: 0}\n",
       "traffic.a.trace.speedup: "},
      {"traffic:\n  a:\n    trace: {file: t.csv, format: csv, limit: 0}\n",
       "traffic.a.trace.limit: "},
      {"traffic:\n  a:\n    trace: {file: t.csv, format: moonkake}\n", "traffic.a.trace.format: "},
      {"traffic:\n  a:\n    trace: {file: none.csv, format: csv}\n",
       "s.yaml:3:19: error: traffic.a.trace.file: there is no file 'none.csv'"},
      {"traffic:\n  a:\n    arrival: " + poisson + "\n    trace: {file: none.csv, format: csv}\n",
       "s.yaml:3:5: error: traffic.a: a class is either generated (arrival) or replayed (trace): "
       "here are both"},
  };
  for (const auto& [yaml, report] : cases) {
    INFO(yaml);
    const std::string found = mistakes("s.yaml", yaml);
    INFO(found);
    CHECK(found.find(report) != std::string::npos);
  }
}

TEST_CASE("one mistake is one message: what depends on a wrong value stays silent", "[traffic]") {
  const std::vector<std::string> yamls{
      chat_class("{process: poison, rate: 35/s}"),
      chat_class(poisson, "stop: 1"),
      chat_class(poisson, "start: 7\n    stop: 9 s"),
      chat_class("{process: poisson, rate: [{at: 0 s, rate: 5}]}"),
      chat_class(poisson, "stop: 1 s", "{distribution: zipf, mean: 4}"),
      chat_class(poisson, "stop: 1 s", "{distribution: lognormal, mean: x, sigma: 1, max: 9}"),
      "traffic:\n  a:\n    trace: {file: /dev/null, format: moonkake}\n"};
  for (const auto& yaml : yamls) {
    INFO(yaml);
    const std::string found = mistakes("s.yaml", yaml);
    INFO(found);
    const auto first = found.find("error:");
    CHECK(first != std::string::npos);
    CHECK(found.find("error:", first + 1) == std::string::npos);
  }
}

TEST_CASE("data files are found from the scenario's folder, also when --set names them",
          "[traffic]") {
  const Scratch folder;
  (void)folder.write("lengths.csv", "tokens\n7\n7\n");
  (void)folder.write("other.csv", "9\r\n");
  const std::string scenario = folder / "s.yaml";
  const std::string yaml =
      chat_class(poisson, "num_prompts: 1", "{distribution: empirical, file: lengths.csv}");
  REQUIRE(all_of(*read(scenario, yaml).sources[0])[0].prompt_tokens == 7);
  const auto overridden = read(scenario, yaml, 42, {"traffic.chat.prompt_tokens.file=other.csv"});
  REQUIRE(all_of(*overridden.sources[0])[0].prompt_tokens == 9);
  const auto absolute =
      read("elsewhere/s.yaml",
           chat_class(poisson, "num_prompts: 1",
                      "{distribution: empirical, file: " + folder / "other.csv" + "}"));
  REQUIRE(absolute.longest[0].prompt_tokens == 9);
}

TEST_CASE("mistakes of a length file are at its own lines", "[traffic]") {
  const Scratch folder;
  (void)folder.write("l.csv", "tokens\n7\n0\nx\n1,2\n");
  (void)folder.write("header.csv", "tokens\n");
  const auto report = [&](const std::string& file) {
    return mistakes(folder / "s.yaml", chat_class(poisson, "num_prompts: 1",
                                                  "{distribution: empirical, file: " + file + "}"));
  };
  for (const auto* place :
       {"l.csv:3:1: error: trace: 0 tokens", "l.csv:4:1: error: trace: expected",
        "l.csv:5:1: error: trace: 2 fields"})
    REQUIRE(report("l.csv").find(place) != std::string::npos);
  REQUIRE(report("header.csv").find("header.csv:1:1: error") != std::string::npos);
}

TEST_CASE("a trace with classes yields them in order of appearance, with the entry's targets",
          "[traffic]") {
  const Scratch folder;
  (void)folder.write(
      "t.csv", "arrival_s,class,prompt_tokens,output_tokens\n0,pdf,5,1\n1,chat,6,1\n2,pdf,7,2\n");
  const std::string scenario = folder / "s.yaml";
  const std::string before = chat_class(poisson, "num_prompts: 1") + "  b:\n    trace: ";
  REQUIRE_THROWS_WITH(read(scenario, before + "{file: t.csv, format: csv}\n"),
                      Catch::Contains("traffic.b.trace.file: there is another class 'chat'"));
  const auto traffic = read(
      scenario, "traffic:\n  b:\n    trace: {file: t.csv, format: csv}\n    slo: {tpot: 9 ms}\n");
  REQUIRE(traffic.classes.size() == 2);
  REQUIRE(traffic.classes[0].name == "pdf");
  REQUIRE(traffic.classes[1].name == "chat");
  for (const auto& request_class : traffic.classes)
    REQUIRE(request_class.slo.tpot == std::chrono::milliseconds(9));
  REQUIRE(traffic.longest.at(0).total_tokens == 9);
  REQUIRE(traffic.longest[0].where.line == 4);
  const auto filtered =
      read(scenario, before + "{file: t.csv, format: csv, class: chat, limit: 5}\n");
  REQUIRE(filtered.classes[1].name == "b");
  const auto rows = all_of(*filtered.sources[1]);
  REQUIRE(rows.size() == 1);
  REQUIRE(rows[0].class_index == 1);
  REQUIRE(rows[0].prompt_tokens == 6);
  REQUIRE_THROWS_WITH(read(scenario, before + "{file: t.csv, format: csv, class: pdg}\n"),
                      Catch::Contains("did you mean 'pdf'?"));
  (void)folder.write("plain.csv", "arrival_s,prompt_tokens,output_tokens\n0,1,1\n");
  REQUIRE_THROWS_WITH(read(scenario, before + "{file: plain.csv, format: csv, class: x}\n"),
                      Catch::Contains("the trace has no column 'class'"));
  REQUIRE(read(scenario, before + "{file: plain.csv, format: csv}\n").classes[1].name == "b");
}

TEST_CASE("the resolved traffic reads again to the same requests", "[traffic]") {
  const std::string yaml = chat_class(
      "{process: gamma, burstiness: 0.5, rate: [{at: 0 s, rate: 1/s}, "
      "{at: 1 min, rate: 600/min, ramp: true}]}",
      "stop: 2 min\n    num_prompts: 500\n    slo: {tpot: 50 ms}",
      "{distribution: lognormal, mean: 1155, sigma: 1.1, max: 14_050}",
      "{distribution: uniform, min: 2, max: 9}");
  config::Document document(config::parse_yaml("s.yaml", yaml));
  config::Reader reader(document);
  const auto first = read_traffic(reader, 7);
  document.throw_if_errors();
  const auto second = read("s.yaml", config::emit_yaml(document.resolved()), 7);
  REQUIRE(second.classes[0].slo.tpot == first.classes[0].slo.tpot);
  const auto expected = all_of(*first.sources[0]);
  const auto again = all_of(*second.sources[0]);
  REQUIRE(expected.size() > 400);
  REQUIRE(again.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    REQUIRE(again[i].when == expected[i].when);
    REQUIRE(again[i].prompt_tokens == expected[i].prompt_tokens);
    REQUIRE(again[i].output_tokens == expected[i].output_tokens);
  }
}
