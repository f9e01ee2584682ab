#include "sim/serving/spec/arrival_file.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/system/inputs/open_input.hpp"
#include "base/text/csv.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/printable.hpp"
#include "base/text/quantity_text.hpp"

namespace distsim::serving {
namespace {

constexpr double kMostSeconds = 4e6;  ///< what picoseconds of 64 bits hold, with room
constexpr std::size_t kMostRows = 50'000'000;

std::optional<double> seconds_of(const std::string& text) {
  const auto value = parse_quantity(text, Dimension::none);
  if (!value.ok() || *value < 0) return std::nullopt;
  return *value;
}

/// Two to four digits at `at`, followed by `after`.
std::optional<int> digits(std::string_view text, std::size_t at, std::size_t count, char after) {
  if (text.size() <= at + count || text[at + count] != after) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(at, count)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = 10 * value + (c - '0');
  }
  return value;
}

/// Takes "Z", "+00:00" or "-08:00" off the end of a time; seconds ahead of UTC.
std::optional<double> take_offset(std::string& text) {
  if (text.ends_with('Z')) {
    text.pop_back();
    return 0;
  }
  constexpr std::size_t kLength = 6, kDate = 10;
  const std::size_t at = text.size() < kDate + kLength ? 0 : text.size() - kLength;
  if (at == 0 || (text[at] != '+' && text[at] != '-')) return 0;
  const std::string cut = text.substr(at + 1) + " ";
  const auto hours = digits(cut, 0, 2, ':'), minutes = digits(cut, 3, 2, ' ');
  if (!hours || !minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  const double seconds = *hours * 3600 + *minutes * 60;
  const bool ahead = text[at] == '+';
  text.resize(at);
  return ahead ? seconds : -seconds;
}

/// "2023-11-16 18:15:46.6805900" or "2024-05-10T00:00:00.009930+00:00" in seconds since 1970; the exactness of a double,
/// some hundred nanoseconds.
std::optional<double> date_seconds(const std::string& text) {
  std::string whole = text;
  const auto offset = take_offset(whole);
  if (!offset) return std::nullopt;
  if (whole.find('.') == std::string::npos) whole += '.';
  if (whole.size() > 10 && whole[10] == 'T') whole[10] = ' ';
  const auto year = digits(whole, 0, 4, '-'), month = digits(whole, 5, 2, '-'), day = digits(whole, 8, 2, ' ');
  const auto hour = digits(whole, 11, 2, ':'), minute = digits(whole, 14, 2, ':'), second = digits(whole, 17, 2, '.');
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  const auto fraction = seconds_of("0" + whole.substr(19) + "0");
  if (!fraction) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return static_cast<double>(days) * 86400 + *hour * 3600 + *minute * 60 + *second + *fraction - *offset;
}

enum class Format { own, date, functions };

struct Columns {
  Format format = Format::own;
  std::size_t time = 0, duration = 0;
  std::optional<std::size_t> model;
};

Result<Columns> columns_of(const CsvReader& csv) {
  Columns c;
  if (const auto date = csv.column("TIMESTAMP")) {
    c.format = Format::date;
    c.time = *date;
  } else if (csv.column("end_timestamp")) {
    c.format = Format::functions;
    TRY_ASSIGN(c.time, csv.require("end_timestamp"));
    TRY_ASSIGN(c.duration, csv.require("duration"));
  } else {
    TRY_ASSIGN(c.time, csv.require("arrival_s"));
    c.model = csv.column("model");
  }
  return c;
}

Result<double> time_of(const Columns& c, const std::vector<std::string>& row, const CsvReader& csv) {
  const auto wrong = [&](const std::string& column, const std::string& cell, const std::string& expected) {
    return Error{column + ": found " + in_quotes(cell) + ", expected " + expected, csv.position(), ""};
  };
  if (c.format == Format::date) {
    const auto time = date_seconds(row[c.time]);
    return time ? Result<double>(*time)
                : wrong("TIMESTAMP", row[c.time], "a time such as 2023-11-16 18:15:46.68 or 2024-05-10 00:00:00+00:00");
  }
  const auto time = seconds_of(row[c.time]);
  if (!time || *time > kMostSeconds) return wrong(csv.header()[c.time], row[c.time], "seconds from 0 to 4e6");
  if (c.format == Format::own) return *time;
  const auto duration = seconds_of(row[c.duration]);
  if (!duration) return wrong("duration", row[c.duration], "seconds, 0 or more");
  if (*duration > kMostSeconds) return wrong("duration", row[c.duration], "seconds from 0 to 4e6");
  return *time - *duration;  // below 0: begun before the file's time 0
}

Result<std::uint32_t> number_of_model(const std::string& cell, const std::vector<std::string>& models,
                                      const CsvReader& csv) {
  const auto found = std::ranges::find(models, cell);
  if (found != models.end()) return static_cast<std::uint32_t>(found - models.begin());
  return Error{"model: found " + in_quotes(cell) + ", expected a model of the experiment", csv.position(),
               spelling_hint(cell, models)};
}

}  // namespace

Result<std::vector<TraceRow>> read_arrivals(const std::string& path, const std::vector<std::string>& models) {
  TRY_ASSIGN(const auto in, open_input_stream(path));
  TRY_ASSIGN(CsvReader csv, CsvReader::open(*in, path));
  TRY_ASSIGN(const Columns columns, columns_of(csv));
  std::vector<TraceRow> rows;
  double first = 0, before = 0;
  for (;;) {
    TRY_ASSIGN(const auto row, csv.next());
    if (!row) break;
    TRY_ASSIGN(const double time, time_of(columns, *row, csv));
    if (rows.empty()) first = columns.format == Format::date ? time : 0;
    if (columns.format != Format::functions && !rows.empty() && time < before)
      return Error{csv.header()[columns.time] + ": found " + in_quotes((*row)[columns.time]) +
                       " below a later time, expected arrivals in ascending order",
                   csv.position(), ""};
    if (time - first > kMostSeconds)
      return Error{csv.header()[columns.time] + ": found a time more than 4e6 s after the first", csv.position(), ""};
    before = time;
    TraceRow out;
    out.time_ps = std::llround((time - first) * 1e12);
    if (columns.model) {
      TRY_ASSIGN(out.model, number_of_model((*row)[*columns.model], models, csv));
    }
    if (rows.size() == kMostRows) return Error{"found more than 50000000 arrivals, expected fewer", csv.position(), ""};
    rows.push_back(out);
  }
  if (rows.empty()) return Error{"found no arrival, expected rows below the header", path, ""};
  if (columns.format == Format::functions) {
    std::ranges::stable_sort(rows, {}, &TraceRow::time_ps);
    const std::int64_t start = rows.front().time_ps;
    for (TraceRow& row : rows) row.time_ps -= start;
    if (static_cast<double>(rows.back().time_ps) > kMostSeconds * 1e12)
      return Error{"found a start more than 4e6 s after the first, expected fewer", path, ""};
  }
  return rows;
}

std::vector<std::string> unused_arrival_columns(const std::string& path) {
  const auto in = open_input_stream(path);
  if (!in) return {};
  const Result<CsvReader> csv = CsvReader::open(**in, path);
  if (!csv) return {};
  const Result<Columns> columns = columns_of(*csv);
  if (!columns) return {};
  std::vector<std::string> out;
  for (std::size_t i = 0; i < csv->header().size(); ++i) {
    const bool is_used =
        i == columns->time || i == columns->model || (columns->format == Format::functions && i == columns->duration);
    if (!is_used) out.push_back(csv->header()[i]);
  }
  return out;
}

bool ends_within_a_line(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed)) return false;
  std::ifstream in(path, std::ios::binary);
  in.seekg(-1, std::ios::end);
  char last = 0;
  return in.get(last) && last != '\n';
}

}  // namespace distsim::serving
