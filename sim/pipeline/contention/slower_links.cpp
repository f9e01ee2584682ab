#include "sim/pipeline/contention/slower_links.hpp"

#include <algorithm>

namespace distsim::pipeline {
namespace {

topology::GroupFacts slower(topology::GroupFacts facts, const LinksLeft& left) {
  facts.nic_bandwidth = facts.nic_bandwidth * left.nic;
  const auto limit = [&facts](BytesPerSecond& rate, double nics) { rate = std::min(rate, facts.nic_bandwidth * nics); };
  limit(facts.node_bandwidth, facts.nics_per_node);  // which the PCIe links of the members may limit already
  limit(facts.pairs_bandwidth, facts.pairs_nics);
  for (BytesPerSecond& uplink : facts.uplink_limits) uplink = uplink * left.uplink;
  facts.bottleneck.clear();
  return facts;
}

}  // namespace

Result<double> slowdown(const graph::Collective& op, const graph::Partition& partition, std::uint32_t ranks,
                        const CostModels& models, std::uint32_t jobs, const LinksLeft& left) {
  double before = 0, after = 0;
  const topology::FabricUse use = left.uplink < 1 ? topology::FabricUse{true, jobs} : topology::FabricUse{};
  for (const topology::GroupFacts& facts : models.group_prices->of(partition, ranks, models.topology, use)->facts()) {
    TRY_ASSIGN(const graph::Cost sound, models.collectives.price(op, facts));
    TRY_ASSIGN(const graph::Cost slow, models.collectives.price_degraded(op, slower(facts, left), facts));
    before = std::max(before, sound.mean.seconds());
    after = std::max(after, slow.mean.seconds());
  }
  return before > 0 ? std::max(1.0, after / before) : 1;
}

}  // namespace distsim::pipeline
