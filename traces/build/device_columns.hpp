// The columns of a CSV list of kernels and copies, found by their titles.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distsim::traces {

using Units = std::map<std::string_view, double>;

struct DeviceColumns {
  std::optional<std::size_t> start, duration, correlation, bytes, throughput, device, context, stream, name, grid[3],
      block[3];
  double start_unit = 1, duration_unit = 1, bytes_unit = 1, throughput_unit = 1;
  std::size_t count = 0;
  std::string wrong;             ///< why the times of the rows mean nothing; empty: they do
  std::string wrong_throughput;  ///< likewise of the throughputs, if there are any

  bool operator==(const DeviceColumns&) const = default;

  static std::optional<DeviceColumns> of(const std::vector<std::string>& header);

 private:
  /// False: it is none of the titles that are read.
  bool take(std::string_view h, std::size_t i);
  /// A title that is none of the programs' and near one that is not there: its column would go unread.
  void check_spelling(const std::vector<std::string>& header);
  static bool is_known(std::string_view title) { return DeviceColumns().take(title, 0); }
  void once(std::optional<std::size_t>& column, std::string_view title, std::size_t i);
  static std::string no_unit(std::string_view title, const char* expected);
  double unit(std::string_view title, const Units& units, const char* expected);
  /// The column is often empty, and then its unit does not matter.
  void take_throughput(std::string_view title, std::size_t i);
};

/// nvprof writes the units below the titles, and KB and MB for 1024 and 1024^2 bytes.
std::vector<std::string> with_units(std::vector<std::string> titles, const std::vector<std::string>& units);

}  // namespace distsim::traces
