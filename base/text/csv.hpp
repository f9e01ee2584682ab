// CSV as in RFC 4180: a header line, quoted fields, CRLF or LF, an optional byte-order mark. Read row by row, so memory
// stays flat.
#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace distsim {

class CsvReader {
 public:
  /// `name` appears in error messages. Reads the header. Errors: empty input, duplicate column, a line over 1 MiB, NUL
  /// bytes.
  static Result<CsvReader> open(std::istream& in, std::string name);

  const std::vector<std::string>& header() const { return header_; }
  /// Index of a column, or nothing.
  std::optional<std::size_t> column(std::string_view name) const;
  /// Index of a column that must be there; the error suggests the nearest one.
  Result<std::size_t> require(std::string_view name) const;

  /// Next row, or nothing at the end. A row with another number of fields than the header is an error that names its
  /// line. Empty lines are skipped. So is the header where it comes again, as in files that were put together; the log
  /// says so once. Another header, a row of which more than half of the cells that hold something name columns, in
  /// whatever case and order, is an error: its rows would be read by the names of the first.
  Result<std::optional<std::vector<std::string>>> next();

  /// Line on which the last row began; 1 is the header.
  std::size_t line() const { return row_line_; }
  std::string position() const { return name_ + ":" + std::to_string(row_line_); }

 private:
  CsvReader(std::istream& in, std::string name) : in_(&in), name_(std::move(name)) {}
  Result<std::optional<std::vector<std::string>>> read_record();
  bool names_columns(const std::vector<std::string>& row) const;
  Result<void> header_again(const std::vector<std::string>& row);
  Result<std::optional<std::vector<std::string>>> parse_record();
  std::istream* in_;
  std::string name_;
  std::vector<std::string> header_;
  std::set<std::string, std::less<>> plain_names_;  ///< of the columns, as names_columns compares them
  bool said_again_ = false;
  std::size_t next_line_ = 1, row_line_ = 0;
};

/// A field as written to a CSV file: quoted when it contains a comma, quote or line break; control characters are \xNN.
/// Text that a spreadsheet would run (= + - @, also in full width or behind blanks; no number) gets a ' before it.
std::string csv_field(std::string_view text);
/// Fields joined to a line, with its line feed.
std::string csv_line(const std::vector<std::string>& fields);

}  // namespace distsim
