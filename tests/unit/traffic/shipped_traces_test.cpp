#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/unit/traffic/support.hpp"

using namespace tokenline;
using namespace tokenline::traffic;

namespace {

/// Figures of the original files, computed apart from this reader; means are rounded to 0.1 tokens.
struct Published {
  std::string file;
  std::string format;
  std::size_t rows;
  double duration_s;
  double interarrival_cv;
  std::vector<double> prompt;  ///< Mean, P50, P90, P99, largest.
  std::vector<double> output;
};

std::vector<Arrival> replay(const std::string& file, const std::string& format) {
  const std::string root = TOKENLINE_SOURCE_DIR;
  const auto traffic =
      testing::read(root + "/scenarios/s.yaml", "traffic:\n  replayed:\n    trace: {file: traces/" +
                                                    file + ", format: " + format + "}\n");
  return testing::all_of(*traffic.sources.at(0));
}

struct TraceMoments {
  double mean = 0.0;
  double deviation = 0.0;
};

TraceMoments moments(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  TraceMoments result;
  for (const double v : values) result.mean += v / n;
  for (const double v : values) result.deviation += std::pow(v - result.mean, 2) / n;
  result.deviation = std::sqrt(result.deviation);
  return result;
}

void require_lengths(std::vector<double> lengths, const std::vector<double>& published) {
  REQUIRE(moments(lengths).mean == Approx(published[0]).margin(0.051));
  std::ranges::sort(lengths);
  // Order statistic of rank floor(q · n) from 0: by linear interpolation the P90 of the code
  // trace's prompts would be 5187.6.
  const auto percentile = [&](double q) {
    return lengths[static_cast<std::size_t>(q * static_cast<double>(lengths.size()))];
  };
  REQUIRE(percentile(0.50) == published[1]);
  REQUIRE(percentile(0.90) == published[2]);
  REQUIRE(percentile(0.99) == published[3]);
  REQUIRE(lengths.back() == published[4]);
}

}  // namespace

TEST_CASE("the shipped traces load completely and have their published statistics", "[traffic]") {
  const std::vector<Published> traces{{"azure_conversation_2023.csv",
                                       "azure",
                                       19'366,
                                       3501.7,
                                       1.094,
                                       {1154.7, 1020, 2735, 4142, 14'050},
                                       {211.1, 129, 424, 601, 1000}},
                                      {"azure_code_2023.csv",
                                       "azure",
                                       8'819,
                                       3435.9,
                                       13.151,
                                       {2047.8, 1469, 5194, 7436, 7437},
                                       {27.9, 13, 55, 252, 1899}},
                                      {"mooncake_conversation.jsonl",
                                       "mooncake",
                                       12'031,
                                       3537.0,
                                       3.034,
                                       {12'035.1, 6909, 27'367, 85'401, 126'195},
                                       {342.6, 350, 597, 1120, 2000}}};
  for (const auto& trace : traces) {
    INFO(trace.file);
    const auto arrivals = replay(trace.file, trace.format);
    REQUIRE(arrivals.size() == trace.rows);
    REQUIRE(arrivals.front().when == TimePoint{});
    std::vector<double> gaps;
    std::vector<double> prompts;
    std::vector<double> outputs;
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
      if (i > 0) gaps.push_back(to_seconds(arrivals[i].when - arrivals[i - 1].when).value());
      prompts.push_back(static_cast<double>(arrivals[i].prompt_tokens));
      outputs.push_back(static_cast<double>(arrivals[i].output_tokens));
    }
    const double duration = to_seconds(arrivals.back().when.time_since_epoch()).value();
    REQUIRE(duration == Approx(trace.duration_s).margin(0.051));
    const TraceMoments gap = moments(gaps);
    REQUIRE(gap.deviation / gap.mean == Approx(trace.interarrival_cv).margin(0.001));
    require_lengths(prompts, trace.prompt);
    require_lengths(outputs, trace.output);
  }
}
