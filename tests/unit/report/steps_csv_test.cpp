#include "sim/report/steps_csv.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/report/observed.hpp"

using namespace tokenline;
using namespace tokenline::report;

namespace {

using Row = std::map<std::string, std::string>;

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  for (const char c : line)
    if (c == ',')
      fields.emplace_back();
    else
      fields.back() += c;
  return fields;
}

std::vector<Row> rows_of(const std::string& csv) {
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> header = fields_of(line);
  std::vector<Row> rows;
  while (std::getline(lines, line)) {
    const std::vector<std::string> fields = fields_of(line);
    REQUIRE(fields.size() == header.size());
    rows.emplace_back();
    for (std::size_t i = 0; i < header.size(); ++i) rows.back()[header[i]] = fields[i];
  }
  return rows;
}

/// "1.234567" of a unit with as many decimals, in nanoseconds.
Duration exact(std::string text) {
  std::erase(text, '.');
  return Duration(std::stoll(text));
}

}  // namespace

TEST_CASE("steps.csv holds the steps that the replicas count", "[report]") {
  const Observed observed(eventful);
  std::ostringstream csv;
  write_steps_csv(csv, observed.log, observed.run);
  std::map<std::string, InstanceStats> sums;
  for (const Row& row : rows_of(csv.str())) {
    InstanceStats& sum = sums[row.at("instance")];
    const Duration length = exact(row.at("end_s")) - exact(row.at("begin_s"));
    const Duration planned = exact(row.at("host_ms")) + exact(row.at("gpu_ms"));
    CHECK(exact(row.at("pipeline_wait_ms")) == Duration{});
    CHECK(length <= planned);  // Less where a crash cuts it short.
    ++sum.steps;
    sum.busy += length;
    sum.gpu += exact(row.at("gpu_ms"));
    sum.prefilled_tokens += std::stoll(row.at("prefill_tokens"));
    sum.flops += Flops(std::stod(row.at("flops")));
    sum.hbm_bytes += Bytes(std::stod(row.at("hbm_bytes")));
    sum.kv_peak_blocks =
        std::max<std::int64_t>(sum.kv_peak_blocks, std::stoll(row.at("kv_used_blocks")));
    sum.peak_running = std::max<std::int64_t>(sum.peak_running, std::stoll(row.at("running")));
    CHECK(row.at("blocked").empty() == (row.at("waiting") == "0"));
  }
  REQUIRE(sums.size() == 2);
  for (const InstanceResult& instance : observed.run.instances) {
    const InstanceStats& sum = sums.at(instance.name);
    CHECK(sum.steps == instance.whole.steps);
    CHECK(sum.busy == instance.whole.busy);
    CHECK(sum.gpu == instance.whole.gpu);
    CHECK(sum.prefilled_tokens == instance.whole.prefilled_tokens);
    CHECK(sum.flops == instance.whole.flops);
    CHECK(sum.hbm_bytes == instance.whole.hbm_bytes);
    CHECK(sum.kv_peak_blocks == instance.whole.kv_peak_blocks);
    CHECK(sum.peak_running == instance.whole.peak_running);
  }
}
