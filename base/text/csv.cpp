#include "base/text/csv.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <istream>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/log.hpp"
#include "base/text/counted.hpp"
#include "base/text/lower_case.hpp"
#include "base/text/markup.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/printable.hpp"

namespace distsim {
namespace {

constexpr std::size_t kMaxRecord = 1u << 20;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// Takes fields out of the text of a record, character by character.
class RecordParser {
 public:
  void feed(char c) {
    if (quoted_) {
      if (c == '"') {
        quoted_ = false;
        after_quote_ = true;
      } else {
        field_ += c;
      }
    } else if (c == '"' && after_quote_) {
      field_ += '"';
      quoted_ = true;
      after_quote_ = false;
    } else if (c == '"' && field_.empty()) {
      quoted_ = true;
    } else if (c == ',') {
      end_field();
    } else {
      field_ += c;
      after_quote_ = false;
    }
  }
  bool inside_quotes() const { return quoted_; }
  bool blank() const { return fields_.empty() && field_.empty() && !after_quote_; }
  std::vector<std::string> finish() {
    end_field();
    return std::move(fields_);
  }

 private:
  void end_field() {
    fields_.push_back(std::move(field_));
    field_.clear();
    after_quote_ = false;
  }
  std::vector<std::string> fields_;
  std::string field_;
  bool quoted_ = false, after_quote_ = false;
};

/// A control character, or a byte of what may be one in UTF-8, or no UTF-8 at all.
bool may_harm(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\n' && c != '\t') || byte >= 0x7f;
}

/// Lines of a cell stay lines.
std::string without_controls(std::string_view text) {
  std::string out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find_first_of("\n\t", begin), text.size());
    out += printable(text.substr(begin, end - begin), std::string::npos);
    if (end < text.size()) out += text[end];
    begin = end + 1;
  }
  return out;
}

/// Without what a spreadsheet skips before a formula: blanks, tabs and line feeds.
std::string_view past_blanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\n"), text.size()));
  return text;
}

/// With = + - @ for its full-width form, as a spreadsheet of Japanese or Chinese takes it.
std::string half_width_start(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, char>, 4> kFullWidth{
      {{"\xEF\xBC\x9D", '='}, {"\xEF\xBC\x8B", '+'}, {"\xEF\xBC\x8D", '-'}, {"\xEF\xBC\xA0", '@'}}};
  for (const auto& [wide, plain] : kFullWidth) {
    if (text.starts_with(wide)) return plain + std::string(text.substr(wide.size()));
  }
  return std::string(text);
}

bool begins_formula(std::string_view field) {
  const std::string text = half_width_start(past_blanks(field));
  if (text.size() < 2 || std::string_view("=+-@").find(text[0]) == std::string_view::npos) return false;
  char* rest = nullptr;
  (void)std::strtod(text.c_str(), &rest);
  return *rest != '\0' || text[0] == '=' || text[0] == '@';
}

/// A cell as names of columns are compared: in lower case, without blanks around it.
std::string plain_name(std::string_view cell) {
  const std::size_t begin = cell.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return "";
  return lower_case(cell.substr(begin, cell.find_last_not_of(" \t") + 1 - begin));
}

std::string names_in_a_line(const std::vector<std::string>& cells) {
  std::string line = csv_line(cells);
  line.pop_back();
  return in_quotes(line, 300);
}

/// One line without its line feed; stops after kMaxRecord + 1 bytes, so that a file without line feeds is not read
/// whole.
bool read_line(std::istream& in, std::string& line) {
  line.clear();
  std::streambuf* buffer = in.rdbuf();
  for (int c = buffer->sbumpc(); c != std::char_traits<char>::eof(); c = buffer->sbumpc()) {
    if (c == '\n') return true;
    line += static_cast<char>(c);
    if (line.size() > kMaxRecord) return true;
  }
  return !line.empty();
}

}  // namespace

Result<CsvReader> CsvReader::open(std::istream& in, std::string name) {
  CsvReader reader(in, std::move(name));
  if (in.peek() == 0xEF) {
    char mark[3] = {};
    in.read(mark, 3);
    if (std::string_view(mark, 3) != kByteOrderMark)
      return Error{"found text that is not UTF-8, expected a CSV header", reader.name_ + ":1", ""};
  }
  TRY_ASSIGN(auto header, reader.read_record());
  if (!header) return Error{"found an empty file, expected a CSV header", reader.name_, ""};
  std::set<std::string> seen;
  for (const auto& column : *header) {
    if (!seen.insert(column).second)
      return Error{"column '" + column + "' appears twice in the header", reader.position(), ""};
  }
  reader.header_ = std::move(*header);
  for (const std::string& column : reader.header_) reader.plain_names_.insert(plain_name(column));
  return reader;
}

