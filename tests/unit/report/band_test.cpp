// Three runs beside each other: what `run --band` says of them.
#include "sim/report/band.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace tokenline;
using report::BandRow;
using report::ErrorBand;
using report::Summary;

namespace {

/// A run with one class besides "all", whose mean TTFT and goodput are these.
Summary summary_with(std::optional<double> ttft, std::optional<double> goodput = {}) {
  Summary summary;
  summary.price_error_fraction = 0.02;
  for (const char* name : {"all", "chat"}) {
    report::ClassSummary c{
        .name = name, .has_targets = false, .figures = {}, .ttft = {}, .e2el = {}};
    c.figures.amount("mean_ttft_ms", ttft);
    c.figures.amount("request_goodput", goodput);
    if (ttft) c.ttft.mean_ms.assign(ttft_part_count, 0.0);
    summary.classes.push_back(std::move(c));
  }
  return summary;
}

BandRow first(const ErrorBand& band) {
  REQUIRE(!band.rows.empty());
  return band.rows.front();
}

/// The run, in whose TTFT so many milliseconds are of one part.
Summary with_part(Summary summary, Part part, double ms) {
  summary.classes[0].ttft.mean_ms[static_cast<std::size_t>(part)] = ms;
  return summary;
}

}  // namespace

TEST_CASE("the interval of the three runs contains the nominal one", "[report]") {
  // Lower prices let more requests in at once: both ends lie below the middle.
  const BandRow row =
      first(error_band(summary_with(111.0), summary_with(111.7), summary_with(103.5)));
  CHECK(row.low == 103.5);
  CHECK(row.nominal == 111.7);
  CHECK(row.high == 111.7);
}

TEST_CASE("a metric is on a knife's edge for the larger move of either side", "[report]") {
  // Prices move by 2 %: five times that is 10 %.
  CHECK_FALSE(
      first(error_band(summary_with(91.0), summary_with(100.0), summary_with(109.0))).knife_edge);
  CHECK(
      first(error_band(summary_with(100.0), summary_with(100.0), summary_with(111.0))).knife_edge);
  CHECK(first(error_band(summary_with(89.0), summary_with(100.0), summary_with(100.0))).knife_edge);
  // To one side with both: their difference is small, their distance from the middle is not.
  CHECK(first(error_band(summary_with(80.0), summary_with(100.0), summary_with(79.0))).knife_edge);
}

TEST_CASE("a metric that one of the runs does not have is on a knife's edge", "[report]") {
  const BandRow row = first(error_band(summary_with(5.0), summary_with({}), summary_with({})));
  CHECK(row.knife_edge);
  CHECK(row.low == 5.0);
  CHECK_FALSE(row.nominal);
  CHECK(first(error_band(summary_with(0.0), summary_with(0.0), summary_with(1.0))).knife_edge);
}

TEST_CASE("where no run completes a request the band says so", "[report]") {
  const ErrorBand band =
      error_band(summary_with({}, 0.0), summary_with({}, 0.0), summary_with({}, 0.0));
  CHECK(band.rows.empty());
  CHECK_THAT(band_text(band), Catch::Contains("No request completes in any of the three runs"));
}

TEST_CASE("prices fall by all of them at most", "[report]") {
  Summary nominal = summary_with(100.0);
  nominal.price_error_fraction = 1.5;
  CHECK_THAT(band_text(error_band(summary_with(90.0), nominal, summary_with(110.0))),
             Catch::Contains("prices 100.0 % lower and 150.0 % higher (none falls below 0)"));
}

TEST_CASE("saturation is said of latencies that are queueing, and of nothing else", "[report]") {
  const auto warning = [](const Summary& high) {
    return band_text(error_band(summary_with(100.0), summary_with(100.0), high));
  };
  CHECK_THAT(warning(with_part(with_part(summary_with(200.0), Part::wait_kv_blocks, 150.0),
                               Part::own_prefill, 50.0)),
             Catch::Contains("close to saturation, 75 % of the mean TTFT is waiting"));
  CHECK_THAT(warning(with_part(with_part(summary_with(200.0), Part::restart, 150.0),
                               Part::wait_kv_blocks, 50.0)),
             Catch::Contains("not saturation, 25 % of the mean TTFT is waiting"));
  // Only the goodput crosses its targets.
  const std::string goodput = band_text(
      error_band(summary_with(99.0, 4.0), summary_with(100.0, 4.0), summary_with(101.0, 1.0)));
  CHECK_THAT(goodput, Catch::Contains("lie close to a target") && !Catch::Contains("saturation"));
  CHECK_THAT(warning(summary_with(101.0)), !Catch::Contains("warning"));
}

TEST_CASE("the JSON has the three values of every row", "[report]") {
  const auto json = nlohmann::json::parse(
      band_json(error_band(summary_with(90.0), summary_with(100.0), summary_with(120.0))));
  CHECK(json["prices_lower_fraction"] == 0.02);
  CHECK(json["prices_higher_fraction"] == 0.02);
  CHECK(json["metrics"][0]["low"] == 90.0);
  CHECK(json["metrics"][0]["nominal"] == 100.0);
  CHECK(json["metrics"][0]["high"] == 120.0);
  CHECK(json["metrics"][0]["knife_edge"] == true);
}
