// What a row of measured ops says of its measurement beside the time: spread, repetitions, error and clock, as op_bench
// writes them; and the time.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/csv.hpp"
#include "topology/devices/device_spec.hpp"

namespace distsim::opmodels {

/// A row's latency_us. Errors: no positive number below 1e12.
Result<double> latency_of(std::string_view text);

class RowStatements {
 public:
  /// Where the columns are; absent ones say nothing, and neither do empty fields.
  explicit RowStatements(const CsvReader& reader);

  /// Errors: text that is no number; low_us above the time or high_us below it; less than one repetition or a part of one;
  /// a relative_error below 0 or above 1 (infinite: of one repetition, not known).
  Result<void> check(const std::vector<std::string>& row, double latency_us) const;

  /// sm_clock_mhz in Hz; 0: not stated. Errors: not above 0, or above 10 GHz.
  Result<Hertz> clock(const std::vector<std::string>& row) const;
  /// memory_clock_mhz in Hz; 0: not stated. Errors: not above 0, or above 50 GHz.
  Result<Hertz> memory(const std::vector<std::string>& row) const;

 private:
  enum Column : std::size_t { low, high, repetitions, relative_error, sm_clock, memory_clock, kColumns };
  Result<std::optional<double>> number(Column column, const std::vector<std::string>& row) const;

  Result<Hertz> frequency(Column column, double highest_mhz, const std::vector<std::string>& row) const;

  std::array<std::optional<std::size_t>, kColumns> at_;
};

}  // namespace distsim::opmodels
