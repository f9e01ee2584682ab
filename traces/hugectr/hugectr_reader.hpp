// HugeCTR's inline profiler: `<host>.prof.json` of both generations (2021 with layer names, and the releases v3.1 to
// v3.7 with event names).
#pragma once

#include "traces/trace_format.hpp"

namespace distsim::traces {

bool sniff_hugectr(const TraceHead& head);

/// A rank for each device. Every event was timed in iterations of its own, so records are medians over its repetitions
/// (TraceRank::times_are_medians), and so is the one step, of the median iter_time_ms. Of events that hold others, as
/// fprop holds its GEMMs, the records are the time beside those, in parts. Errors: not JSON; no event with times; what no
/// result can hold (hugectr_bounds.hpp).
ReadRanks read_hugectr;

inline constexpr TraceFormat kHugectrProfile{
    .name = "HugeCTR prof.json",
    .extensions = {".json"},
    .sentence = "HugeCTR's inline profiler, <host>.prof.json of both generations",
    .sniff = sniff_hugectr,
    .read = read_hugectr,
};

}  // namespace distsim::traces
