// The critical cycle as a table of its longest parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/report/report.hpp"

namespace distsim::report {

/// "gradient sync"; "host" for none.
std::string phase_text(std::optional<graph::Phase> phase);

/// Consecutive entries of the critical cycle on one stream and in one phase, as one line.
struct PathRun {
  std::string name;  ///< "gemm a .. gemm b"
  graph::Stream stream = graph::Stream::compute;
  std::optional<graph::Phase> phase;  ///< none: the host's own time
  std::uint32_t rank = 0;
  std::uint32_t steps = 0;
  Duration start, time;
};
std::vector<PathRun> path_runs(const std::vector<CriticalStep>& path);

/// Rows of the table of the critical cycle, in order of time: its longest runs. Where there are over a hundred runs and
/// the `most` longest are less than half of the path, as in a pipeline, where ranks take turns: its causes instead, the
/// longest first, one for each stream, phase and op kind over all ranks.
struct PathTable {
  std::vector<PathRun> rows;
  bool by_cause = false;     ///< then a row's name is an op kind, and it is on no rank
  std::size_t left_out = 0;  ///< runs, or causes, that have no row
  Duration shown;            ///< sum of the rows
  std::string rank_text(const PathRun& row) const { return by_cause ? "-" : std::to_string(row.rank); }
  std::string left_out_text() const;
};
PathTable path_table(const std::vector<CriticalStep>& path, std::size_t most);

/// Why the host's share of the critical cycle is larger than in the split of the iteration; empty where it is not, by 2
/// % of the iteration or more.
std::string host_note(const Report& report);

/// Which of `runs` are the `most` longest, kept in their order.
std::vector<std::size_t> longest_runs(const std::vector<PathRun>& runs, std::size_t most);

}  // namespace distsim::report
