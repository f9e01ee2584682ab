// Reads nccl-tests output of every vintage: with and without the `root` column, `error` or `#wrong`, line prefixes of
// mpirun and srun, several tables in a log.
#pragma once

#include <string>
#include <string_view>

#include "collectives/curves/curve_set.hpp"
#include "collectives/logs/line_source.hpp"

namespace distsim::collectives {

/// The out-of-place time is taken; log_tables.hpp says how rows become curves and which are left out. Errors, one line
/// with file and line: no table (empty or failed run), a row that is cut, a time that is NaN, zero or negative, sizes
/// that do not ascend, UTF-16 text, more than half of a table's rows flagged, two kinds of GPU in one log. A log of a
/// run that broke off after some rows is partial. The collective comes from "Collective test starting" or "collective:"
/// lines, a program name ("all_reduce_perf") in the log or the file's name; if these leave it open, that is an error.
Result<CurveSet> parse_nccl_tests(LineSource& lines, const LogHints& hints = {});
Result<CurveSet> parse_nccl_tests(std::string_view text, const std::string& file);

}  // namespace distsim::collectives
