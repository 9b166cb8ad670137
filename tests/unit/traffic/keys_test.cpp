// Which keys a class has: what `describe` shows, and the did-you-mean.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/scratch.hpp"
#include "tests/unit/traffic/support.hpp"
#include "workloads/traffic/source.hpp"

using namespace tokenline;
using namespace tokenline::traffic;
using namespace tokenline::traffic::testing;

namespace {

/// A class that sends 35 requests a second, and the lines of a test.
std::string chat_with(const std::string& rest, const std::string& prompt = "200") {
  return "traffic:\n  chat:\n    arrival: {process: poisson, rate: 35/s}\n    " + rest +
         "\n    prompt_tokens: " + prompt + "\n    output_tokens: 100\n";
}

}  // namespace

TEST_CASE("traffic can be described without a scenario", "[traffic]") {
  config::Document document(config::Node{}, config::Document::Purpose::describe);
  config::Reader reader(document);
  REQUIRE_NOTHROW(read_traffic(reader, 42));
  std::vector<std::string> described;
  for (const auto& key : document.keys())
    described.push_back(key.path.substr(std::string("traffic").size()) + (key.required ? "!" : "") +
                        (key.when.empty() ? "" : " " + key.when));
  const auto has = [&](const std::string& key) {
    INFO(key);
    CHECK(std::ranges::count(described, ".<name>" + key) == 1);
  };
  for (const char* key : {".slo", ".slo.ttft", ".slo.tpot", ".slo.e2el"}) has(key);
  for (const char* key : {".arrival!", ".start", ".stop"}) has(std::string(key) + " without trace");
  has(".num_prompts without session");
  has(".session! without num_prompts");
  for (const char* key : {".max_context!", ".num_sessions", ".think_time.distribution!",
                          ".think_time.mean!", ".turns.distribution!"})
    has(std::string(".session") + key);
  has(".session.think_time.sigma! with distribution: lognormal");
  CHECK(std::ranges::count(described, ".<name>.session.think_time!") == 2);
  has(".arrival.process!");
  has(".arrival.max_concurrency! with process: closed_loop");
  has(".arrival.think_time with process: closed_loop");
  has(".arrival.burstiness! with process: gamma");
  for (const char* key : {".arrival.rate[].at!", ".arrival.rate[].rate!", ".arrival.rate[].ramp"})
    has(key);
  for (const char* key : {".mean!", ".peak_to_trough!", ".period!", ".peak_at!"})
    has(std::string(".arrival.rate") + key + " with profile: diurnal");
  for (const char* key : {".base!", ".peak!", ".at!", ".duration!", ".ramp"})
    has(std::string(".arrival.rate") + key + " with profile: spike");
  CHECK(std::ranges::count(described,
                           ".<name>.arrival.rate! with process: poisson, gamma or constant") == 3);
  // As a number or as a mapping.
  for (const char* key : {".prompt_tokens! without lengths", ".output_tokens! without lengths"})
    CHECK(std::ranges::count(described, std::string(".<name>") + key) == 2);
  for (const std::string tokens : {".prompt_tokens", ".output_tokens"}) {
    has(tokens + ".distribution!");
    has(tokens + ".value! with distribution: fixed");
    has(tokens + ".file! with distribution: empirical");
    for (const char* key : {".min!", ".max!"}) has(tokens + key + " with distribution: uniform");
    for (const char* key : {".mean!", ".sigma!", ".min", ".max!"})
      has(tokens + key + " with distribution: lognormal");
  }
  has(".lengths! without prompt_tokens and output_tokens");
  has(".lengths.characters_per_token! with format: sharegpt");
  for (const char* key :
       {".file!", ".format!", ".class", ".limit", ".unanswered", ".max_total_tokens"})
    has(std::string(".lengths") + key);
  has(".trace! without arrival");
  for (const char* key :
       {".file!", ".format!", ".speedup", ".class", ".limit", ".unanswered", ".max_total_tokens"})
    has(std::string(".trace") + key);
}

TEST_CASE("optional keys have a did-you-mean", "[traffic]") {
  const std::string trace = "traffic:\n  a:\n    trace: {file: none.csv, format: csv, ";
  for (const auto& [yaml, hint] : std::vector<std::pair<std::string, std::string>>{
           {chat_with("stp: 1 s\n    num_prompts: 3"), "did you mean 'stop'?"},
           {chat_with("stop: 1 s\n    num_prompt: 3"), "did you mean 'num_prompts'?"},
           {chat_with("stop: 1 s\n    slo: {e2l: 1 s}"), "did you mean 'e2el'?"},
           {trace + "clas: b}", "did you mean 'class'?"},
           {trace + "limt: 3}", "did you mean 'limit'?"}}) {
    const std::string found = mistakes("s.yaml", yaml);
    INFO(found);
    CHECK(found.find(hint) != std::string::npos);
  }
}

TEST_CASE("a mistake in one class does not keep those of another from being found", "[traffic]") {
  const Scratch folder;
  (void)folder.write("t.csv", "arrival_s,prompt_tokens,output_tokens\n0,x,1\n");
  const std::string found =
      mistakes(folder / "s.yaml", chat_with("start: 9\n    stop: 5 s",
                                            "{distribution: lognormal, "
                                            "mean: 9000, sigma: 0.1, max: 10}") +
                                      "  b:\n    trace: {file: t.csv, format: csv}\n");
  INFO(found);
  for (const char* part : {"traffic.chat.start: '9' is a bare number", "prompt_tokens.mean: only",
                           "t.csv:2:3: error: trace: expected a whole number"})
    CHECK(found.find(part) != std::string::npos);
  CHECK(found.find("traffic.chat.stop") == std::string::npos);
}
