#include "tools/sweep/sqlite_file.hpp"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <system_error>
#include <utility>

#include "sim/report/run_directory.hpp"

namespace tokenline::sweep {
namespace {

std::string sql_name(const std::string& name) {
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

/// Binds the value to the parameter `index`, from 1; the text must outlive the statement.
int bind_value(sqlite3_stmt* statement, int index, const SqlValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value))
    return sqlite3_bind_int64(statement, index, *whole);
  if (const auto* real = std::get_if<double>(&value))
    return sqlite3_bind_double(statement, index, *real);
  if (const auto* text = std::get_if<std::string>(&value))
    return sqlite3_bind_text(statement, index, text->data(), static_cast<int>(text->size()),
                             nullptr);
  return sqlite3_bind_null(statement, index);
}

}  // namespace

void SqliteFile::Close::operator()(sqlite3* database) const { sqlite3_close(database); }

SqliteFile::SqliteFile(std::string path)
    : path_(std::move(path)), temporary_(fmt::format("{}.tmp-{}", path_, ::getpid())) {
  std::error_code ignored;
  std::filesystem::remove(temporary_, ignored);
  sqlite3* database = nullptr;
  const int opened = sqlite3_open(temporary_.c_str(), &database);
  database_.reset(database);
  if (opened != SQLITE_OK) fail();
  // What is not whole is thrown away: no journal is needed.
  execute("PRAGMA journal_mode = OFF");
  execute("BEGIN");
}

SqliteFile::~SqliteFile() {
  database_.reset();
  std::error_code ignored;
  if (!temporary_.empty()) std::filesystem::remove(temporary_, ignored);
}

void SqliteFile::create(const std::string& table, std::span<const SqlColumn> columns,
                        const std::string& constraint) {
  std::string sql;
  for (const SqlColumn& column : columns)
    sql +=
        fmt::format("{}{} {}", sql.empty() ? "" : ", ", sql_name(column.name), column.declaration);
  if (!constraint.empty()) sql += ", " + constraint;
  execute(fmt::format("CREATE TABLE {} ({})", sql_name(table), sql));
}

void SqliteFile::insert(const std::string& table, std::span<const SqlValue> row) {
  std::string sql = fmt::format("INSERT INTO {} VALUES (", sql_name(table));
  for (std::size_t i = 0; i < row.size(); ++i) sql += i == 0 ? "?" : ", ?";
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(database_.get(), (sql + ")").c_str(), -1, &raw, nullptr) != SQLITE_OK)
    fail();
  const std::unique_ptr<sqlite3_stmt, Finalize> statement(raw);
  for (std::size_t i = 0; i < row.size(); ++i)
    if (bind_value(raw, static_cast<int>(i) + 1, row[i]) != SQLITE_OK) fail();
  if (sqlite3_step(raw) != SQLITE_DONE) fail();
}

void SqliteFile::finish() {
  execute("COMMIT");
  if (sqlite3_close(database_.get()) != SQLITE_OK) fail();
  static_cast<void>(database_.release());
  std::error_code trouble;
  std::filesystem::rename(temporary_, path_, trouble);
  if (trouble) throw report::OutputError(fmt::format("{}: {}", path_, trouble.message()));
  temporary_.clear();
}

void SqliteFile::execute(const std::string& sql) {
  if (sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

void SqliteFile::fail() const {
  throw report::OutputError(fmt::format("{}: {}", path_, sqlite3_errmsg(database_.get())));
}

}  // namespace tokenline::sweep
