// How the streams of a CUDA program were created, from CUPTI's records, which nsys and nvprof keep alike.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "traces/trace.hpp"

namespace distsim::traces {

class StreamKinds {
 public:
  /// `flag`: CUpti_ActivityStreamFlag (1 created without a flag, 2 non-blocking, 3 the NULL stream).
  void add(std::uint64_t process, std::uint64_t context, std::uint64_t stream, std::int64_t flag);
  /// Sets the kinds of the streams of `rank`, a rank of `process`.
  void set(TraceRank& rank, std::uint64_t process) const;

 private:
  std::map<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>, StreamKind>
      kinds_;  ///< by process, context, stream
};

}  // namespace distsim::traces
