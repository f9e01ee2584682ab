#include "traces/hugectr/hugectr_bounds.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/median.hpp"
#include "base/text/printable.hpp"
#include "base/text/quantity_text.hpp"

namespace distsim::traces {
namespace {

constexpr double kLongestMs = 1e9, kShortestMs = 1e-6;
constexpr std::int64_t kMostDevice = INT32_MAX;

Result<void> check_times(const char* key, const std::vector<double>& times, double least, const std::string& where) {
  for (const double ms : times) {
    if (ms >= least && ms < kLongestMs) continue;
    return Error{"found " + std::string(key) + ": " + format_quantity(ms, Dimension::none) + ", expected " +
                     (least > 0 ? "milliseconds above 0 and below 1e9" : "milliseconds from 0 to 1e9"),
                 where, ""};
  }
  return {};
}

}  // namespace

Result<void> HugectrBounds::take_iterations(const std::vector<double>& times) {
  TRY(check_times("iter_time_ms", times, kShortestMs, path_));
  iterations_ = times;
  std::ranges::sort(iterations_);
  return {};
}

Result<void> HugectrBounds::take_event(std::size_t place, const HugectrMeasured& event) {
  const std::string where = path_ + ": event " + std::to_string(place);
  TRY(check_times("measured_times_ms", event.durations, 0, where));
  TRY(check_times("iter_start_to_event_start_times_ms", event.starts, 0, where));
  if (event.start_index && event.end_index && *event.end_index <= *event.start_index)
    return Error{"found end_index " + std::to_string(*event.end_index) + ", expected more than start_index " +
                     std::to_string(*event.start_index) + ": a stop comes after its start",
                 where, ""};
  if (event.device < 0 || event.device > kMostDevice)
    return Error{"found device_id " + std::to_string(event.device) + ", expected the number of a GPU", where, ""};
  if (event.start_index && !met_.insert({event.device, event.stream, event.label, *event.start_index}).second)
    return Error{"found " + in_quotes(event.label, 100) +
                     " a second time on its stream and with its start_index, expected each event once",
                 where, "was the file merged with itself?"};
  const bool same_times =
      !timed_.insert({event.device, event.stream, event.label, event.starts, event.durations}).second;
  if (same_times && event.starts.size() > 1 && !event.start_index)
    return Error{"found " + in_quotes(event.label, 100) +
                     " a second time on its stream and with the same times, expected each event once",
                 where, "was the file merged with itself?"};
  if (event.starts.size() != event.durations.size())
    return Error{"found " + std::to_string(event.starts.size()) + " iter_start_to_event_start_times_ms and " +
                     std::to_string(event.durations.size()) +
                     " measured_times_ms, expected as many: both are of each time",
                 where, ""};
  takes_time_ = takes_time_ || std::ranges::any_of(event.durations, [](double ms) { return ms > 0; });
  if (!event.starts.empty()) spans_.push_back({upper_median(event.starts), event.end, event.label});
  return {};
}

double HugectrBounds::latest_end(double start) const {
  const auto lasting = std::ranges::lower_bound(iterations_, start);
  return 2 * (lasting == iterations_.end() ? iterations_.back() : lasting[(iterations_.end() - lasting) / 2]);
}

Result<void> HugectrBounds::check_ends() const {
  if (spans_.empty()) return {};
  if (!takes_time_)
    return Error{"found measured_times_ms of 0 in all events, expected some that take time", path_,
                 "were the times recorded?"};
  if (iterations_.empty()) return {};
  const auto last = std::ranges::max_element(spans_, {}, [&](const Span& s) { return s.end / latest_end(s.start); });
  const double latest = latest_end(last->start);
  if (last->end <= latest) return {};
  return Error{fmt::format("event {}: found an end {:.6g} ms after its iteration began, expected at most {:.6g} ms, "
                           "twice the median of the iterations that last until it begins",
                           in_quotes(last->label, 100), last->end, latest),
               path_, "are all times in milliseconds?"};
}

}  // namespace distsim::traces
