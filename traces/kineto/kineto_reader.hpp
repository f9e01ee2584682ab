// PyTorch Kineto JSON: one file, one rank. From the bare arrays of 2020 to today's `baseTimeNanoseconds`; features are
// detected, not versions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "traces/files/byte_source.hpp"
#include "traces/trace.hpp"
#include "traces/trace_reader.hpp"

namespace distsim::traces {

/// A rank as recorded in one file. Times are absolute nanoseconds: the caller moves all ranks to a common zero.
struct ReadRank {
  TraceRank rank;
  bool rank_known = false;       ///< the file says which rank it is
  std::uint32_t world_size = 0;  ///< 0: not said
};

/// Errors: not JSON; no event that can be used.
Result<ReadRank> read_kineto(ByteSource& source, const std::string& path, const TraceOptions& options, TraceJob& job);

}  // namespace distsim::traces
