#include "collectives/curves/link_limits.hpp"

#include <algorithm>
#include <cstdio>

namespace distsim::collectives {
namespace {

std::string gigabytes(double rate) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g GB/s", rate * 1e-9);
  return text;
}

}  // namespace

double highest_busbw(graph::CollectiveKind kind, const topology::GroupFacts& facts) {
  const double in_flight = kind == graph::CollectiveKind::all_reduce ? 2 : 1;
  const double within = in_flight * std::max(facts.intra_bandwidth.value(), facts.intra_ring_bandwidth.value());
  if (facts.nodes < 2) return within;
  const bool all_to_all = kind == graph::CollectiveKind::all_to_all || kind == graph::CollectiveKind::all_to_all_v;
  if (all_to_all && facts.ranks > facts.max_per_node) {
    const double ranks = facts.ranks, members = facts.max_per_node;
    return facts.node_bandwidth.value() / members * (ranks - 1) / (ranks - members);
  }
  // Of ranks that each send to the next, one of a node has its next in another, and no way but through the NICs.
  const double ways = kind == graph::CollectiveKind::send_recv ? 1 : 2;
  const double across = in_flight * ways * facts.node_bandwidth.value();
  return facts.max_per_node > 1 && within > 0 ? std::min(within, across) : across;
}

Result<void> check_links(const Curve& curve, const topology::GroupFacts& facts, const std::string& file) {
  for (const CurvePoint& p : curve.points) {
    if (p.time_us >= kShortestUs) continue;
    char line[96];
    std::snprintf(line, sizeof line, "of %.0f B: found %.6g us, expected at least %.6g us", p.bytes, p.time_us,
                  kShortestUs);
    return Error{std::string(graph::name_of(curve.kind)) + " " + line + ", the way of a message between two GPUs", file,
                 "a time in another unit?"};
  }
  const double most = highest_busbw(curve.kind, facts);
  if (most <= 0) return {};
  for (const CurvePoint& p : curve.points) {
    const double busbw = p.bytes / (p.time_us * 1e-6) * graph::busbw_factor(curve.kind, curve.ranks);
    if (busbw <= most * kLinkTolerance) continue;
    char size[32];
    std::snprintf(size, sizeof size, "%.0f", p.bytes);
    return Error{std::string(graph::name_of(curve.kind)) + " of " + size + " B: found a bus bandwidth of " +
                     gigabytes(busbw) + ", expected at most " + gigabytes(most) + ", which the links allow (" +
                     facts.bottleneck + ")",
                 file, "measured on another system?"};
  }
  return {};
}

}  // namespace distsim::collectives
