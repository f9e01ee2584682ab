// A verdict on a trace before anything is computed from it: complete; partial, with what is missing; or implausible, which
// is an Error.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "traces/trace.hpp"

namespace distsim::traces {

/// What a complete trace of the job would have and this one has not: ranks, the end of a file, GPU work, launches, names. Empty:
/// complete. One phrase each, "ranks 5 to 7 of 8".
std::vector<std::string> missing_parts(const TraceJob& job);

/// "complete", or "partial: " and what is missing.
std::string verdict_of(const TraceJob& job);

/// "150 of 154 launched kernels begin before the calls that launched them, by up to 496 us", where it is most of them: clocks of
/// host and GPU that are apart. Empty: it is not.
std::string kernels_before_launches(const TraceJob& job, const TraceRank& rank);

/// Error: times that no GPU can have. A stream runs one kernel after the other; where most of the kernels of a rank run at
/// the same time as another of their stream, the file is not what a profiler wrote. Fewer are noted: kernels may be
/// launched to overlap the end of the one before (programmatic dependent launch). Nor does a kernel start before the call
/// that launched it, or all of them long after it, or one take no time, nor does a call that waits for work
/// return before it, nor is a large copy faster than any link, nor are hosts of one run several times as fast as others. Of
/// fewer than 20 kernels or copies such things are noted only. Names of several GPUs and matched collectives of unequal sizes are noted.
Result<void> check_plausible(TraceJob& job);

}  // namespace distsim::traces
