// Finds the iterations of a rank.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "traces/trace.hpp"
#include "traces/trace_reader.hpp"

namespace distsim::traces {

/// Fills rank.steps. With a pattern: the host annotations and ops whose names match it. Without: `ProfilerStep#N`; else
/// from one `Optimizer.step` (the same optimizer, the thread with most of them) to the next; else likewise by a `##
/// forward ##`-like or data loader's annotation that repeats with work on the device in between. A last step that
/// launches nothing, where all others do, was cut by the end of the recording and is left out. Where ranges overlap in
/// part, those of threads that launch none of the rank's work are left out; work launched in two of what is left counts
/// to the later one. What was chosen stands in rank.notes. No mark: no steps. Error: a pattern that is no regular expression, or matches nothing.
/// Of a slice the last step stays: what it launches may lie before.
Result<void> find_steps(TraceRank& rank, const NameTable& names, const TraceOptions& options);

/// The profiler may open a step more than it records: a last one without work on the device, where all others have
/// some. It is no iteration, and leaves rank.steps with a note.
void leave_out_cut_step(TraceRank& rank);

inline constexpr std::string_view kProfilerStep = "ProfilerStep#";

/// Sorts steps by start; one that lies inside another, or is a copy of it on another thread, is left out. Numbers them
/// by their names, else in order.
void keep_outermost_steps(std::vector<TraceStep>& steps);

/// A note on outermost steps that overlap in part, as ranges of several threads may; empty: none do.
std::string overlap_of(const std::vector<TraceStep>& steps);

/// One step over everything that ran on the device (over the host where no device did); none where there is nothing.
std::vector<TraceStep> whole_window(const TraceRank& rank);

/// The steps, or where there are none the whole window.
std::vector<TraceStep> steps_or_whole(const TraceRank& rank);

/// Index of the last step that starts by `ns`, if it has not ended; else kNone. A launch at `ns` belongs to it.
std::uint32_t step_at(const std::vector<TraceStep>& steps, std::int64_t ns);

/// Whether `next` is the step right after: where the numbers of two say that others were between them and there was time for
/// one, from start to start is no length of a step.
bool is_followed_by(const TraceStep& step, const TraceStep& next);

}  // namespace distsim::traces
