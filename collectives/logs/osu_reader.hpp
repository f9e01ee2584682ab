// Reads OSU micro-benchmarks: "# OSU MPI-CUDA Allreduce Latency Test v5.7" and a table of size and average latency.
//
// Collectives: Allreduce, Reduce, Broadcast, Allgather, Reduce_scatter, All-to-All, Gather, Scatter; point to point:
// Latency and Multi Latency. OSU's size is bytes per destination for All-to-All, Gather and Scatter and bytes per rank
// for Allgather; a curve's size column is that of nccl-tests, `ranks` times as much. With -f the smallest and largest
// latency give the range. What ran is an MPI library, so `settings` say so and the curve is trusted less than NCCL's. A
// run on host buffers is kept but not used.
#pragma once

#include "collectives/curves/curve_set.hpp"
#include "collectives/logs/line_source.hpp"

namespace distsim::collectives {

/// Ranks and nodes come from "# nodes: 2  ranks: 16" lines, else from the file's name ("..._2n16r_..."). Errors:
/// bandwidth tests, tests without a collective, rows that are cut, times that are NaN, zero or negative, sizes that do
/// not ascend, ranks that nobody states.
Result<CurveSet> parse_osu(LineSource& lines, const LogHints& hints = {});

}  // namespace distsim::collectives
