// PyTorch Kineto JSON: one file, one rank. From the bare arrays of 2020 to today's `baseTimeNanoseconds`; features are
// detected, not versions.
#pragma once

#include "traces/trace_format.hpp"

namespace distsim::traces {

bool sniff_kineto(const TraceHead& head);

/// Errors: not JSON; no event that can be used.
ReadRanks read_kineto;

inline constexpr TraceFormat kKineto{
    .name = "PyTorch Kineto JSON",
    .extensions = {".json"},
    .sentence = "PyTorch profiler (Kineto) JSON, plain, .gz or .zip; NVIDIA, ROCm, CPU",
    .sniff = sniff_kineto,
    .read = read_kineto,
};

}  // namespace distsim::traces
