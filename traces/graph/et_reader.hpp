// PyTorch execution traces (ExecutionTraceObserver JSON), schemas 1.0.1 to 1.1.1: ops with shapes, callers and
// collectives, without times.
#pragma once

#include <string>

#include "base/result.hpp"
#include "traces/files/byte_source.hpp"
#include "traces/kineto/kineto_reader.hpp"

namespace distsim::traces {

/// The flat nodes of 1.0.1 and the nested ones with `attrs` are told apart node by node. Errors: not JSON; no nodes.
Result<ReadRank> read_execution_trace(ByteSource& source, const std::string& path, const TraceOptions& options,
                                      TraceJob& job);

}  // namespace distsim::traces
