// PyTorch execution traces (ExecutionTraceObserver JSON), schemas 1.0.1 to 1.1.1: ops with shapes, callers and
// collectives, without times.
#pragma once

#include "traces/trace_format.hpp"

namespace distsim::traces {

bool sniff_execution_trace(const TraceHead& head);

/// The flat nodes of 1.0.1 and the nested ones with `attrs` are told apart node by node. Errors: not JSON; no nodes.
ReadRanks read_execution_trace;

inline constexpr TraceFormat kExecutionTrace{
    .name = "PyTorch execution trace",
    .extensions = {".json"},
    .sentence =
        "PyTorch execution trace (schemas 1.0.1 to 1.1.1); adds shapes and collectives to a Kineto trace of the same rank",
    .sniff = sniff_execution_trace,
    .read = read_execution_trace,
};

}  // namespace distsim::traces
