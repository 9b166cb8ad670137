#include "tools/sweep/sweep.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/report/run_directory.hpp"
#include "tests/support/tool.hpp"
#include "tools/sweep/merge.hpp"
#include "tools/sweep/result_folder.hpp"
#include "tools/sweep/runner.hpp"

using namespace tokenline;
using namespace tokenline::sweep;
using Catch::Contains;

namespace {

/// A few requests: a point takes about a millisecond.
constexpr std::string_view service = R"(scenario: service
model: llama-3.1-8b
cluster: {gpu: h100_pcie}
engine: {preset: vllm-v1, max_model_len: 1024, max_num_batched_tokens: 256, max_num_seqs: 8}
traffic:
  chat:
    arrival: {process: poisson, rate: 10/s}
    num_prompts: 3
    prompt_tokens: {distribution: uniform, min: 50, max: 200}
    output_tokens: 3
)";

class SweepFolder : public Scratch {
 public:
  SweepFolder() { report::write_file(*this / "service.yaml", service); }

  [[nodiscard]] Sweep parse(const std::string& factors) const {
    return parse_sweep(*this / "s.yaml", "sweep: s\nbase: service.yaml\n" + factors);
  }

  /// What is wrong with a sweep.
  [[nodiscard]] std::string mistakes(const std::string& factors) const {
    try {
      (void)parse(factors);
    } catch (const config::ConfigError& error) {
      return error.what();
    }
    return "";
  }
};

/// 200 points, written to sweep.yaml.
void write_200(const Scratch& folder) {
  std::string text =
      "sweep: many\nbase: service.yaml\nseeds: [1, 2]\ngrid:\n"
      "  engine.max_num_seqs: [2, 3, 4, 5, 6, 7, 8, 9, 10, 11]\n"
      "  traffic.chat.arrival.rate: [1/s, 2/s, 3/s, 4/s, 5/s, 6/s, 7/s, 8/s, 9/s, 10/s]\n";
  report::write_file(folder / "sweep.yaml", text);
}

std::string table_of(const Scratch& folder, const std::string& results) {
  REQUIRE(execute(folder, "merge " + results + " -o merged.csv").exit_code == 0);
  return config::read_file(folder / "merged.csv");
}

using FileTimes = std::map<std::string, std::filesystem::file_time_type>;

/// When each finished result was written.
FileTimes results_in(const std::string& directory) {
  FileTimes times;
  if (!std::filesystem::exists(directory)) return times;
  for (const auto& file : std::filesystem::directory_iterator(directory))
    if (file.path().extension() == ".json" && file.path().stem().string().size() == 64)
      times[file.path().filename()] = file.last_write_time();
  return times;
}

}  // namespace

TEST_CASE("points are every combination, seeds fastest", "[sweep]") {
  const Sweep s = SweepFolder().parse(
      "seeds: [7, 8]\ngrid: {engine.max_num_seqs: [4, 8], engine.block_size: [16, 32]}\n");
  REQUIRE(s.points.size() == 8);
  CHECK(s.axes == std::vector<std::string>{"engine.max_num_seqs", "engine.block_size"});
  CHECK(s.points[0].values == std::vector<std::string>{"4", "16"});
  CHECK(s.points[1].values == s.points[0].values);
  CHECK(s.points[2].values == std::vector<std::string>{"4", "32"});
  CHECK(s.points[0].seed == 7);
  CHECK(s.points[1].seed == 8);
  std::set<std::string> digests;
  for (const Point& point : s.points) digests.insert(point.sha256);
  CHECK(digests.size() == 8);
}

TEST_CASE("a Latin hypercube has one point in each stratum of each axis", "[sweep]") {
  const std::size_t n = 16;
  const Sweep s = SweepFolder().parse(
      "latin_hypercube: {points: 16, ranges: {traffic.chat.arrival.rate: {min: 1/s, max: 256/s, "
      "scale: log}, engine.max_num_seqs: {min: 1, max: 16}}}\n");
  REQUIRE(s.points.size() == n);
  std::set<std::size_t> rates;
  std::set<std::string> sequences;
  for (const Point& point : s.points) {
    const double rate = std::stod(point.values[0]);
    rates.insert(static_cast<std::size_t>(std::log2(rate) / 8.0 * n));
    sequences.insert(point.values[1]);
  }
  CHECK(rates.size() == n);
  CHECK(sequences.size() == n);
}

TEST_CASE("mistakes of a sweep are met at their line, before anything runs", "[sweep]") {
  const SweepFolder folder;
  CHECK_THAT(folder.mistakes("grid: {engine.max_num_sqs: [4]}\n"),
             Contains("s.yaml:3:") && Contains("did you mean 'max_num_seqs'"));
  CHECK_THAT(folder.mistakes("grid: {engine.max_num_seqs: [4, -1]}\n"), Contains("s.yaml:3:"));
  CHECK_THAT(folder.mistakes("grid: {traffic.chat.arrival.rate: [5]}\n"), Contains("s.yaml:3:"));
  CHECK_THAT(folder.mistakes("grd: {engine.max_num_seqs: [4]}\n"), Contains("did you mean 'grid'"));
}

TEST_CASE("shards share out the points, each in exactly one", "[sweep]") {
  const Sweep s = SweepFolder().parse("grid: {engine.max_num_seqs: [1, 2, 3, 4, 5, 6, 7]}\n");
  for (const std::size_t shards : {1U, 2U, 3U, 7U, 9U}) {
    std::multiset<std::size_t> all;
    for (std::size_t i = 0; i < shards; ++i) {
      const auto shard = shard_of(s, i, shards);
      CHECK(shard.size() <= 7 / shards + 1);
      all.insert(shard.begin(), shard.end());
    }
    CHECK(all == std::multiset<std::size_t>{0, 1, 2, 3, 4, 5, 6});
  }
}

