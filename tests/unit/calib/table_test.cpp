#include "calib/table.hpp"

#include <catch2/catch.hpp>

#include "sim/config/diagnostic.hpp"
#include "tests/support/scratch.hpp"

using namespace tokenline;
using calib::read_table;
using Catch::Contains;

namespace {

/// A table of that text, read for some columns.
calib::Table read(const std::string& text, const std::vector<std::string_view>& numbers,
                  const std::vector<calib::TextColumn>& texts = {}) {
  const Scratch folder;
  return read_table(folder.write("table.csv", text), numbers, texts);
}

}  // namespace

TEST_CASE("columns come in the order asked for, whatever the file's", "[calib]") {
  const calib::Table table = read("n,dtype,m,note\n3,bfloat16,2,x\r\n5,fp8,4,y\n", {"m", "n"},
                                  {{"dtype"}, {"note", "none"}});
  CHECK(table.numbers == std::vector<std::vector<double>>{{2, 3}, {4, 5}});
  CHECK(table.texts == std::vector<std::vector<std::string>>{{"bfloat16", "x"}, {"fp8", "y"}});
}

TEST_CASE("a column of words that a file lacks says its fallback in every row", "[calib]") {
  const calib::Table table = read("m\n1\n2\n", {"m"}, {{"dtype", "bfloat16"}});
  CHECK(table.texts == std::vector<std::vector<std::string>>{{"bfloat16"}, {"bfloat16"}});
}

TEST_CASE("zero is a number only where it is allowed", "[calib]") {
  CHECK(read("past\n0\n", {"past?"}).numbers == std::vector<std::vector<double>>{{0.0}});
  CHECK_THROWS_WITH(read("past\n0\n", {"past"}), Contains("past: '0' is not a positive number"));
  CHECK_THROWS_WITH(read("past\n-1\n", {"past?"}),
                    Contains("past: '-1' is not a non-negative number"));
}

TEST_CASE("every bad row of a table is reported at its line", "[calib]") {
  CHECK_THROWS_WITH(read("m,t\n1,2\n1\n-1,2\n1,nan\n1,0\n", {"m", "t"}),
                    Contains(":3:1: error: (row): 1 fields, the header has 2") &&
                        Contains(":4:1: error: m: '-1' is not a positive number") &&
                        Contains(":5:1: error: t: 'nan'") && Contains(":6:1: error: t: '0'"));
}

TEST_CASE("a missing column, an empty table and a missing file are errors", "[calib]") {
  CHECK_THROWS_WITH(read("m,t\n", {"k"}), Contains("k: the header lacks this column"));
  CHECK_THROWS_WITH(read("m,t\n", {"m"}, {{"dtype"}}),
                    Contains("dtype: the header lacks this column"));
  CHECK_THROWS_WITH(read("m,t\n", {"m"}), Contains("no row follows the header"));
  CHECK_THROWS_AS(read_table("/nowhere/gemm.csv", {"m"}), config::ConfigError);
}
