// Several ranks in one process, as nccl-tests has them with -t and -g: T threads, each driving G GPUs. Every GPU is a
// rank of the job; a rank within a process is called a lane. Pure: threads and GPUs are elsewhere.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace distsim::bench {

struct LaneShape {
  int threads = 1, gpus = 1;  ///< of a process; of a thread
  int lanes() const { return threads * gpus; }
  bool operator==(const LaneShape&) const = default;
};

struct LanePlace {
  int process = 0, thread = 0, gpu = 0;
  bool operator==(const LanePlace&) const = default;
};

/// rank = (process * T + thread) * G + gpu, the numbering of nccl-tests, and back.
int rank_of(const LanePlace& place, const LaneShape& shape);
LanePlace place_of(int rank, const LaneShape& shape);

/// The GPU of a lane on its node: (local process * T + thread) * G + gpu, where `local_process` counts the processes on
/// the node.
int device_of(int local_process, const LanePlace& place, const LaneShape& shape);

/// The texts of a process's lanes as one text, and the texts of all processes, in rank order, out of those. Errors: a
/// text that pack() did not write.
std::string pack_lanes(std::span<const std::string> texts);
Result<std::vector<std::string>> unpack_lanes(std::span<const std::string> processes);

}  // namespace distsim::bench
