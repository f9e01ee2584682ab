// EngineSpec: the `engine` section of an experiment: what is played beyond the job by itself on sound hardware.
#pragma once

#include <algorithm>
#include <vector>

#include "base/config/schema.hpp"

namespace distsim::config {

struct SlowGpu {
  std::int64_t rank = 0;
  double speed = 1;  ///< of its kernels, as a fraction of a sound GPU's
};

struct SlowNic {
  std::int64_t node = 0, nic = 0;
  double speed = 1;  ///< fraction of the sound rate; 0: broken, the node's other adapters carry its traffic
};

struct EngineSpec {
  bool contention = false;  ///< collectives share links, adapters and switches (sim/pipeline/contention); implied by
                            ///< what follows but slow_gpus
  bool refuses_contention = false;  ///< the experiment says `contention: false`
  std::vector<SlowGpu> slow_gpus;
  std::vector<SlowNic> slow_nics;
  double uplink_load = 0;  ///< share of every leaf's and pod's uplinks that other jobs take
  std::int64_t jobs = 1;   ///< copies of the job at once, node by node in turn on the same fabric

  bool contended() const {
    return contention || uplink_load > 0 || jobs > 1 ||
           std::ranges::any_of(slow_nics, [](const SlowNic& n) { return n.speed < 1; });
  }
};

Schema<EngineSpec> engine_schema();

}  // namespace distsim::config
