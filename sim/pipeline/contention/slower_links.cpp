#include "sim/pipeline/contention/slower_links.hpp"

#include <algorithm>

namespace distsim::pipeline {
namespace {

topology::GroupFacts slower(topology::GroupFacts facts, const LinksLeft& left) {
  const auto scale = [](BytesPerSecond& rate, double share) { rate = BytesPerSecond(rate.value() * share); };
  scale(facts.nic_bandwidth, left.nic);
  scale(facts.node_bandwidth, left.nic);
  scale(facts.pairs_bandwidth, left.nic);
  for (BytesPerSecond& limit : facts.uplink_limits) scale(limit, left.uplink);
  facts.bottleneck.clear();
  return facts;
}

}  // namespace

Result<double> slowdown(const graph::Collective& op, const graph::Partition& partition, std::uint32_t ranks,
                        const CostModels& models, const LinksLeft& left) {
  double before = 0, after = 0;
  for (const topology::GroupFacts& facts : models.group_prices->of(partition, ranks, models.topology)->facts()) {
    TRY_ASSIGN(const graph::Cost sound, models.collectives.price(op, facts));
    TRY_ASSIGN(const graph::Cost slow, models.collectives.price_degraded(op, slower(facts, left), facts));
    before = std::max(before, sound.mean.seconds());
    after = std::max(after, slow.mean.seconds());
  }
  return before > 0 ? std::max(1.0, after / before) : 1;
}

}  // namespace distsim::pipeline
