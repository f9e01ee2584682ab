// Facts of a group. Members are ascending, so those of one node (NVLink domain) are a run; nodes whose members have the
// same numbers within the node have the same facts, which are worked out once. 100,000 members of a regular group cost
// one pass.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>
#include <vector>

#include "topology/topology_parts.hpp"
#include "topology/uplinks.hpp"

namespace distsim::topology {
namespace {

/// What the members of one node or domain have.
struct UnitFacts {
  IntraFacts intra;
  double nics = 0;
  double network = 0;       ///< bytes/s
  std::uint32_t rails = 1;  ///< sets of NICs that are nearest to some member
};

std::uint32_t rails_of(const TopologyParts& t, std::span<const std::uint32_t> locals) {
  std::vector<std::uint32_t> firsts;  // GPUs near the same NICs have the same first one
  for (const std::uint32_t local : locals) {
    if (!t.gpu_nics[local % t.gpus].empty()) firsts.push_back(t.gpu_nics[local % t.gpus].front());
  }
  std::sort(firsts.begin(), firsts.end());
  return std::max(1u, static_cast<std::uint32_t>(std::unique(firsts.begin(), firsts.end()) - firsts.begin()));
}

using Ranks = std::span<const std::uint32_t>;

/// By port of a node or domain: how many of these GPUs use it.
std::vector<std::uint32_t> nic_users(const TopologyParts& t, Ranks locals) {
  std::vector<std::uint32_t> users(t.spec.nic.count * t.domains.largest(), 0);
  for (const std::uint32_t local : locals) {
    const std::uint32_t first = local / t.gpus * static_cast<std::uint32_t>(t.spec.nic.count);
    for (const std::uint32_t nic : t.gpu_nics[local % t.gpus]) ++users[first + nic];
  }
  return users;
}

/// Ports nearest to the members, and the rate they give: no more than the members' own PCIe links. `busy` share them; empty:
/// all GPUs.
void add_network(const TopologyParts& t, Ranks locals, Siblings siblings, Ranks busy, UnitFacts& unit) {
  const std::vector<std::uint32_t> users = nic_users(t, locals), sharing = nic_users(t, busy);
  unit.rails = rails_of(t, locals);
  for (std::size_t nic = 0; nic < users.size(); ++nic) {
    if (users[nic] == 0) continue;
    const std::uint32_t all = busy.empty() ? t.nic_gpus[nic % t.nic_gpus.size()] : sharing[nic];
    unit.nics += siblings == Siblings::active ? static_cast<double>(users[nic]) / all : 1.0;
  }
  unit.network = std::min(unit.nics * nic_rate(t.spec).value(),
                          static_cast<double>(locals.size()) * t.spec.pcie.bandwidth.value());
}

UnitFacts unit_facts(const TopologyParts& t, Ranks locals, Siblings siblings, Ranks busy) {
  UnitFacts unit;
  if (locals.size() > 1) unit.intra = t.shape->facts(t.machine, t.node, locals);
  add_network(t, locals, siblings, busy, unit);
  return unit;
}

/// Folds the facts of the units of a group: the weakest counts.
class Fold {
 public:
  explicit Fold(GroupFacts& facts) : facts_(facts) {}

  void add(const UnitFacts& unit, std::uint32_t members) {
    const bool first = facts_.nodes++ == 0;
    facts_.min_per_node = first ? members : std::min(facts_.min_per_node, members);
    facts_.max_per_node = std::max(facts_.max_per_node, members);
    facts_.nics_per_node = first ? unit.nics : std::min(facts_.nics_per_node, unit.nics);
    network_ = first ? unit.network : std::min(network_, unit.network);
    const Part part{members, unit.nics, unit.network};
    if (std::ranges::find(parts_, part) == parts_.end()) parts_.push_back(part);
    rails_ = std::max(rails_, unit.rails);
    if (members > 1) add_intra(unit.intra);
  }
  double network() const { return network_; }
  /// GroupFacts::pairs_bandwidth and pairs_nics.
  double pairs_bandwidth() const { return for_pairs(&Part::network); }
  double pairs_nics() const { return for_pairs(&Part::nics); }
  std::uint32_t rails() const { return rails_; }

 private:
  struct Part {
    std::uint32_t members;
    double nics, network;
    bool operator==(const Part&) const = default;
  };

  double for_pairs(double Part::*what) const {
    const auto across = [&](double members) { return members * (facts_.ranks - members); };
    double least = std::numeric_limits<double>::infinity();
    for (const Part& part : parts_) least = std::min(least, part.*what / across(part.members));
    return least * across(facts_.max_per_node);
  }

