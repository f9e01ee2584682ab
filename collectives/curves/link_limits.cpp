#include "collectives/curves/link_limits.hpp"

#include <algorithm>
#include <cstdio>

#include "base/text/quantity_text.hpp"

namespace distsim::collectives {
namespace {

std::string gigabytes(double rate) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g GB/s", rate * 1e-9);
  return text;
}

/// What a GPU exchanges with others of its node: over its links or, without NVLink, past a slow CPU over a NIC of its own.
double rate_within(const topology::GroupFacts& facts) {
  const double link = std::max(facts.intra_bandwidth.value(), facts.ring_limit().value());
  const double members = facts.max_per_node;
  const bool own_nics = !facts.nvlink() && facts.gpu_direct && members > 1 && facts.nics_per_node >= members;
  return own_nics ? std::max(link, facts.node_bandwidth.value() / members) : link;
}

}  // namespace

double highest_busbw(graph::CollectiveKind kind, const topology::GroupFacts& facts) {
  using Kind = graph::CollectiveKind;
  const bool reduces = kind == Kind::all_reduce;
  const double link = rate_within(facts);
  const double within = reduces && facts.multicast ? 2 * link : link;
  if (facts.nodes < 2) return within;
  const double node = facts.node_bandwidth.value(), ranks = facts.ranks, members = facts.max_per_node;
  if ((kind == Kind::all_to_all || kind == Kind::all_to_all_v) && ranks > members)
    return node / members * (ranks - 1) / (ranks - members);
  // Of ranks that each send to the next, one of a node has its next in another, and no way but through the NICs.
  double ways = 1;
  if (kind != Kind::send_recv && kind != Kind::broadcast && kind != Kind::reduce) {
    const double outside = facts.min_per_node == facts.max_per_node ? 1 - 1.0 / facts.nodes : 0.5;
    ways = (1 - 1 / ranks) / outside;
    if (reduces && (facts.sharp || facts.transport == topology::Transport::infiniband))
      ways = std::max(ways, 2 * (1 - 1 / ranks));
  }
  const double across = ways * node;
  return members > 1 && within > 0 ? std::min(within, across) : across;
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

Result<std::string> far_above_model(const Curve& curve, const topology::GroupFacts& facts,
                                    const ModelConstants& constants, const std::string& file) {
  const AnalyticModel model(curve.kind, facts, {curve.single_process, curve.cuda_graph}, constants);
  std::size_t far = 0;
  std::string first;
  for (const CurvePoint& p : curve.points) {
    const double expected = model.time_us(p.bytes);
    if (p.time_us <= kTimesTooLong * expected || ++far > 1) continue;
    char size[32];
    std::snprintf(size, sizeof size, "%.0f", p.bytes);
    first = std::string(graph::name_of(curve.kind)) + " of " + size + " B: found " +
            format_quantity(p.time_us * 1e-6, Dimension::seconds) + ", where the model says " +
            format_quantity(expected * 1e-6, Dimension::seconds);
  }
  if (far == 0) return std::string();
  if (far == curve.points.size()) return Error{first + ", and so on at every size; expected microseconds", file, ""};
  return file + ": " + first + "; expected microseconds";
}

}  // namespace distsim::collectives
