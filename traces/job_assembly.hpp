// Files to the ranks of one job: rank numbers, files that belong together, a common clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "traces/trace_format.hpp"

namespace distsim::traces {

/// Clocks of hosts that agree this well (ns) are not corrected. Chosen, not fitted.
inline constexpr std::int64_t kClockTolerance = 500'000;

/// The rank in a file's name: "rank3of8.json", "kineto_rank-12.json.gz", "worker0.pt.trace.json", "trace_7.json" (the
/// last number if it names nothing).
std::optional<std::uint32_t> rank_in_name(const std::string& path);

/// Numbers the ranks (from the file, else its name, else in order), links execution traces to the timed trace of their
/// rank, sets the epoch and sorts. Errors: two timed traces of one rank; world sizes that differ; a rank outside the
/// world; ranks whose times lie more than ten minutes apart.
Result<void> assemble(TraceJob& job, std::vector<ReadRank> read);

}  // namespace distsim::traces
