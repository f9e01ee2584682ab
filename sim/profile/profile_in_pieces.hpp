// The profile of a trace too large to be held: it is read once to see where its steps lie, and then slice by slice.
// Memory is that of the largest slice (the records asked for, or one step where that is more), and of the profile
// itself.
//
// As make_profile, but for: one file; steps only by ProfilerStep#N or a pattern; medians and 90th percentiles of the
// host overheads are means over the slices, weighted by their counts; what lies between the work of two slices is a gap
// of the whole trace, but its launches and whether it waited for the host are not counted there; a kernel that was
// launched more than a step before the slice that it runs in is listed below "(launch not recorded)".
#pragma once

#include "sim/profile/profile.hpp"
#include "traces/trace_reader.hpp"

namespace distsim::profile {

struct PiecedProfile {
  traces::TraceJob job;  ///< what the trace says of itself; without records
  Profile profile;
  std::size_t slices = 0;
};

/// `records` at a time. Errors: more than one trace, another format than Kineto, and those of reading it.
Result<PiecedProfile> profile_in_pieces(const std::vector<std::string>& paths, const traces::TraceOptions& options,
                                        std::uint64_t records = 1'000'000);

}  // namespace distsim::profile
