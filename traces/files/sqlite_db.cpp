#include "traces/files/sqlite_db.hpp"

#include <sqlite3.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <new>

#include "base/system/inputs/link_target.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/printable.hpp"

namespace distsim::traces {
namespace {

struct Finalize {
  void operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

/// A table of the file's own, in which reading a row runs nothing.
bool plain_table(std::string_view type, std::string_view sql) {
  std::string upper(sql.substr(0, 40));
  for (char& c : upper) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
  return type == "table" && upper.starts_with("CREATE TABLE");
}

/// The size that the header of a database states; 0: none, as before version 3.7 of SQLite.
std::uint64_t stated_size(std::string_view head) {
  const auto at = [&](std::size_t place, std::size_t bytes) {  // big-endian
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < bytes; ++i) number = number << 8 | static_cast<unsigned char>(head[place + i]);
    return number;
  };
  constexpr std::size_t kHeader = 100;
  if (head.size() < kHeader || at(24, 4) != at(92, 4)) return 0;  // the number of pages is of an older change
  const std::uint64_t page = at(16, 2);
  return (page == 1 ? 65536 : page) * at(28, 4);
}

/// SQLite takes what lacks in the last page of a file for zeros. A log of what was written since does not count: the header
/// that it would change is that of the file as it is.
Result<void> check_whole(std::string_view head, std::uint64_t bytes, const std::string& name) {
  const std::uint64_t expected = stated_size(head);
  if (bytes >= expected) return {};
  return Error{"found " + std::to_string(bytes) + " bytes, expected " + std::to_string(expected) +
                   " as its header says: a SQLite file that is cut off",
               name, ""};
}

bool has_content(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && info.st_size > 0;
}

bool has_log(const std::string& path) {
  const std::string file = resolved_path(path);
  return has_content(file + "-wal") || has_content(file + "-journal");
}

/// How SQLite opens the file. A database without a log is told to have no writers: in WAL mode SQLite would else leave files
/// beside it. Told so, it reads over logs.
std::string uri_of(const std::string& path, bool with_log) {
  std::string uri = path.starts_with('/') ? "file://" : "file:";
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/';
    char text[4];
    std::snprintf(text, sizeof text, "%%%02X", static_cast<unsigned>(static_cast<unsigned char>(c)));
    uri += plain ? std::string(1, c) : std::string(text);
  }
  return with_log ? uri : uri + "?immutable=1";
}

/// Of a database with a log: its index in memory, and not in a file -shm beside it, which is what a database has that nobody
/// else may open; and the log stays where it is.
void leave_log_alone(sqlite3* db) {
  sqlite3_exec(db, "PRAGMA locking_mode=EXCLUSIVE", nullptr, nullptr, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

/// Locks nothing: an exclusive lock needs a file that may be written.
constexpr const char* kWithoutLocks = "unix-none";

/// In memory no database can be in WAL mode: the two bytes of its header that say so. Its log is not there either way.
void leave_wal_mode(unsigned char* header, std::size_t size) {
  constexpr std::size_t kWriteVersion = 18, kReadVersion = 19;
  constexpr unsigned char kRollback = 1, kWal = 2;
  for (const std::size_t at : {kWriteVersion, kReadVersion}) {
    if (at < size && header[at] == kWal) header[at] = kRollback;
  }
}

}  // namespace

std::int64_t SqliteRow::integer(int column, std::int64_t absent) const {
  const int type = sqlite3_column_type(statement_, column);
  return type == SQLITE_INTEGER || type == SQLITE_FLOAT ? sqlite3_column_int64(statement_, column) : absent;
}

std::string_view SqliteRow::text(int column) const {
  if (sqlite3_column_type(statement_, column) != SQLITE_TEXT) return {};
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (bytes == nullptr) throw std::bad_alloc();  // the only reason for a text
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::string_view SqliteRow::blob(int column) const {
  if (sqlite3_column_type(statement_, column) != SQLITE_BLOB) return {};
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  return bytes == nullptr ? std::string_view()
                          : std::string_view(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
}

bool SqliteRow::is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }

bool SqliteRow::is_text(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_TEXT; }

std::optional<std::int64_t> SqliteRow::number(int column) const {
  const int type = sqlite3_column_type(statement_, column);
  if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) return std::nullopt;
  const std::int64_t whole = sqlite3_column_int64(statement_, column);
  if (type == SQLITE_FLOAT && static_cast<double>(whole) != sqlite3_column_double(statement_, column))
    return std::nullopt;
  return whole;
}

std::optional<std::uint32_t> SqliteRow::gpu(int column) const {
  const std::optional<std::int64_t> index = number(column);
  return index && *index >= 0 && *index <= INT32_MAX ? std::optional(static_cast<std::uint32_t>(*index)) : std::nullopt;
}

void SqliteDb::Close::operator()(sqlite3* db) const { sqlite3_close_v2(db); }

Error SqliteDb::failure() const {
  if (sqlite3_errcode(db_.get()) == SQLITE_NOMEM) throw std::bad_alloc();
  return Error{"found a damaged SQLite file (" + printable(sqlite3_errmsg(db_.get()), 100) +
                   "), expected a report of nsys or nvprof",
               name_, ""};
}

Result<SqliteDb> SqliteDb::checked(std::unique_ptr<sqlite3, Close> handle, const std::string& name) {
  SqliteDb db(std::move(handle), name);
  sqlite3* raw = db.db_.get();
  sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_limit(raw, SQLITE_LIMIT_LENGTH, 1 << 26);
  sqlite3_exec(raw, "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0;", nullptr, nullptr, nullptr);
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(raw, "SELECT name, type, sql FROM sqlite_master", -1, &statement, nullptr) != SQLITE_OK)
    return db.failure();
  const Statement owner(statement);
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
    const SqliteRow row(statement);
    if (plain_table(row.text(1), row.text(2))) db.tables_.emplace(row.text(0));
  }
  if (code != SQLITE_DONE) return db.failure();
  return db;
}

