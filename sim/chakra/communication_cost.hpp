// CommunicationCost: what a trace's collectives and messages cost on the system that it is replayed on.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/result.hpp"
#include "collectives/collective_models.hpp"
#include "sim/graph/cost.hpp"
#include "sim/graph/op.hpp"
#include "topology/topology.hpp"

namespace distsim::chakra {

class CommunicationCost {
 public:
  virtual ~CommunicationCost() = default;
  /// Of one collective over `members` (ascending). `alone`: no other group of the job communicates at that time.
  virtual Result<graph::Cost> collective(const graph::Collective& op, std::span<const std::uint32_t> members,
                                         bool alone) = 0;
  /// Of one message, from the moment it is sent until it has arrived.
  virtual Result<graph::Cost> message(std::uint32_t from, std::uint32_t to, std::int64_t bytes) = 0;
  virtual std::uint32_t ranks() const = 0;
  /// Where the job runs: "on 4 x 8 a100_sxm4_80gb (dgx_a100_80gb)".
  virtual std::string where() const = 0;
};

/// By the collective models of a cluster.
std::unique_ptr<CommunicationCost> cluster_communication(topology::Topology topology,
                                                         collectives::CollectiveModels models);

}  // namespace distsim::chakra
