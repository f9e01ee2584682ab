// Kernels taken out of a replay, or made one.
//
//   remove   a kernel takes no time, nor does the call that launched it (where that launched nothing else); the
//            framework's own time around the call stays.
//   fuse     neighbours on a stream, all of whose names match, become one that takes as long as the longest of them; the
//            others are removed. Neighbours are of one step (of none, where the trace marks none), and nothing but
//            their stream's order lies between them: no other stream or thread waits for the first, and the second
//            waits for no other. So no work ends later.
// A removed kernel still waits for all that it waited for, as what comes after it would: its launch, with the delay of one
// that began late for no recorded reason, the kernel before it and those of other streams. Only the device's own gap before
// it goes. So nothing begins later than with it.
#pragma once

#include <string>
#include <vector>

#include "sim/replay/play.hpp"

namespace distsim::replay {

struct KernelEdits {
  std::uint64_t removed = 0, fused = 0;
};

/// Changes graph and costs; a step that began with a removed kernel begins with the first one that is left. Errors: a
/// regular expression that cannot be read, that matches no kernel, or a removal that leaves nothing on any device.
/// Names are matched by their first 512 bytes.
Result<KernelEdits> edit_kernels(const std::vector<std::string>& remove, const std::vector<std::string>& fuse,
                                 ReplayGraph& graph, ReplayCosts& costs);

}  // namespace distsim::replay
