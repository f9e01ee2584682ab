#include "collectives/logs/nccl_tests_row.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

namespace distsim::collectives {

namespace {

struct Type {
  std::string_view name;
  int bytes;
};

constexpr std::array<Type, 17> kTypes{{{"float", 4},
                                       {"double", 8},
                                       {"half", 2},
                                       {"bfloat16", 2},
                                       {"int8", 1},
                                       {"uint8", 1},
                                       {"char", 1},
                                       {"int32", 4},
                                       {"uint32", 4},
                                       {"int", 4},
                                       {"int64", 8},
                                       {"uint64", 8},
                                       {"f8e4m3", 1},
                                       {"f8e5m2", 1},
                                       {"fp8_e4m3", 1},
                                       {"fp8_e5m2", 1},
                                       {"fp8", 1}}};

bool all_digits(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool is_not_checked(std::string_view s) { return s == "N/A" || s == "n/a"; }

/// "N/A" (not checked, no in-place form) reads as NaN, and so does "nan"; which of them matter, the caller decides.
std::optional<double> number(std::string_view s) {
  if (is_not_checked(s)) return std::numeric_limits<double>::quiet_NaN();
  double value = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (error != std::errc() || end != s.data() + s.size()) return std::nullopt;
  return value;
}

bool starts_with_digit(std::string_view s) {
  return !s.empty() && (std::isdigit(static_cast<unsigned char>(s[0])) || s[0] == '-' || s[0] == '+');
}

bool is_unit(std::string_view s) { return s.size() > 2 && s.starts_with('(') && s.ends_with(')'); }

/// Of a column by its name; empty of those that have none.
std::string_view unit_of_column(std::string_view name) {
  if (name == "size") return "(B)";
  if (name == "count") return "(elements)";
  if (name == "time") return "(us)";
  return name == "algbw" || name == "busbw" ? "(GB/s)" : "";
}

Result<void> check_unit(std::string_view found, std::string_view name) {
  const std::string_view expected = unit_of_column(name);
  if (expected.empty() || found == expected) return {};
  return Error{"unit of " + std::string(name) + ": found " + std::string(found.substr(0, 40)) + ", expected " +
                   std::string(expected),
               "", ""};
}

/// Of a row whose line end before it was lost.
Error found_in_header(std::string_view word) {
  return Error{"found '" + std::string(word.substr(0, 40)) + "' in the header of a table, expected names and units", "",
               "a line end may be lost"};
}

/// Of the line of units below a header.
Result<void> only_units(const std::vector<std::string_view>& words) {
  const auto other = std::find_if_not(words.begin() + 1, words.end(), is_unit);
  return other == words.end() ? Result<void>() : found_in_header(*other);
}

Error wrong_count(std::size_t found, std::size_t expected) {
  return Error{"found " + std::to_string(found) + " numbers after the type, expected " + std::to_string(expected), "",
               found < expected ? "the row may be truncated" : ""};
}

}  // namespace

int bytes_of_type(std::string_view type) {
  const auto found = std::ranges::find(kTypes, type, &Type::name);
  return found == kTypes.end() ? 0 : found->bytes;
}

double worse_result(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  return std::abs(a) < std::abs(b) ? b : a;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> out;
  std::size_t i = 0;
  while (i < line.size()) {
    while (i < line.size() && std::isspace(static_cast<unsigned char>(line[i]))) ++i;
    const std::size_t begin = i;
    while (i < line.size() && !std::isspace(static_cast<unsigned char>(line[i]))) ++i;
    if (i > begin) out.push_back(line.substr(begin, i - begin));
  }
  return out;
}

double last_digit_of(std::string_view figure) {
  constexpr double kUsual = 0.01;
  if (figure.empty() || figure.size() > 20) return kUsual;
  if (figure.find_first_not_of("0123456789.") != std::string_view::npos) return kUsual;
  const std::size_t point = figure.find('.');
  return point == std::string_view::npos ? 1.0 : std::pow(10.0, -static_cast<double>(figure.size() - point - 1));
}

std::string_view without_prefix(std::string_view line) {
  if (line.starts_with("> ")) line.remove_prefix(2);
  if (line.starts_with("[")) {  // [1,0]<stdout>: of mpirun --tag-output
    const std::size_t end = line.find(">");
    if (end != std::string_view::npos && line.substr(0, end).find("<std") != std::string_view::npos) {
      line.remove_prefix(end + 1);
      if (line.starts_with(":")) line.remove_prefix(1);
      return line;
    }
  }
  std::size_t i = 0;
  while (i < line.size() &&
         (std::isspace(static_cast<unsigned char>(line[i])) || std::isdigit(static_cast<unsigned char>(line[i]))))
    ++i;
  const bool labelled =
      i > 0 && i < 12 && i < line.size() && line[i] == ':' && std::isdigit(static_cast<unsigned char>(line[i - 1]));
  return labelled ? line.substr(i + 1) : line;
}

constexpr std::string_view kHostTime = "cputime";  // of nccl-tests --report_cputime, in place of time

std::optional<NcclColumns> header_of(std::string_view line) {
  if (line.find('#') == std::string_view::npos) return std::nullopt;
  const auto words = words_of(line);
  const auto count = [&](std::string_view w) { return std::count(words.begin(), words.end(), w); };
  const std::ptrdiff_t times = count("time") + count(kHostTime);
  if (count("size") != 1 || times < 1 || count("busbw") < 1) return std::nullopt;
  return NcclColumns{.known = true,
                     .redop = count("redop") > 0,
                     .root = count("root") > 0,
                     .errors = count("error") + count("#wrong") > 0,
                     .groups = static_cast<int>(std::min<std::ptrdiff_t>(2, times))};
}

Result<void> check_units(std::string_view line) {
  constexpr std::array<std::string_view, 2> kFirst{"size", "count"};
  constexpr std::array<std::string_view, 3> kOfGroup{"time", "algbw", "busbw"};  // out of place, and in place
  const auto words = words_of(line);
  if (words.size() > 1 && words[0] == "#" && is_unit(words[1])) {
    for (std::size_t i = 1; i < words.size() && is_unit(words[i]); ++i)
      TRY(check_unit(words[i],
                     i <= kFirst.size() ? kFirst[i - 1] : kOfGroup[(i - 1 - kFirst.size()) % kOfGroup.size()]));
    return only_units(words);
  }
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (is_unit(words[i])) TRY(check_unit(words[i], words[i - 1]));
  }
  return {};
}

Result<void> check_header(std::string_view line) {
  const auto words = words_of(line);
  if (std::ranges::find(words, kHostTime) != words.end())
    return Error{"found the column " + std::string(kHostTime) +
                     ", what the host takes for its calls, expected time, that of the collectives",
                 "", "run it without -C"};
  const auto figure = std::ranges::find_if(words, starts_with_digit);
  return figure == words.end() ? check_units(line) : found_in_header(*figure);
}

bool starts_as_row(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t");
  if (first == std::string_view::npos || std::isdigit(static_cast<unsigned char>(line[first])) == 0)
    return false;  // most lines of a long log
  const auto words = words_of(line);
  return words.size() >= 3 && all_digits(words[0]) && all_digits(words[1]) && bytes_of_type(words[2]) > 0;
}

Result<NcclRow> parse_nccl_row(std::string_view line, const NcclColumns& columns) {
  const auto words = words_of(line);
  NcclRow row;
  const auto bytes = number(words[0]), count = number(words[1]);
  if (!bytes || !count)
    return Error{"size, count: found too many digits, expected whole numbers that fit in 64 bits", "", ""};
  row.bytes = *bytes;
  row.count = *count;
  row.type = words[2];
  std::size_t next = 3;
  if (next < words.size() && !starts_with_digit(words[next]) && words[next] != "N/A" && words[next] != "nan")
    row.redop = words[next++];
  else if (columns.redop)
    row.redop = "none";
  std::vector<double> values;
  std::vector<std::string_view> figures;
  for (; next < words.size(); ++next) {
    const auto value = number(words[next]);
    if (!value) return Error{"found '" + std::string(words[next].substr(0, 40)) + "', expected a number", "", ""};
    values.push_back(*value);
    figures.push_back(words[next]);
  }
  NcclColumns shape = columns;
  if (!shape.known) shape.root = values.size() == NcclColumns{.root = true}.numbers();
  if (values.size() != shape.numbers()) return wrong_count(values.size(), shape.numbers());
  const std::size_t first = shape.root ? 1 : 0;
  if (shape.root) row.root = values[0];
  row.time_us = values[first];
  row.algbw = values[first + 1];
  row.busbw = values[first + 2];
  row.algbw_digit = last_digit_of(figures[first + 1]);
  row.busbw_digit = last_digit_of(figures[first + 2]);
  const std::size_t group = shape.errors ? 4 : 3;
  row.wrong = shape.errors && !is_not_checked(figures[first + 3]) ? values[first + 3] : 0;
  const std::size_t in_place = first + group;
  if (shape.errors && shape.groups == 2 && !is_not_checked(figures[in_place + 3]))
    row.wrong = worse_result(row.wrong, values[in_place + 3]);
  if (shape.groups < 2 || !std::isfinite(values[in_place + 2])) return row;
  row.in_place_busbw = values[in_place + 2];
  if (std::isfinite(values[in_place]) && std::isfinite(values[in_place + 1]))
    row.in_place_us = values[in_place], row.in_place_algbw = values[in_place + 1];
  return row;
}

}  // namespace distsim::collectives