Result<SqliteDb> SqliteDb::open(const std::string& path) {
  sqlite3* raw = nullptr;
  const bool with_log = has_log(path);
  const int code =
      sqlite3_open_v2(uri_of(path, with_log).c_str(), &raw,
                      SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, with_log ? kWithoutLocks : nullptr);
  std::unique_ptr<sqlite3, Close> db(raw);
  if (code != SQLITE_OK) return Error{"cannot be opened as SQLite", path, ""};
  if (with_log) leave_log_alone(raw);
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode)) {
    std::string head(100, '\0');
    std::ifstream in(path, std::ios::binary);
    in.read(head.data(), static_cast<std::streamsize>(head.size()));
    head.resize(static_cast<std::size_t>(in.gcount()));
    TRY(check_whole(head, static_cast<std::uint64_t>(info.st_size), path));
  }
  return checked(std::move(db), path);
}

Result<SqliteDb> SqliteDb::from_bytes(const std::string& bytes, const std::string& name) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(":memory:", &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  std::unique_ptr<sqlite3, Close> db(raw);
  auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(bytes.size() + 1));
  if (code != SQLITE_OK || copy == nullptr)
    return Error{"out of memory for a SQLite file of " + std::to_string(bytes.size()) + " bytes", name, ""};
  std::memcpy(copy, bytes.data(), bytes.size());
  leave_wal_mode(copy, bytes.size());
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  // From here on the copy is SQLite's, also when this fails.
  if (sqlite3_deserialize(raw, "main", copy, size, size,
                          SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY) != SQLITE_OK) {
    return Error{"found a damaged SQLite file, expected a report of nsys or nvprof", name, ""};
  }
  TRY(check_whole(bytes, bytes.size(), name));
  return checked(std::move(db), name);
}

Result<std::set<std::string>> SqliteDb::columns(const std::string& table) const {
  std::set<std::string> out;
  if (!has(table)) return out;
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(db_.get(), "SELECT name FROM pragma_table_info(?)", -1, &statement, nullptr) != SQLITE_OK)
    return failure();
  const Statement owner(statement);
  if (sqlite3_bind_text(statement, 1, table.c_str(), -1, SQLITE_TRANSIENT) != SQLITE_OK) return failure();
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) out.emplace(SqliteRow(statement).text(0));
  if (code != SQLITE_DONE) return failure();
  return out;
}

namespace {

/// As a table has it that lacks the column; only of columns that tell GPUs, streams and launches apart, which would else be
/// one. Empty: it is there, or nothing is near.
std::string misspelt(const std::string& column, const std::set<std::string>& there) {
  static const std::set<std::string> kKeys{"deviceId", "contextId", "streamId", "correlationId"};
  if (!kKeys.contains(column) || there.contains(column)) return "";
  for (const std::string& name : there) {
    const bool as_long = name.size() <= column.size() + 2 && column.size() <= name.size() + 1;
    if (as_long && !kKeys.contains(name) && !nearest_spelling(name, {column}).empty()) return name;
  }
  return "";
}

}  // namespace

Result<void> SqliteDb::each_row(const std::string& table, const std::vector<std::string>& wanted,
                                const std::function<void(const SqliteRow&)>& each) const {
  if (!has(table)) return {};
  TRY_ASSIGN(const std::set<std::string> there, columns(table));
  std::string sql;
  for (const std::string& column : wanted) {
    if (const std::string written = misspelt(column, there); !written.empty())
      return Error{"table " + table + ": column " + in_quotes(written, 60) + ": found no such column, expected " +
                       in_quotes(column, 60),
                   name_, ""};
    sql += sql.empty() ? "SELECT " : ", ";
    sql += there.contains(column) ? "\"" + column + "\"" : "NULL";
  }
  sql += " FROM \"" + table + "\"";
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(db_.get(), sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) return failure();
  const Statement owner(statement);
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) each(SqliteRow(statement));
  return code == SQLITE_DONE ? Result<void>() : Result<void>(failure());
}

}  // namespace distsim::traces
