// Reads nccl-tests output of every vintage: with and without the `root` column, `error` or `#wrong`, line prefixes of mpirun and srun, several tables in a log.
#pragma once

#include <string>
#include <string_view>

#include "collectives/curve_set.hpp"

namespace distsim::collectives {

/// One curve a table; a size that comes twice in a table (several runs) is the median of its times. The out-of-place time is taken.
/// Rows that contradict themselves (algbw not size over time, busbw not algbw times the collective's factor, #wrong above 0) are left out and counted in
/// Curve::flagged. Errors, one line with file and line: no table (empty or failed run), a row that is cut, a time that is NaN, zero or negative, sizes that
/// do not ascend, UTF-16 text, more than half of a table's rows flagged, two kinds of GPU in one log.
/// The collective comes from "Collective test starting" or "collective:" lines, a program name ("all_reduce_perf") in the log or the file's name, else from busbw over algbw
/// and redop; if these leave it open, that is an error.
Result<CurveSet> parse_nccl_tests(std::string_view text, const std::string& file);

}  // namespace distsim::collectives