TEST_CASE("a result is the same after its JSON, and a part of it is none", "[sweep]") {
  const SweepFolder folder;
  const Sweep s = folder.parse("grid: {engine.max_num_seqs: [4]}\n");
  const std::string json = result_json(run_point(s.points.front()));
  const auto again = parse_result(json);
  REQUIRE(again);
  CHECK(result_json(*again) == json);
  CHECK_FALSE(parse_result(json.substr(0, json.size() / 2)));
}

TEST_CASE("a point that fails keeps no other from its result", "[sweep]") {
  const SweepFolder folder;
  const Sweep s = folder.parse("grid: {engine.max_num_seqs: [1, 2, 3]}\n");
  const ResultFolder results = ResultFolder::claim(folder / "out", s);
  RunOptions options;
  options.run = [&](const Point& point) {
    if (point.values.front() == "2") throw InternalError("planted");
    return run_point(point);
  };
  const RunReport report = run_points(s, shard_of(s, 0, 1), results, options);
  REQUIRE(report.failures.size() == 1);
  CHECK(s.points[report.failures.front().point].values.front() == "2");
  CHECK(report.failures.front().our_bug);
  CHECK_THAT(report.failures.front().what, Contains("planted"));
  CHECK(results_in(folder / "out").size() == 2);
}

TEST_CASE("a sweep killed ten times ends as if nothing had happened", "[sweep]") {
  const SweepFolder folder;
  write_200(folder);
  REQUIRE(execute(folder, "sweep sweep.yaml --out whole").exit_code == 0);
  const std::string whole = table_of(folder, "whole");
  for (int i = 0; i < 10; ++i) {
    const FileTimes before = results_in(folder / "killed");
    // Some fifteen results later; how many more there are by then differs from run to run.
    const std::string enough = std::to_string(before.size() + 15);
    (void)shell(folder,
                tool +
                    "sweep sweep.yaml --out killed --threads 1 & pid=$!; while [ \"$(ls "
                    "killed 2>/dev/null | grep -c '^[0-9a-f]*.json$')\" -lt " +
                    enough +
                    " ] && kill -0 $pid; do sleep 0.002; done; kill -9 $pid; wait $pid; true");
    const FileTimes after = results_in(folder / "killed");
    CHECK(after.size() > before.size());
    CHECK(after.size() < 200);
    for (const auto& [name, when] : before) CHECK(after.at(name) == when);
  }
  REQUIRE(execute(folder, "sweep sweep.yaml --out killed").exit_code == 0);
  CHECK(table_of(folder, "killed") == whole);
}

TEST_CASE("shards, threads and two processes on one folder give the table of one run", "[sweep]") {
  const SweepFolder folder;
  write_200(folder);
  REQUIRE(execute(folder, "sweep sweep.yaml --out whole --threads 1").exit_code == 0);
  const std::string whole = table_of(folder, "whole");
  for (const char* shard : {"2/3", "0/3", "1/3"})
    REQUIRE(
        execute(folder, std::string("sweep sweep.yaml --shard ") + shard + " --out part" + shard[0])
            .exit_code == 0);
  CHECK(table_of(folder, "part1 part2 part0") == whole);
  CHECK(execute(folder, "merge part0 part1 -o missing.csv").exit_code == 2);
  CHECK(execute(folder, "merge part0 part1 --partial -o partial.csv").exit_code == 0);
  const Ran both =
      shell(folder, tool + "sweep sweep.yaml --out both & first=$!; " + tool +
                        "sweep sweep.yaml --out both; second=$?; wait $first && exit $second");
  CHECK(both.exit_code == 0);
  CHECK(table_of(folder, "both") == whole);
}

TEST_CASE("a result that was cut short is simulated again, and no other", "[sweep]") {
  const SweepFolder folder;
  report::write_file(folder / "sweep.yaml",
                     "sweep: few\nbase: service.yaml\ngrid: {engine.max_num_seqs: [1, 2, 3]}\n");
  REQUIRE(execute(folder, "sweep sweep.yaml --out out").exit_code == 0);
  const std::string whole = table_of(folder, "out");
  FileTimes times = results_in(folder / "out");
  REQUIRE(times.size() == 3);
  std::filesystem::resize_file(folder / "out/" + times.begin()->first, 100);
  times.erase(times.begin());
  REQUIRE(execute(folder, "sweep sweep.yaml --out out").exit_code == 0);
  const FileTimes after = results_in(folder / "out");
  for (const auto& [name, when] : times) CHECK(after.at(name) == when);
  CHECK(table_of(folder, "out") == whole);
}

TEST_CASE("SQLite has the points and their figures, with types", "[sweep]") {
  const SweepFolder folder;
  report::write_file(folder / "sweep.yaml",
                     "sweep: few\nbase: service.yaml\ngrid: {engine.max_num_seqs: [1, 2, 3]}\n");
  REQUIRE(execute(folder, "sweep sweep.yaml --out out").exit_code == 0);
  REQUIRE(execute(folder, "merge out --sqlite out.db").exit_code == 0);
  const Ran counted = shell(folder,
                            "python3 -c \"import sqlite3; c = sqlite3.connect('out.db'); "
                            "print(c.execute('select count(*) from points').fetchone()[0], "
                            "c.execute('select typeof(completed), sum(completed) from classes "
                            "where class=\\\"chat\\\"').fetchone())\"");
  INFO(counted.err);
  CHECK(counted.out == "3 ('integer', 9)\n");
}
