#include "opmodels/measured/row_statements.hpp"

#include <cmath>
#include <limits>

#include "base/text/number_text.hpp"
#include "base/text/printable.hpp"
#include "base/text/quantity_text.hpp"

namespace distsim::opmodels {
namespace {

constexpr std::array<const char*, 6> kColumnNames{"low_us",         "high_us",      "repetitions",
                                                  "relative_error", "sm_clock_mhz", "memory_clock_mhz"};

Error wrong(const char* name, double value, const std::string& expected) {
  return {std::string(name) + ": found " + format_quantity(value, Dimension::none) + ", expected " + expected, "", ""};
}

}  // namespace

Result<double> latency_of(std::string_view text) {
  const auto value = plain_number(text);
  if (value && *value > 0 && *value < 1e12) return *value;
  return Error{"latency_us: found " + in_quotes(text, 60) + ", expected a positive number of microseconds below 1e12",
               "", ""};
}

RowStatements::RowStatements(const CsvReader& reader) {
  for (std::size_t i = 0; i < kColumns; ++i) at_[i] = reader.column(kColumnNames[i]);
}

Result<std::optional<double>> RowStatements::number(Column column, const std::vector<std::string>& row) const {
  if (!at_[column] || row[*at_[column]].empty()) return std::optional<double>();
  const std::string& text = row[*at_[column]];
  if (text == "inf") return std::optional(std::numeric_limits<double>::infinity());  // a relative error of few samples
  if (const auto value = plain_number(text)) return value;
  return Error{std::string(kColumnNames[column]) + ": found " + in_quotes(text, 40) + ", expected a number", "",
               number_hint(text)};
}

Result<void> RowStatements::check(const std::vector<std::string>& row, double latency_us) const {
  constexpr double kRounding = 1e-2;  // figures of a few digits
  const std::string time = format_quantity(latency_us, Dimension::none);
  TRY_ASSIGN(const auto least, number(low, row));
  if (least && !(*least >= 0 && *least <= latency_us * (1 + kRounding)))
    return wrong(kColumnNames[low], *least, "0 to latency_us, " + time);
  TRY_ASSIGN(const auto most, number(high, row));
  if (most && !(*most >= latency_us * (1 - kRounding)))
    return wrong(kColumnNames[high], *most, "at least latency_us, " + time);
  TRY_ASSIGN(const auto runs, number(repetitions, row));
  if (runs && !(*runs >= 1 && *runs == std::floor(*runs)))
    return wrong(kColumnNames[repetitions], *runs, "a whole number, at least 1");
  TRY_ASSIGN(const auto error, number(relative_error, row));
  if (error && !std::isinf(*error) && !(*error >= 0 && *error <= 1))
    return wrong(kColumnNames[relative_error], *error, "0 .. 1");
  return {};
}

Result<Hertz> RowStatements::frequency(Column column, double highest_mhz, const std::vector<std::string>& row) const {
  TRY_ASSIGN(const auto mhz, number(column, row));
  if (!mhz) return Hertz(0);
  if (*mhz > 0 && *mhz <= highest_mhz) return Hertz(*mhz * 1e6);
  return wrong(kColumnNames[column], *mhz, "a clock in MHz, at most " + format_quantity(highest_mhz, Dimension::none));
}

Result<Hertz> RowStatements::clock(const std::vector<std::string>& row) const {
  constexpr double kHighest = 10000;  // MHz; three times that of any GPU
  return frequency(sm_clock, kHighest, row);
}

Result<Hertz> RowStatements::memory(const std::vector<std::string>& row) const {
  constexpr double kHighest = 50000;  // MHz; three times that of any GPU
  const std::string text = at_[memory_clock] ? row[*at_[memory_clock]] : "";
  if (text == "N/A" || text == "[N/A]" || text == "0") return Hertz(0);  // nvidia-smi's words where it is not told
  return frequency(memory_clock, kHighest, row);
}

}  // namespace distsim::opmodels
