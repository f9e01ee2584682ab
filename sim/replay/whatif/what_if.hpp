// What-if: the same trace with changes. Every change is described in words.
#pragma once

#include <string>
#include <vector>

#include "opmodels/op_models.hpp"
#include "sim/replay/play.hpp"
#include "sim/replay/whatif/collective_ratio.hpp"

namespace distsim::replay {

/// Pointers may be null: not known, or not changed. What they point to must outlive the call.
struct WhatIf {
  const opmodels::OpModels* from_device = nullptr;  ///< the device of the trace
  const opmodels::OpModels* to_device = nullptr;
  ReplayNetwork from_network, to_network;
  std::uint32_t from_ranks = 1, to_ranks = 1;
  double host_scale = 1;                  ///< of all time on host threads
  double batch_scale = 1;                 ///< samples per rank, relative to the trace
  std::vector<std::string> remove, fuse;  ///< see kernel_edits.hpp
};

struct Changed {
  ReplayGraph graph;
  ReplayCosts costs;
  std::vector<std::string> changes;  ///< "8712 kernels scaled from a100_sxm4_40gb to h100_sxm5_80gb: 812 by shape, ..."
};

/// True where it asks for nothing.
bool changes_nothing(const WhatIf& what_if);

Result<Changed> apply(const WhatIf& what_if, const ReplayGraph& graph);

}  // namespace distsim::replay
