// Reads PARAM comms (comms.py): lines "COMMS-RES-all_to_allv-float32{tag} <size> <elements> <p50> <p75> <p95> <min>
// <max> <algbw> <busbw> [<total>]".
//
// Times are percentiles over ranks of the mean over iterations, in us: p50 is the time, min and p95 the range. Sizes
// are those of nccl-tests' size column. Lines of the quantised, point-to-point and multi-collective forms are refused:
// their columns mean other things.
#pragma once

#include "collectives/curves/curve_set.hpp"
#include "collectives/logs/line_source.hpp"

namespace distsim::collectives {

/// A curve for each collective and tag of the log. Ranks come from "world_size" in the log, else from busbw over algbw,
/// else from the file's name. Errors: as for nccl-tests (NaN and zero times, sizes that do not ascend, rows cut, more
/// than half of the rows contradicting themselves), unknown collectives.
Result<CurveSet> parse_param(LineSource& lines, const LogHints& hints = {});

}  // namespace distsim::collectives
