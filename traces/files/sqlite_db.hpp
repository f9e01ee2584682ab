// A SQLite file from an untrusted source, read only: plain tables only, no views, no virtual tables, so that a query
// cannot run code of the file's own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace distsim::traces {

/// One row of a query.
class SqliteRow {
 public:
  explicit SqliteRow(sqlite3_stmt* statement) : statement_(statement) {}
  std::int64_t integer(int column, std::int64_t absent = 0) const;  ///< `absent` for NULL and what is no number
  std::string_view text(int column) const;                          ///< "" for NULL; until the next row
  std::string_view blob(int column) const;                          ///< "" for what is no blob; until the next row
  bool is_null(int column) const;
  bool is_text(int column) const;
  std::optional<std::int64_t> number(int column) const;  ///< nothing for NULL and what is no whole number
  std::optional<std::uint32_t> gpu(int column) const;    ///< an index of a GPU, 0 to 2^31 - 1

 private:
  sqlite3_stmt* statement_;
};

class SqliteDb {
 public:
  /// From a file on disk. Error: not SQLite.
  static Result<SqliteDb> open(const std::string& path);
  /// From the bytes of a file; `name` appears in messages.
  static Result<SqliteDb> from_bytes(const std::string& bytes, const std::string& name);

  bool has(const std::string& table) const { return tables_.contains(table); }
  /// Columns of a table; empty where there is none.
  Result<std::set<std::string>> columns(const std::string& table) const;

  /// Calls `each` for every row of `table`, sorted by nothing in particular: `wanted` columns in order, NULL for those
  /// that the table lacks. Nothing where there is no table. Error: a damaged file.
  Result<void> each_row(const std::string& table, const std::vector<std::string>& wanted,
                        const std::function<void(const SqliteRow&)>& each) const;

 private:
  struct Close {
    void operator()(sqlite3* db) const;
  };
  SqliteDb(std::unique_ptr<sqlite3, Close> db, std::string name) : db_(std::move(db)), name_(std::move(name)) {}
  static Result<SqliteDb> checked(std::unique_ptr<sqlite3, Close> db, const std::string& name);
  Error failure() const;

  std::unique_ptr<sqlite3, Close> db_;
  std::string name_;
  std::set<std::string> tables_;
};

}  // namespace distsim::traces
