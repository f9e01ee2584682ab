// What no result of HugeCTR's profiler can hold, whoever reads it. Times are milliseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.hpp"

namespace distsim::traces {

struct HugectrMeasured {
  std::int64_t device = 0;
  std::string stream, label;
  std::optional<std::int64_t> start_index, end_index;
  std::vector<double> durations, starts;  ///< measured_times_ms, iter_start_to_event_start_times_ms
  double end = 0;                         ///< after the start of its iteration, of the medians
};

/// The bounds of one file, whose iterations may stand before its events or after them.
class HugectrBounds {
 public:
  explicit HugectrBounds(std::string path) : path_(std::move(path)) {}

  /// Errors: an iteration of no time, or of 1e9 ms and more.
  Result<void> take_iterations(const std::vector<double>& times);
  /// Errors: times below 0 or of 1e9 ms and more, not as many starts as durations, a stop before its start, a device id that
  /// is none, an event for the second time. `place`: among the events of the file.
  Result<void> take_event(std::size_t place, const HugectrMeasured& event);
  /// Errors: no event takes any time; an event that ends later than work of one iteration may, which is within the next. In
  /// which iterations an event was timed is not recorded, but each lasted until it began: the limit is twice the median of
  /// those.
  Result<void> check_ends() const;

 private:
  struct Span {
    double start = 0, end = 0;  ///< after the start of its iteration, medians
    std::string label;
  };
  double latest_end(double start) const;

  std::string path_;
  std::vector<double> iterations_;  ///< sorted
  std::vector<Span> spans_;         ///< of the events
  bool takes_time_ = false;         ///< any of them
  std::set<std::tuple<std::int64_t, std::string, std::string, std::int64_t>> met_;
  std::set<std::tuple<std::int64_t, std::string, std::string, std::vector<double>, std::vector<double>>> timed_;
};

}  // namespace distsim::traces
