// Error statistics against values worked out by hand, and what is printed of them.
#include "tools/validate/errors.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "sim/base/check.hpp"
#include "tools/validate/output.hpp"

using namespace tokenline;
using namespace tokenline::validate;

namespace {

Row row(const std::string& group, const std::string& metric, double measured,
        std::optional<double> predicted, const std::string& refused = {}) {
  static int line = 0;
  return {.group = group,
          .metric = metric,
          .unit = "ms",
          .label = "line " + std::to_string(++line),
          .measured = measured,
          .predicted = predicted,
          .refused = refused};
}

/// Relative errors −10 %, +20 %, +30 %, −40 % and one refusal.
Comparison four() {
  return {
      .title = "four rows",
      .rows = {row("a", "t", 100.0, 90.0), row("a", "t", 100.0, 120.0), row("b", "t", 10.0, 13.0),
               row("b", "t", 10.0, 6.0), row("c", "t", 10.0, {}, "not modelled, yet")},
      .figures = {{"queue_mean", 2.5}}};
}

}  // namespace

TEST_CASE("errors are relative to what was measured", "[validate]") {
  const Comparison c = four();
  const Errors e = errors_of(c.rows, "t");
  CHECK(e.rows == 4);
  CHECK(e.refused == 1);
  CHECK(*e.mean_ape == Approx((0.1 + 0.2 + 0.3 + 0.4) / 4));
  CHECK(*e.median_ape == Approx((0.2 + 0.3) / 2));
  CHECK(*e.bias == Approx((-0.1 + 0.2 + 0.3 - 0.4) / 4).margin(1e-12));
  // numpy.percentile: rank 0.9 · 3 = 2.7 between 0.3 and 0.4.
  CHECK(*e.p90_ape == Approx(0.3 + 0.7 * 0.1));
}

