#include "sim/report/console.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>

#include "sim/report/text_table.hpp"
#include "tests/unit/report/builders.hpp"

using namespace tokenline;
using namespace tokenline::report;
using namespace std::chrono_literals;
using Catch::Contains;

namespace {

Summary summary_of(const RunResult& run) {
  ReplicaHardware hardware;
  hardware.gpu = "h100_sxm";
  Summary summary;
  summary.classes = summarize_classes(run, {});
  for (const InstanceResult& instance : run.instances)
    summary.instances.push_back(summarize_instance(instance, hardware));
  return summary;
}

RunResult two_requests() {
  RunResult run = run_of({"chat"});
  run.log.records.push_back(completed({.ttft = ms(100), .e2el = 1s}));
  run.log.records.push_back(completed({.ttft = ms(300), .e2el = 2s}));
  return run;
}

/// A line of the block: label, padded to 40, and value.
std::string line(const std::string& label, const std::string& value) {
  return fmt::format("{:<40} {}\n", label, value);
}

}  // namespace

TEST_CASE("the block is that of vllm bench serve", "[report]") {
  const std::string text = console_text(summary_of(two_requests()));
  CHECK(text.starts_with("============ Serving Benchmark Result ============\n"));
  CHECK_THAT(text, Contains(line("Successful requests:", "2")));
  CHECK_THAT(text, Contains(line("Benchmark duration (s):", "2.00")));
  CHECK_THAT(text, Contains(line("Total generated tokens:", "22")));
  CHECK_THAT(text, Contains(line("Output token throughput (tok/s):", "11.00")));
  CHECK_THAT(text, Contains("\n---------------Time to First Token----------------\n"));
  CHECK_THAT(text, Contains("\n-----Time per Output Token (excl. 1st token)------\n"));
  CHECK_THAT(text, Contains(line("Mean TTFT (ms):", "200.00")));
  CHECK_THAT(text, Contains(line("P99 TTFT (ms):", "298.00")));
  CHECK_THAT(text, Contains("\n" + std::string(50, '=') + "\n"));
}

TEST_CASE("what was refused at the door is said below the failed requests, where there is any",
          "[report]") {
  RunResult run = two_requests();
  CHECK_THAT(console_text(summary_of(run)), !Contains("refused"));
  run.log.records.push_back(rejected(1s));
  run.log.records.push_back(lost(1s, 1s));
  CHECK_THAT(console_text(summary_of(run)),
             Contains(line("Failed requests:", "2") + line("  refused at the door:", "1")));
}

TEST_CASE("goodput appears with targets only, and what is missing is a dash", "[report]") {
  RunResult run = two_requests();
  CHECK_THAT(console_text(summary_of(run)), !Contains("goodput"));
  CHECK_THAT(console_text(summary_of(run)), Contains(line("Mean ITL (ms):", "-")));
  run.classes[0].slo.ttft = ms(150);
  CHECK_THAT(console_text(summary_of(run)), Contains(line("Request goodput (req/s):", "0.50")));
}

TEST_CASE("the ledger names the largest part first, with its share", "[report]") {
  CHECK_THAT(console_text(summary_of(two_requests())),
             Contains("all mean: wait_kv_blocks 100.0 ms (50.0 %), own_prefill 100.0 ms"));
}

TEST_CASE("a table of classes appears with more than one", "[report]") {
  CHECK_THAT(console_text(summary_of(two_requests())), !Contains("class "));
  RunResult run = two_requests();
  run.classes.push_back({"batch", {}});
  run.log.token_gaps.resize(2);
  const std::string text = console_text(summary_of(run));
  CHECK_THAT(text, Contains("class "));
  CHECK_THAT(text, Contains("\nbatch "));
}

TEST_CASE("the audit's verdict names the checks that failed", "[report]") {
  AuditReport audit;
  audit.checks = {{"A1", "requests are conserved", true, "3"},
                  {"A7", "Little's law", false, "1 2"}};
  audit.passed = false;
  CHECK(audit_verdict(audit) == "audit: FAILED, 1 of 2 checks hold\n  A7 Little's law: 1 2\n");
}

TEST_CASE("failed conditions show the value", "[report]") {
  Summary summary;
  summary.asserts = {{"a.b_ms < 1", 2.5, false}, {"a.c < 1", 0.5, true}, {"a.d < 1", {}, false}};
  CHECK(
      failed_asserts(summary) ==
      "assert failed: a.b_ms < 1 (it is 2.500)\nassert failed: a.d < 1 (it is without a value)\n");
  CHECK_FALSE(summary.asserts_passed());
}

TEST_CASE("table columns are as wide as their widest cell in characters", "[report]") {
  TextTable table(1);
  table.row({"é", "1"});
  table.row({"abc", "10"});
  CHECK(table.text() == "é     1\nabc  10\n");
}

TEST_CASE("wrapped text keeps to the width where words allow", "[report]") {
  CHECK(wrapped("aa bb cc", 2, 7) == "  aa bb\n  cc\n");
  CHECK(wrapped("", 2, 7).empty());
  CHECK(wrapped("toolongword x", 0, 4) == "toolongword\nx\n");
}
