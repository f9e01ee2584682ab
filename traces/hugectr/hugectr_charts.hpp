// Charts of HugeCTR's profiler as SVG, which every browser shows. Names are escaped; hovering over a bar shows its
// label and times.
#pragma once

#include <string>
#include <vector>

#include "traces/hugectr/hugectr_merge.hpp"

namespace distsim::traces {

/// A row for each host, device and stream: an event from its start on, as long as it took; events within another stand
/// below it. The last row is the whole iteration, as long as the slowest host's (median).
std::string hugectr_timeline_svg(const std::vector<HugectrHost>& hosts);

/// Three bars for each run: the iteration, the events' means stacked, and their maxima stacked. Events within others are
/// left out: their time is in their parents'.
std::string hugectr_scaling_svg(const std::vector<HugectrRun>& runs);

}  // namespace distsim::traces