TEST_CASE("a group has the errors of its own rows", "[validate]") {
  const Comparison c = four();
  const Errors a = errors_of(c.rows, "t", "a");
  CHECK(a.rows == 2);
  CHECK(a.refused == 0);
  CHECK(*a.mean_ape == Approx(0.15));
  CHECK(*a.bias == Approx(0.05));
  CHECK(groups_of(c.rows) == std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("without a predicted row there is no error, not an error of zero", "[validate]") {
  const std::vector<Row> rows{row("g", "t", 1.0, {}, "why")};
  const Errors e = errors_of(rows, "t");
  CHECK(e.rows == 0);
  CHECK(e.refused == 1);
  CHECK_FALSE(e.mean_ape);
  CHECK_FALSE(e.median_ape);
  CHECK_FALSE(e.bias);
  CHECK_FALSE(e.p90_ape);
  const Comparison c{.title = "t", .rows = rows, .figures = {}};
  CHECK(violations(c, 1000.0) == std::vector<std::string>{"t: nothing was predicted"});
  CHECK(overall_lines(c) ==
        "overall median_ape_pct=- mean_ape_pct=- bias_pct=- p90_ape_pct=- rows=0 refused=1\n");
}

TEST_CASE("a refused measurement with two metrics is one refusal", "[validate]") {
  std::vector<Row> rows;
  for (const char* label : {"line 2", "line 3"})
    for (const char* metric : {"ttft", "tpot"}) {
      Row r = row("g", metric, 1.0, {}, "no such GPU");
      r.label = label;
      rows.push_back(r);
    }
  rows.push_back(row("g", "ttft", 1.0, {}, "another reason"));
  const auto refusals = refusals_of(rows);
  REQUIRE(refusals.size() == 2);
  CHECK(refusals[0].reason == "no such GPU");
  CHECK(refusals[0].count == 2);
  CHECK(refusals[1].count == 1);
}

TEST_CASE("rows without a label are refusals of their own", "[validate]") {
  std::vector<Row> rows;
  for (int i = 0; i < 3; ++i) {
    rows.push_back(row("g", "time", 1.0, {}, "dtype int4"));
    rows.back().label.clear();
  }
  CHECK(refusals_of(rows).at(0).count == 3);
}

TEST_CASE("a bias that rounds to zero has no sign", "[validate]") {
  const Comparison c{.title = "t", .rows = {row("g", "m", 1.0, 0.99999)}, .figures = {}};
  CHECK_THAT(overall_lines(c), Catch::Contains(" bias_pct=0.00 "));
}

TEST_CASE("what a gate found stands before the overall lines", "[validate]") {
  const Comparison c = four();
  CHECK_THAT(text(c, violations(c, 20.0)),
             Catch::EndsWith("\nfailed: t: mean error 25 % exceeds 20 %\n\n" + overall_lines(c)));
}

TEST_CASE("a name that is not UTF-8 does not break the JSON", "[validate]") {
  Comparison c = four();
  c.title = "folder \xff";
  CHECK(nlohmann::json::parse(json(c))["rows"].size() == 5);
}

TEST_CASE("the ceiling holds for every metric, its own value included, and the one above is named",
          "[validate]") {
  Comparison c{
      .title = "t", .rows = {row("g", "a", 10.0, 11.0), row("g", "b", 10.0, 15.0)}, .figures = {}};
  CHECK(violations(c, 50.0).empty());
  CHECK(violations(c, 49.9) == std::vector<std::string>{"b: mean error 50 % exceeds 49.9 %"});
  c.rows.pop_back();
  CHECK(violations(c, 10.1).empty());
}

TEST_CASE("a measured value of zero has no relative error and is our bug", "[validate]") {
  CHECK_THROWS_AS(relative_error(row("g", "m", 0.0, 1.0)), InternalError);
}

TEST_CASE("the overall lines name the metric where there are several", "[validate]") {
  Comparison c = four();
  CHECK(overall_lines(c) ==
        "overall median_ape_pct=25.00 mean_ape_pct=25.00 bias_pct=0.00 p90_ape_pct=37.00 rows=4 "
        "refused=1\n");
  CHECK_THAT(text(c), Catch::EndsWith("\n" + overall_lines(c)));
  c.rows.push_back(row("a", "u", 4.0, 5.0));
  const std::string lines = overall_lines(c);
  CHECK_THAT(lines, Catch::StartsWith("overall metric=t median_ape_pct=25.00 "));
  CHECK_THAT(lines, Catch::EndsWith("\noverall metric=u median_ape_pct=25.00 mean_ape_pct=25.00 "
                                    "bias_pct=25.00 p90_ape_pct=25.00 rows=1 refused=0\n"));
  CHECK_THAT(overall_lines(c, "check"), Catch::Contains("overall metric=check.u "));
}

TEST_CASE("the text has errors by group, the reasons and the figures", "[validate]") {
  const std::string out = text(four());
  CHECK_THAT(out, Catch::Contains("\na        t          2        0     15.00   15.00    5.00"));
  CHECK_THAT(out, Catch::Contains("     1  not modelled, yet\n"));
  CHECK_THAT(out, Catch::Contains("\nqueue_mean 2.5\n"));
}

TEST_CASE("the CSV has a line per row, with commas quoted", "[validate]") {
  Comparison c = four();
  c.rows[0].label = "first";
  c.rows[4].label = "last \"one\"";
  const std::string out = csv(c);
  CHECK(std::ranges::count(out, '\n') == 6);
  CHECK_THAT(out, Catch::StartsWith("group,metric,unit,label,measured,predicted,error_pct,refused\n"
                                    "a,t,ms,first,100,90,-10,\n"));
  CHECK_THAT(out, Catch::EndsWith("\nc,t,ms,\"last \"\"one\"\"\",10,,,\"not modelled, yet\"\n"));
}

TEST_CASE("the JSON has what the text has, and null for what is not", "[validate]") {
  const auto out = nlohmann::json::parse(json(four()));
  CHECK(out["overall"]["t"]["mean_ape_pct"].get<double>() == Approx(25.0));
  CHECK(out["overall"]["t"]["refused"] == 1);
  CHECK(out["groups"].size() == 3);
  CHECK(out["groups"][2]["mean_ape_pct"].is_null());
  CHECK(out["rows"].size() == 5);
  CHECK(out["rows"][1]["error_pct"].get<double>() == Approx(20.0));
  CHECK(out["rows"][4]["predicted"].is_null());
  CHECK(out["rows"][4]["refused"] == "not modelled, yet");
  CHECK(out["refusals"][0]["count"] == 1);
  CHECK(out["figures"]["queue_mean"] == 2.5);
}
