// Measurements in CSV files: what is read, and every mistake at its place.
#include "tools/validate/table.hpp"

#include <catch2/catch.hpp>

#include "sim/report/run_directory.hpp"
#include "tests/support/scratch.hpp"

using namespace tokenline;
using namespace tokenline::validate;

namespace {

/// The report of the mistakes of a text read as name, n (whole) and x (positive).
std::string mistakes(const std::string& text) {
  const Scratch folder;
  report::write_file(folder / "t.csv", text);
  try {
    Table table(folder / "t.csv", {"name", "n", "x"});
    for (const TableRow& row : table.rows()) {
      static_cast<void>(row.word("name"));
      static_cast<void>(row.integer("n"));
      static_cast<void>(row.positive("x"));
    }
    table.finish();
  } catch (const config::ConfigError& e) {
    std::string all;
    for (const auto& d : e.diagnostics())
      all += std::to_string(d.where.line) + ":" + std::to_string(d.where.column) + " " + d.path +
             ": " + d.message + "\n";
    return all;
  }
  return "";
}

}  // namespace

TEST_CASE("columns are found by name, in any order, among others", "[validate]") {
  const Scratch folder;
  report::write_file(folder / "t.csv", "x,more,n,name\r\n2.5,\"a, b\",3,first\r\n0.5,,4,second");
  Table table(folder / "t.csv", {"name", "n", "x"});
  REQUIRE(table.rows().size() == 2);
  const TableRow& first = table.rows()[0];
  CHECK(first.line() == 2);
  CHECK(first.word("name") == "first");
  CHECK(first.integer("n") == 3);
  CHECK(first.positive("x") == 2.5);
  CHECK(first.text("more") == "a, b");
  CHECK(first.text("absent").empty());
  CHECK(table.rows()[1].word("name") == "second");
  CHECK_NOTHROW(table.finish());
}

TEST_CASE("all mistakes of a file come out together, in the order of the text", "[validate]") {
  CHECK(mistakes("name,n,x\na,0,1\n,2,-1\n\u00e9,1.5,nan\n") ==
        "2:3 n: expected a whole number from 1 to 1000000000, got '0'\n"
        "3:1 name: nothing is given\n"
        "3:4 x: expected a number greater than 0, got '-1'\n"
        "4:3 n: expected a whole number from 1 to 1000000000, got '1.5'\n"
        "4:7 x: expected a number greater than 0, got 'nan'\n");
}

TEST_CASE("lines of another shape are mistakes", "[validate]") {
  CHECK(
      mistakes("name,n,x\na,1\n\nb,2,3,4\n") ==
      "2:1 : 2 fields, the header has 3\n3:1 : an empty line\n4:1 : 4 fields, the header has 3\n");
}

TEST_CASE("every missing column is named, and a file needs a row", "[validate]") {
  CHECK(mistakes("name,m\na,1\n") ==
        "1:1 n: the header lacks this column\n1:1 x: the header lacks this column\n");
  CHECK(mistakes("name,n,x\n") == "1:1 : no row follows the header\n");
  CHECK(mistakes("name,n,x") == "1:1 : no row follows the header\n");
}

TEST_CASE("a file full of mistakes reports twenty and counts the rest", "[validate]") {
  std::string text = "name,n,x\n";
  for (int i = 0; i < 25; ++i) text += "a,0,1\n";
  const std::string out = mistakes(text);
  CHECK(std::ranges::count(out, '\n') == 21);
  CHECK_THAT(out, Catch::EndsWith("21:3 : and 5 more\n"));
}

TEST_CASE("a file that is not there, or is no text, is refused", "[validate]") {
  CHECK_THROWS_AS(Table("/nowhere/t.csv", {"a"}), config::ConfigError);
  CHECK_THAT(mistakes("name,n,x\na\xff,1,1\n"), Catch::StartsWith("2:2 "));
}
