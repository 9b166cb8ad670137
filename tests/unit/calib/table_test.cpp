#include "calib/table.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "sim/config/diagnostic.hpp"

using namespace tokenline;
using calib::read_table;
using Catch::Contains;

namespace {

/// A file that is removed with its scope.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text)
      : path_((std::filesystem::temp_directory_path() / "tokenline_table_test.csv").string()) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

TEST_CASE("columns come in the order asked for, whatever the file's", "[calib]") {
  const TemporaryFile file("n,dtype,m,note\n3,bfloat16,2,x\r\n5,fp8,4,y\n7,bfloat16,6,z\n");
  CHECK(read_table(file.path(), {"m", "n"}, {{"dtype", "bfloat16"}}) ==
        calib::Rows{{2, 3}, {6, 7}});
}

TEST_CASE("a filter on a column that a file lacks excludes nothing", "[calib]") {
  const TemporaryFile file("m\n1\n2\n");
  CHECK(read_table(file.path(), {"m"}, {{"dtype", "bfloat16"}}).size() == 2);
}

TEST_CASE("every bad row of a table is reported at its line", "[calib]") {
  const TemporaryFile file("m,t\n1,2\n1\n-1,2\n1,nan\n1,0\n");
  CHECK_THROWS_WITH(read_table(file.path(), {"m", "t"}),
                    Contains(":3:1: error: (row): 1 fields, the header has 2") &&
                        Contains(":4:1: error: m: '-1' is not a positive number") &&
                        Contains(":5:1: error: t: 'nan'") && Contains(":6:1: error: t: '0'"));
}

TEST_CASE("a missing column, an empty table and a missing file are errors", "[calib]") {
  const TemporaryFile file("m,t\n");
  CHECK_THROWS_WITH(read_table(file.path(), {"k"}), Contains("k: the header lacks this column"));
  CHECK_THROWS_WITH(read_table(file.path(), {"m"}), Contains("no row is left"));
  CHECK_THROWS_AS(read_table("/nowhere/gemm.csv", {"m"}), config::ConfigError);
}