std::optional<std::size_t> CsvReader::column(std::string_view name) const {
  for (std::size_t i = 0; i < header_.size(); ++i) {
    if (header_[i] == name) return i;
  }
  return std::nullopt;
}

Result<std::size_t> CsvReader::require(std::string_view name) const {
  if (const auto i = column(name)) return *i;
  for (const std::string& there : header_) {
    if (plain_name(there) == name)
      return Error{"column: found " + in_quotes(there, 60) + ", expected '" + std::string(name) + "'", name_ + ":1",
                   ""};
  }
  return Error{"column '" + std::string(name) + "' is missing", name_ + ":1", spelling_hint(name, header_)};
}

bool CsvReader::names_columns(const std::vector<std::string>& row) const {
  std::size_t named = 0, others = 0;
  for (const std::string& cell : row) {
    if (cell.empty()) continue;
    ++(plain_names_.contains(plain_name(cell)) ? named : others);
    if (2 * others >= row.size()) return false;
  }
  return named >= 2 && named > others;
}

Result<void> CsvReader::header_again(const std::vector<std::string>& row) {
  if (row != header_)
    return Error{
        "found another header, " + names_in_a_line(row) + ", expected rows of the first, " + names_in_a_line(header_),
        position(), "give files with other columns one by one"};
  if (!std::exchange(said_again_, true))
    log_warn([&] { return position() + ": found the header again, as in files put together: skipped"; });
  return {};
}

Result<std::optional<std::vector<std::string>>> CsvReader::next() {
  TRY_ASSIGN(auto record, read_record());
  while (record) {
    if (record->front().starts_with(kByteOrderMark))
      record->front().erase(0, kByteOrderMark.size());  // of a later file
    if (*record != header_ && !names_columns(*record)) break;
    TRY(header_again(*record));
    TRY_ASSIGN(record, read_record());
  }
  if (record && record->size() != header_.size()) {
    return Error{"found " + counted(record->size(), "field") + ", expected " + std::to_string(header_.size()) +
                     " as in the header",
                 position(), ""};
  }
  return record;
}

Result<std::optional<std::vector<std::string>>> CsvReader::read_record() {
  try {
    return parse_record();
  } catch (const std::system_error& e) {  // of base/system/inputs/open_input.hpp
    return Error{"cannot be read beyond this point (" + e.code().message() + ")", position(), ""};
  }
}

Result<std::optional<std::vector<std::string>>> CsvReader::parse_record() {
  std::size_t length = 0;
  RecordParser parser;
  std::string line;
  row_line_ = next_line_;
  while (read_line(*in_, line)) {
    ++next_line_;
    length += line.size() + 1;
    if (length > kMaxRecord) return Error{"found a row longer than 1 MiB", position(), "is a quote not closed?"};
    if (row_line_ == 1 && line.starts_with("\x1f\x8b"))
      return Error{"found a gzip file, expected text", position(), "unpack it with gunzip"};
    if (line.find('\0') != std::string::npos) return Error{"found a NUL byte, expected text", position(), ""};
    if (!line.empty() && line.back() == '\r') line.pop_back();
    for (const char c : line) parser.feed(c);
    if (parser.inside_quotes()) {
      parser.feed('\n');
      continue;
    }
    if (parser.blank()) {
      row_line_ = next_line_;
      continue;
    }
    return std::optional(parser.finish());
  }
  if (parser.inside_quotes()) return Error{"found the end of the file inside a quoted field", position(), ""};
  return std::optional<std::vector<std::string>>();
}

std::string csv_field(std::string_view text) {
  const std::string shown =
      without_hidden(std::ranges::any_of(text, may_harm) ? without_controls(text) : std::string(text));
  const std::string field = begins_formula(shown) ? "'" + shown : shown;
  if (field.find_first_of(",\"\n") == std::string_view::npos) return field;
  std::string quoted = "\"";
  for (const char c : field) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (std::size_t i = 0; i < fields.size(); ++i) line += (i ? "," : "") + csv_field(fields[i]);
  return line + "\n";
}

}  // namespace distsim
