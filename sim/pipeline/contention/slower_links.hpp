// What a collective takes where its links are slower than the topology says.
#pragma once

#include "base/result.hpp"
#include "sim/graph/op.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/pipeline/price.hpp"

namespace distsim::pipeline {

/// Shares of their bandwidth that links have left, 0 < share <= 1; of a NIC's as its PCIe link lets it.
struct LinksLeft {
  double nic = 1, uplink = 1;
  auto operator<=>(const LinksLeft&) const = default;
};

/// Time of one call of `op` over the groups of a partition with so much left of every NIC and uplink, over its time with
/// all of it; at least 1. The time in which links are not the limit (latency, protocol) stays as it is, so the factor is
/// below 1 / share. `jobs`: that share the fabric node by node, so that their nodes lie under more leaves. Errors: as the
/// collective models.
Result<double> slowdown(const graph::Collective& op, const graph::Partition& partition, std::uint32_t ranks,
                        const CostModels& models, std::uint32_t jobs, const LinksLeft& left);

}  // namespace distsim::pipeline
