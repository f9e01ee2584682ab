// What a replay is moved to: from --config, --set, --measured-on and --ranks to the models that price it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/replay/replay_trace.hpp"
#include "sim/replay/whatif/what_if.hpp"

namespace distsim::replay {

/// A WhatIf with all that it points to.
struct ReplayStage {
  WhatIf what_if;
  std::vector<std::string> notes;  ///< what was taken for granted
  std::vector<std::shared_ptr<const void>> owned;
};

/// Rules
///   --config FILE      the system (with --set) that the job is moved to, all its ranks, unless --ranks says how many
///   --measured-on NAME the system or device of the trace. Else the device is the one the trace names. Where that is
///   the device of --config without --set, and the
///                      ranks are as many, the trace is taken to be from that system.
///   --set model.global_batch=..., model.per_gpu_batch=...   samples per rank, relative to those of --config without
///   --set; a global batch is divided among the ranks moved to. Without such a --set, a rank keeps the samples that it
///   recorded, and a note says what it would have of the experiment's global batch.
/// Errors: --set, --ranks without --config; what the configuration readers refuse.
Result<ReplayStage> replay_stage(const TraceReplay& flags, const traces::TraceJob& job);

}  // namespace distsim::replay
