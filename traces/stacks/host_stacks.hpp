// Where a host process spent its time, function by function, as profilers of Python write it:
//
//   collapsed    "main;train;forward 12": a stack and its samples on each line (`py-spy record -f raw`, flamegraph tools)
//   speedscope   JSON with sampled profiles (`py-spy record -f speedscope`)
//   pstats       the table that cProfile prints: ncalls, tottime, percall, cumtime, percall, function
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "traces/trace.hpp"

namespace distsim::traces {

struct HostFunction {
  std::string name;
  double self = 0;   ///< in the function itself; seconds, or samples
  double total = 0;  ///< with all that it called; once for a stack in which it recurs
};

struct HostStacks {
  std::string format;
  bool seconds = false;                 ///< else samples, whose rate the file does not say
  double sum = 0;                       ///< of all `self`; where a table leaves functions out, of all that ran
  std::vector<HostFunction> functions;  ///< most `self` first
  TraceNotes notes;
};

/// Errors: over 256 MiB, none of these formats, cProfile's binary file, nothing that can be used.
Result<HostStacks> read_host_stacks(const std::string& path);

}  // namespace distsim::traces
