// Tables in CSV files: what is read, and every mistake at its place.
#include "sim/config/table.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/support/scratch.hpp"

using namespace tokenline;
using config::Table;
using config::TableRow;

namespace {

/// The report of the mistakes of a text read as name, n (whole) and x (positive).
std::string mistakes(const std::string& text) {
  const Scratch folder;
  folder.write("t.csv", text);
  try {
    Table table(folder / "t.csv", {"name", "n", "x"});
    for (const TableRow& row : table.rows()) {
      static_cast<void>(row.word("name"));
      static_cast<void>(row.integer("n", {1, 1000}));
      static_cast<void>(row.real("x", {0.5, 100.0}));
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

TEST_CASE("columns are found by name, in any order, among others", "[config]") {
  const Scratch folder;
  folder.write("t.csv", "x,more,n,name\r\n2.5,\"a, b\",3,first\r\n0.5,,4,second");
  Table table(folder / "t.csv", {"name", "n", "x"});
  REQUIRE(table.rows().size() == 2);
  const TableRow& first = table.rows()[0];
  CHECK(first.line() == 2);
  CHECK(first.word("name") == "first");
  CHECK(first.integer("n", {1, 9}) == 3);
  CHECK(first.real("x", {0, 9}) == 2.5);
  CHECK(first.text("more") == "a, b");
  CHECK(first.text("absent").empty());
  CHECK(table.rows()[1].word("name") == "second");
  CHECK_NOTHROW(table.finish());
}

TEST_CASE("all mistakes of a file come out together, in the order of the text", "[config]") {
  CHECK(mistakes("name,n,x\na,0,1\n,2,-1\n\u00e9,1.5,nan\n") ==
        "2:3 n: expected a whole number from 1 to 1000, got '0'\n"
        "3:1 name: nothing is given\n"
        "3:4 x: expected a number from 0.5 to 100, got '-1'\n"
        "4:3 n: expected a whole number from 1 to 1000, got '1.5'\n"
        "4:7 x: expected a number from 0.5 to 100, got 'nan'\n");
}

TEST_CASE("lines of another shape are mistakes", "[config]") {
  CHECK(
      mistakes("name,n,x\na,1\n\nb,2,3,4\n") ==
      "2:1 : 2 fields, the header has 3\n3:1 : an empty line\n4:1 : 4 fields, the header has 3\n");
}

/// The message and hint of the first mistake of a file with columns name, n, x.
std::string hint(const std::string& text, const std::vector<std::string_view>& optional) {
  const Scratch folder;
  folder.write("t.csv", text);
  try {
    Table(folder / "t.csv", {"name", "n", "x"}, optional).finish();
  } catch (const config::ConfigError& e) {
    return e.diagnostics().front().hint;
  }
  return "no mistake";
}

TEST_CASE("a misspelt optional column is a mistake, a column of one's own is not", "[config]") {
  CHECK(hint("name,n,x,kvdtype\na,1,2,fp8\n", {"kv_dtype"}) == "did you mean 'kv_dtype'?");
  CHECK(hint("name,n,x,kv_dtype\na,1,2,fp8\n", {"kv_dtype"}) == "no mistake");
  CHECK(hint("name,n,x,kv_dtype,kvdtype\na,1,2,fp8,fp8\n", {"kv_dtype"}) == "no mistake");
  CHECK(hint("name,n,x,remark\na,1,2,slow\n", {"kv_dtype"}) == "no mistake");
}

TEST_CASE("every missing column is named, and a file needs a row", "[config]") {
  CHECK(mistakes("name,m\na,1\n") ==
        "1:1 n: the header lacks this column\n1:1 x: the header lacks this column\n");
  CHECK(hint("name,n,xx\na,1,2\n", {}) == "the file has 'xx'");
  CHECK(hint("name,n,ratio\na,1,2\n", {}) == "the file has ratio");
  CHECK(hint("name,n\na,1\n", {}).empty());
  CHECK(mistakes("name,n,x\n") == "1:1 : no row follows the header\n");
  CHECK(mistakes("name,n,x") == "1:1 : no row follows the header\n");
}

TEST_CASE("a file full of mistakes reports twenty and counts the rest", "[config]") {
  std::string text = "name,n,x\n";
  for (int i = 0; i < 25; ++i) text += "a,0,1\n";
  const std::string out = mistakes(text);
  CHECK(std::ranges::count(out, '\n') == 21);
  CHECK_THAT(out, Catch::EndsWith("21:3 : and 5 more\n"));
}

TEST_CASE("a file that is not there, or is no text, is refused", "[config]") {
  CHECK_THROWS_AS(Table("/nowhere/t.csv", {"a"}), config::ConfigError);
  CHECK_THAT(mistakes("name,n,x\na\xff,1,1\n"), Catch::StartsWith("2:2 "));
}

TEST_CASE("a field in quotes holds commas and doubled quotes", "[config]") {
  const Scratch folder;
  folder.write("t.csv", "name,n\n\"a, \"\"b\"\"\",\"3\"\n");
  Table table(folder / "t.csv", {"name", "n"});
  REQUIRE(table.rows().size() == 1);
  CHECK(table.rows()[0].text("name") == "a, \"b\"");
  CHECK(table.rows()[0].integer("n", {1, 9}) == 3);
}

TEST_CASE("a misplaced quote is met where it stands", "[config]") {
  CHECK(mistakes("name,n,x\na\"b,1,1\n\u00e9,\"1\"0,1\nc,1,\"1\n") ==
        "2:2 : a quote inside a field without quotes around it\n"
        "3:6 : expected a comma after the closing quote\n"
        "4:5 : a quote that is not closed on its line\n");
}

TEST_CASE("a byte order mark and Windows line ends are no mistakes", "[config]") {
  CHECK(mistakes("\xef\xbb\xbfname,n,x\r\na,1,1\r\n").empty());
}

TEST_CASE("a column named twice has no value", "[config]") {
  CHECK(mistakes("name,n,x,n\na,1,1,2\n") == "1:10 n: a column is named twice\n");
}

TEST_CASE("a file without a header line says which columns it should have", "[config]") {
  const Scratch folder;
  folder.write("t.csv", "\n1,2\n");
  CHECK_THROWS_WITH(
      Table(folder / "t.csv", {"a", "b"}).finish(),
      Catch::Contains("t.csv:1:1: error: no header line\n  hint: the columns are a,b"));
}

TEST_CASE("a whole number is written as one", "[config]") {
  const Scratch folder;
  folder.write("t.csv", "n\n1.5\n16.0\n4e9\n007\n");
  Table table(folder / "t.csv", {"n"});
  for (const TableRow& row : table.rows()) static_cast<void>(row.integer("n", {1, 100}));
  CHECK_THROWS_WITH(table.finish(), Catch::Contains(":2:1: error: n: ") &&
                                        Catch::Contains("got '16.0'\n  hint: write 16\n") &&
                                        Catch::Contains("got '4e9'\n/") &&
                                        Catch::Contains("got '007'\n  hint: write 7"));
}

TEST_CASE("a word is one of those known, else the nearest is named", "[config]") {
  const Scratch folder;
  folder.write("t.csv", "pass\nfwd\nbanana\n");
  const std::vector<std::string> known{"fwd", "bwd"};
  Table table(folder / "t.csv", {"pass"});
  CHECK(table.rows()[0].word("pass", known) == "fwd");
  CHECK_FALSE(table.rows()[0].wrong());
  static_cast<void>(table.rows()[1].word("pass", known));
  CHECK(table.rows()[1].wrong());
  CHECK_THROWS_WITH(table.finish(), Catch::Contains(":3:1: error: pass: unknown value 'banana'\n"
                                                    "  hint: one of: fwd, bwd"));
}

TEST_CASE("mistakes of several files come out together", "[config]") {
  const Scratch folder;
  folder.write("a.csv", "n\n");
  folder.write("b.csv", "m\n1\n");
  config::Mistakes mistakes;
  for (const char* file : {"a.csv", "b.csv"})
    mistakes.gather([&] { Table(folder / file, {"n"}).finish(); });
  CHECK_THROWS_WITH(mistakes.throw_if_any(),
                    Catch::Contains("a.csv:1:1: error: no row follows the header\n") &&
                        Catch::Contains("b.csv:1:1: error: n: the header lacks this column"));
}
