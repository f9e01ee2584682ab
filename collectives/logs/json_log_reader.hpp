// Reads results as JSON: nccl-tests with -J ("results" with "out_of_place": {"time", "alg_bw", "bus_bw", "nwrong"},
// "devices", "config") and our own collective_bench ("tables", each with "collective", "ranks", "nodes" and "rows").
#pragma once

#include <string>
#include <string_view>

#include "collectives/curves/curve_set.hpp"

namespace distsim::collectives {

inline constexpr std::size_t kMaxJsonBytes = std::size_t{64} << 20;

/// Rows are checked as those of the tables are (log_tables.hpp); a position is "file: results[3]". Errors: text that is
/// not JSON or was cut, neither of the two forms, rows without size or time, more than 64 MiB.
Result<CurveSet> parse_json_log(std::string_view text, const std::string& file, const LogHints& hints = {});

}  // namespace distsim::collectives