  void add_intra(const IntraFacts& intra) {
    const bool first = facts_.intra == nullptr;
    if (first || intra.ring_limit() < facts_.ring_limit()) facts_.intra = intra.shape;
    facts_.intra_bandwidth = first ? intra.bandwidth : std::min(facts_.intra_bandwidth, intra.bandwidth);
    facts_.intra_ring_bandwidth = first ? intra.ring : std::min(facts_.intra_ring_bandwidth, intra.ring);
    if (intra.sockets.value() > 0) facts_.intra_socket_bandwidth = intra.sockets;
    facts_.intra_latency = std::max(facts_.intra_latency, intra.latency);
  }

  GroupFacts& facts_;
  double network_ = 0;
  std::uint32_t rails_ = 1;
  std::vector<Part> parts_;  ///< those that differ; a few
};

/// Those of [base, base + width), by their places there.
std::vector<std::uint32_t> places_in(Ranks ranks, std::uint32_t base, std::uint32_t width) {
  const auto first = std::ranges::lower_bound(ranks, base);
  std::vector<std::uint32_t> places(first, std::lower_bound(first, ranks.end(), base + width));
  for (std::uint32_t& p : places) p -= base;
  return places;
}

/// Walks the runs of members by domain and folds them.
Fold fold_units(const TopologyParts& t, Ranks members, Siblings siblings, Ranks busy, GroupFacts& facts) {
  Fold fold(facts);
  bool shares = false;                           // a node that is all the group's has no others
  std::vector<std::uint32_t> locals, busy_here;  // of the run that `unit` describes
  UnitFacts unit;
  for (std::size_t begin = 0, end = 0; begin < members.size(); begin = end) {
    const std::uint32_t domain = t.domains.of_node(members[begin] / t.gpus);
    const std::uint32_t base = t.domains.first_node(domain) * t.gpus, width = t.domains.nodes_of(domain) * t.gpus;
    bool same = true;
    for (; end < members.size() && members[end] - base < width; ++end) {
      CHECK(end == 0 || members[end] > members[end - 1])
          << "members of a group must be in ascending order: " << members[end];
      same = same && end - begin < locals.size() && locals[end - begin] == members[end] - base;
    }
    std::vector<std::uint32_t> now_busy = places_in(busy, base, width);
    if (!same || end - begin != locals.size() || now_busy != busy_here) {
      locals.assign(members.begin() + static_cast<std::ptrdiff_t>(begin),
                    members.begin() + static_cast<std::ptrdiff_t>(end));
      for (std::uint32_t& l : locals) l -= base;
      busy_here = std::move(now_busy);
      CHECK(busy.empty() || std::ranges::includes(busy_here, locals)) << "members of a group must be busy, too";
      unit = unit_facts(t, locals, siblings, busy_here);
    }
    fold.add(unit, static_cast<std::uint32_t>(end - begin));
    shares = shares || end - begin < (busy.empty() ? width : busy_here.size());
  }
  facts.beside_others = shares && siblings == Siblings::active;
  return fold;
}

/// Most switches between any two members, by the leaves of the first and last node; with rails, messages change rail by
/// NVLink where there is one.
std::uint32_t switches_spanned(const TopologyParts& t, std::span<const std::uint32_t> members, bool several_rails) {
  const std::uint32_t first = members.front() / t.gpus, last = members.back() / t.gpus;
  const std::uint32_t apart = t.fabric.switches_between(t.fabric.leaf_of(first, 0), t.fabric.leaf_of(last, 0));
  const bool change_by_spine = t.fabric.rails() && several_rails && !t.spec.gpu_links.has_nvlink();
  return change_by_spine ? std::max(apart, 3u) : apart;
}

void add_inter(const TopologyParts& t, std::span<const std::uint32_t> members, Siblings siblings, const FabricUse& use,
               const Fold& fold, GroupFacts& facts) {
  facts.nic_bandwidth = nic_rate(t.spec);
  facts.node_bandwidth = BytesPerSecond(fold.network());
  const bool several_rails = fold.rails() > 1;
  if (facts.nodes < 2) {
    if (facts.has_own_nics()) facts.inter_latency = t.fabric.latency(switches_spanned(t, members, several_rails));
    return;
  }
  if (facts.min_per_node < facts.max_per_node) {
    facts.pairs_bandwidth = BytesPerSecond(fold.pairs_bandwidth());
    facts.pairs_nics = fold.pairs_nics();
  }
  facts.inter_latency = t.fabric.latency(switches_spanned(t, members, several_rails));
  facts.uplink_limits = uplink_limits(t, members, siblings, use, facts.nics_per_node, fold.rails());
  facts.sharp = t.spec.fabric.sharp;
}

std::string rate_text(BytesPerSecond rate) { return format_quantity(rate.value(), Dimension::bytes_per_second); }

std::string intra_bottleneck(const TopologyParts& t, const GroupFacts& f) {
  const GpuLinks& links = t.spec.gpu_links;
  if (!f.nvlink()) {
    const bool between_sockets = f.ring_limit() < f.intra_ring_bandwidth;
    return (between_sockets            ? "CPU interconnect "
            : t.spec.pcie.peer_to_peer ? "PCIe "
                                       : "PCIe through host memory ") +
           rate_text(f.ring_limit());
  }
  return "NVLink " + rate_text(links.bandwidth_per_link) + " x " +
         std::to_string(std::llround(f.intra_ring_bandwidth.value() / links.bandwidth_per_link.value()));
}

/// "leaf uplinks oversubscribed 2:1", where they can be full before the NICs are.
std::string uplinks_text(const TopologyParts& t, const GroupFacts& f) {
  const auto full_first = [&](Traffic traffic) { return f.network_rate(traffic) < f.node_bandwidth; };
  if (std::none_of(std::begin(kTraffic), std::end(kTraffic), full_first)) return "";
  const FabricSpec& fabric = t.spec.fabric;
  std::string text;
  const auto add = [&text](std::string_view what, double ratio) {
    if (ratio > 1) text += ", " + std::string(what) + " " + format_quantity(ratio, Dimension::none) + ":1";
  };
  add("leaf uplinks oversubscribed", fabric.oversubscription);
  add(t.fabric.direct() ? "global links oversubscribed" : "spine uplinks oversubscribed",
      fabric.spine_oversubscription);
  return text;
}

std::string bottleneck_text(const TopologyParts& t, const GroupFacts& f) {
  if (f.ranks == 1) return "none";
  const bool by_network = f.nodes > 1 && (f.max_per_node == 1 || f.network_rate(Traffic::ring) <= f.ring_limit());
  if (!by_network) return intra_bottleneck(t, f);
  return "NIC " + rate_text(t.spec.nic.bandwidth) + " x " + format_quantity(f.nics_per_node, Dimension::none) +
         uplinks_text(t, f);
}

}  // namespace

GroupFacts group_facts(const TopologyParts& t, std::span<const std::uint32_t> members, Siblings siblings,
                       const FabricUse& use, std::span<const std::uint32_t> busy) {
  CHECK(!members.empty());
  CHECK(members.back() < t.nodes * t.gpus) << "rank " << members.back();
  GroupFacts facts;
  facts.ranks = static_cast<std::uint32_t>(members.size());
  facts.compute_capability = t.compute_capability;
  facts.peer_to_peer = t.spec.pcie.peer_to_peer;
  facts.gpu_direct = t.spec.nic.gpu_direct;
  facts.transport = t.spec.nic.transport;
  const Fold fold = fold_units(t, members, siblings, busy, facts);
  facts.multicast = facts.switched() && t.spec.gpu_links.multicast;
  add_inter(t, members, siblings, use, fold, facts);
  facts.bottleneck = bottleneck_text(t, facts);
  return facts;
}

bool GroupFacts::nvlink() const { return intra != nullptr && intra->nvlink; }
BytesPerSecond GroupFacts::network_rate(Traffic traffic) const {
  const BytesPerSecond limit = uplink_limits[static_cast<std::size_t>(traffic)];
  const bool uneven = traffic == Traffic::all_pairs && pairs_bandwidth.value() > 0;
  const BytesPerSecond nics = uneven ? pairs_bandwidth : node_bandwidth;
  return limit.value() > 0 ? std::min(limit, nics) : nics;
}

BytesPerSecond GroupFacts::ring_limit() const {
  return intra_socket_bandwidth.value() > 0 ? std::min(intra_ring_bandwidth, intra_socket_bandwidth)
                                            : intra_ring_bandwidth;
}

bool GroupFacts::has_own_nics() const {
  return !nvlink() && gpu_direct && max_per_node > 1 && nics_per_node >= max_per_node;
}

bool GroupFacts::switched() const { return intra != nullptr && intra->switched; }

std::string GroupFacts::key() const {
  char text[512];
  std::snprintf(text, sizeof text, "%u/%u/%u-%u/cc%lld/%a/%a/%lld/%d%d/%a/%a/%a/%lld/%d%d%d/%a/%a/%a/", ranks, nodes,
                min_per_node, max_per_node, static_cast<long long>(compute_capability), intra_bandwidth.value(),
                intra_ring_bandwidth.value(), static_cast<long long>(intra_latency.ps()), multicast, peer_to_peer,
                nics_per_node, nic_bandwidth.value(), node_bandwidth.value(),
                static_cast<long long>(inter_latency.ps()), gpu_direct, sharp, beside_others, pairs_bandwidth.value(),
                pairs_nics, intra_socket_bandwidth.value());
  std::string uplinks;
  for (const BytesPerSecond limit : uplink_limits) {
    char one[32];
    std::snprintf(one, sizeof one, "%a,", limit.value());
    uplinks += one;
  }
  return text + uplinks + std::string(intra != nullptr ? intra->name : "") + "/" + std::string(name_of(transport)) +
         "/" + bottleneck;
}

}  // namespace distsim::topology
