// A network and a system as ASTRA-sim describes them, in place of a cluster of ours: `distsim replay --network
// network.yml --network-system system.json`.
#pragma once

#include "sim/chakra/communication_cost.hpp"
#include "topology/devices/device_spec.hpp"

namespace distsim::chakra {

struct AstraNetwork {
  std::unique_ptr<CommunicationCost> costs;  ///< by collectives/alpha_beta.hpp
  topology::DeviceSpec device;               ///< peak-perf and local-mem-bw, for nodes without a duration
};

/// `system` may be empty: ring (all-to-all: direct), one split, no delays. Of the system file the keys {all-reduce,
/// all-gather, reduce-scatter, all-to-all}-implementation, preferred-dataset-splits, active-chunks-per-dimension,
/// endpoint-delay, local-mem-bw and peak-perf are read; those that have no effect in ASTRA-sim's analytical back end
/// have none here.
Result<AstraNetwork> read_astra_network(const std::string& network, const std::string& system);

}  // namespace distsim::chakra
