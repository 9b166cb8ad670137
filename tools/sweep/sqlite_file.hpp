#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>

struct sqlite3;

namespace tokenline::sweep {

/// A value of a row; empty is NULL.
using SqlValue = std::variant<std::monostate, std::int64_t, double, std::string>;

/// A column with its SQLite type ("INTEGER", "REAL", "TEXT") and constraint.
struct SqlColumn {
  std::string name;
  std::string declaration;
};

/// A new SQLite database that appears at its path when it is whole. Tables and rows written in the
/// same order give the same content. All functions throw OutputError.
class SqliteFile {
 public:
  explicit SqliteFile(std::string path);
  ~SqliteFile();
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;

  /// `constraint` follows the columns: "PRIMARY KEY (point, class)".
  void create(const std::string& table, std::span<const SqlColumn> columns,
              const std::string& constraint = {});
  /// Adds a row with a value for each column.
  void insert(const std::string& table, std::span<const SqlValue> row);
  /// Moves the database to its path.
  void finish();

 private:
  void execute(const std::string& sql);
  [[noreturn]] void fail() const;

  std::string path_;
  std::string temporary_;
  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace tokenline::sweep
