// Results of HugeCTR's inline profiler, `<host>.prof.json`, in the structure that its own script makes of them: per
// host avg_iter_time_ms and a timeline of labelled events by device and stream. Both generations of the file.
//
// Times are milliseconds; averages are means over the repetitions. Repetitions have outliers (an iteration of hundreds
// of ms next to 2.4 ms, and a start that late): the medians are given next to the means, and the charts use them.
// Events of different names were timed in different iterations, so that their starts may be off by about 0.1 ms from
// each other.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "traces/hugectr/hugectr_schedule.hpp"

namespace distsim::traces {

struct HugectrTimedEvent {
  std::string label;  ///< "BottomMLP.fc1.fused_fully_connected.fprop"; without a layer the event's name, with "#n" for
                      ///< the n-th of that name from 1 on
  std::int64_t start_index = 0, end_index = 0;         ///< order in which start and stop were first met
  double duration_ms = 0, start_ms = 0;                ///< means
  double median_duration_ms = 0, median_start_ms = 0;  ///< what the charts show
  std::uint32_t level = 0;        ///< events of the same stream that hold this one, by their indices
  std::uint32_t repetitions = 0;  ///< that were timed
};

struct HugectrHost {
  std::string host_name;
  bool has_iterations = false;  ///< the file has times of iterations: that of the preview of v3.7 has none
  double avg_iter_time_ms = 0, median_iter_time_ms = 0;
  std::map<std::int64_t, std::map<std::uint32_t, std::vector<HugectrTimedEvent>>>
      timeline;                ///< device, stream (numbered over the host in order of appearance), by start
  std::size_t iterations = 0;  ///< whose times are there
};

/// `events` names the layers of files that have none (v3.1 on); may be empty.
/// Errors: not JSON, over 256 MiB or kMostJsonValues, fields that are missing or of another type, what no result can hold (hugectr_bounds.hpp),
/// an event of a name that `events` has less often than a stream; no events.
Result<HugectrHost> read_hugectr_profile(const std::string& path, const std::vector<HugectrEvent>& events = {});

/// [{"host_name": .., "avg_iter_time_ms": .., "timeline": {"device_0": {"stream_0": [{"label": .., "start_index": ..,
/// "end_index": .., "avg_measured_time_ms": .., "avg_iter_start_to_event_start_time_ms": ..}]}}}], and beside each
/// average its median.
std::string hugectr_timeline_json(const std::vector<HugectrHost>& hosts);

}  // namespace distsim::traces
