#include "topology/uplinks.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "topology/double_tree.hpp"

namespace distsim::topology {
namespace {

/// The part of a node (NVLink domain) that is under one leaf or pod.
struct Part {
  std::uint32_t unit = 0;  ///< leaf or pod, numbered from 0 on among those of the group
  double trays = 0;
};

/// Where a group is on one level of the fabric.
struct LevelPlace {
  std::vector<std::vector<Part>> nodes;
  std::vector<std::uint64_t> unit_numbers;  ///< of the leaves or pods in the whole fabric
  std::vector<double> under;                ///< trays of the group under each
  double trays = 0;                         ///< of the whole group

  double trays_of(std::size_t node) const {
    double sum = 0;
    for (const Part& p : nodes[node]) sum += p.trays;
    return sum;
  }
  double trays_of_smallest() const {
    double least = trays;
    for (std::size_t i = 0; i < nodes.size(); ++i) least = std::min(least, trays_of(i));
    return least;
  }
  double trays_of_largest() const {
    double most = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) most = std::max(most, trays_of(i));
    return most;
  }
};

LevelPlace place_on(const TopologyParts& t, std::span<const std::uint32_t> members, std::uint64_t nodes_per_unit) {
  LevelPlace place;
  std::uint32_t domain = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::uint32_t tray = members[i] / t.gpus;
    if (i > 0 && tray == members[i - 1] / t.gpus) continue;
    const std::uint64_t unit = tray / nodes_per_unit;
    if (place.unit_numbers.empty() || place.unit_numbers.back() != unit) {
      place.unit_numbers.push_back(unit);
      place.under.push_back(0);
    }
    if (i == 0 || t.domains.of_node(tray) != domain) place.nodes.emplace_back();
    domain = t.domains.of_node(tray);
    const auto here = static_cast<std::uint32_t>(place.under.size() - 1);
    std::vector<Part>& node = place.nodes.back();
    if (node.empty() || node.back().unit != here) node.push_back({here, 0});
    ++node.back().trays;
    ++place.under.back();
    ++place.trays;
  }
  return place;
}

/// Bytes that leave each leaf or pod while every node sends one byte.
class UplinkLoads {
 public:
  explicit UplinkLoads(const LevelPlace& place)
      : place_(place), n_(static_cast<std::uint32_t>(place.nodes.size())), loads_(place.under.size(), 0) {}

  std::vector<double> of(Traffic traffic, double rails) && {
    switch (traffic) {
      case Traffic::ring:
        for (std::uint32_t i = 0; i < n_; ++i) send(i, (i + 1) % n_, 1);
        break;
      case Traffic::tree:
        add_double_tree();
        break;
      case Traffic::doubling:
        add_doubling();
        break;
      case Traffic::all_pairs:
        add_all_pairs(rails);
        break;
      case Traffic::rooted:
        for (std::uint32_t i = 1; i < n_; ++i) send(0, i, 1.0 / (n_ - 1));
        break;
    }
    return std::move(loads_);
  }

 private:
  void send(std::uint32_t from, std::uint32_t to, double bytes) {
    const double per_tray = bytes / place_.trays_of(from);
    for (const Part& out : place_.nodes[from]) {
      double stays = 0;
      for (const Part& in : place_.nodes[to]) {
        if (in.unit == out.unit) stays = std::min(in.trays, out.trays);
      }
      loads_[out.unit] += (out.trays - stays) * per_tray;
    }
  }

  void add_double_tree() {
    constexpr double kOfOneEdge = 0.25;
    for (std::uint32_t tree : {0u, 1u}) {
      for (std::uint32_t i = 0; i < n_; ++i) {
        const std::uint32_t parent = double_tree_parent(tree, i, n_);
        if (parent == kTreeRoot) continue;
        send(i, parent, kOfOneEdge);
        send(parent, i, kOfOneEdge);
      }
    }
  }

  /// A chunk with o nodes to go takes the powers of two in o, the largest first: its last message travels the lowest.
  void add_doubling() {
    for (std::uint32_t d = 1; d < n_; d *= 2) {
      const double chunks = (n_ - 1 + d) / (2 * d);  // o from 1 to n - 1 whose lowest power is d
      for (std::uint32_t i = 0; i < n_; ++i) send(i, (i + d) % n_, chunks / (n_ - 1));
    }
  }

  /// The largest node sends one byte, as GroupFacts::pairs_bandwidth has it; a smaller one what it has for others.
  void add_all_pairs(double rails) {
    const double largest = place_.trays_of_largest();
    for (std::uint32_t i = 0; i < n_; ++i) {
      const double own = place_.trays_of(i), others = place_.trays - own;
      const double bytes = own * others / (largest * (place_.trays - largest));
      for (const Part& p : place_.nodes[i]) {
        const double beside = (place_.under[p.unit] - p.trays) / rails;
        loads_[p.unit] += bytes * p.trays / own * (others - beside) / others;
      }
    }
  }

  const LevelPlace& place_;
  std::uint32_t n_;
  std::vector<double> loads_;
};

struct UplinkLevel {
  std::uint64_t nodes_per_unit;
  double bandwidth;  ///< of the leaves that join these nodes, or of their pod
  bool detours;      ///< where direct links are full, as between the groups of a dragonfly
};

/// Each NIC of a node has the same part of the uplinks: its own rail's, or one that the others leave to it.
double part_of_nics(const TopologyParts& t, Siblings siblings, double nics_per_tray) {
  const bool shared = t.fabric.rails() || siblings == Siblings::active;
  return shared ? nics_per_tray / static_cast<double>(t.spec.nic.count) : 1;
}

/// What else is under the leaves and pods of a group while its siblings communicate: groups like it.
///
/// Groups of N nodes next to each other tile the job's nodes. Of those beside a group only two can send over its
/// uplinks: that at the first node of its first leaf, and that at the last node of its last one. Groups with other nodes
/// in between share what they have by their numbers of nodes.
class Beside {
 public:
  Beside(const TopologyParts& t, std::span<const std::uint32_t> members, const LevelPlace& place,
         std::uint64_t nodes_per_unit)
      : t_(t), members_(members), place_(place), per_unit_(nodes_per_unit), first_(members.front() / t.gpus) {
    const auto trays = static_cast<std::uint64_t>(place.trays);
    tiles_ = members.back() / t.gpus - first_ + 1 == trays && first_ % trays == 0;
    if (!tiles_) return;
    add(place.unit_numbers.front() * per_unit_ / trays);
    const std::uint64_t end = std::min<std::uint64_t>((place.unit_numbers.back() + 1) * per_unit_, t.nodes);
    add((end - 1) / trays);
  }

  /// Part of a unit's uplinks that is left to the group, whose own load is `own`.
  double part(Traffic traffic, double rails, std::size_t unit, double own) const {
    if (!tiles_) return part_of_nodes(unit);
    double all = own;
    for (const LevelPlace& other : others_) {
      const auto at = std::find(other.unit_numbers.begin(), other.unit_numbers.end(), place_.unit_numbers[unit]);
      if (at == other.unit_numbers.end()) continue;
      all += UplinkLoads(other).of(traffic, rails)[static_cast<std::size_t>(at - other.unit_numbers.begin())];
    }
    return own / all;
  }

 private:
  /// The group of that number, if it is another one and whole.
  void add(std::uint64_t number) {
    const auto trays = static_cast<std::uint64_t>(place_.trays);
    if (number == first_ / trays || (number + 1) * trays > t_.nodes || (number == last_added_ && !others_.empty()))
      return;
    last_added_ = number;
    std::vector<std::uint32_t> shifted(members_.begin(), members_.end());
    for (std::uint32_t& m : shifted) m = static_cast<std::uint32_t>(m + (number * trays - first_) * t_.gpus);
    others_.push_back(place_on(t_, shifted, per_unit_));
  }

  double part_of_nodes(std::size_t unit) const {
    const std::uint64_t first = place_.unit_numbers[unit] * per_unit_;
    return place_.under[unit] / static_cast<double>(std::min<std::uint64_t>(per_unit_, t_.nodes - first));
  }

  const TopologyParts& t_;
  std::span<const std::uint32_t> members_;
  const LevelPlace& place_;
  std::uint64_t per_unit_, first_, last_added_ = 0;
  bool tiles_ = false;
  std::vector<LevelPlace> others_;
};

double detour_share(const UplinkLevel& level, Traffic traffic, std::size_t units) {
  if (!level.detours || traffic == Traffic::all_pairs || units < 2) return 1;
  return (1 + 1 / (static_cast<double>(units) - 1)) / 2;
}

}  // namespace

std::array<BytesPerSecond, std::size(kTraffic)> uplink_limits(const TopologyParts& t,
                                                              std::span<const std::uint32_t> members, Siblings siblings,
                                                              const FabricUse& use, double nics, std::uint32_t rails) {
  std::array<BytesPerSecond, std::size(kTraffic)> limits{};
  if (!uplinks_can_fill(t.spec.fabric, use)) return limits;
  const bool rails_meet_at_spine = t.fabric.rails() && !t.spec.gpu_links.has_nvlink();
  const std::uint64_t per_leaf = nodes_per_leaf(t.spec.fabric, use), per_pod = nodes_per_pod(t.spec.fabric, use);
  const double leaves = t.fabric.rails() ? static_cast<double>(t.spec.nic.count) : 1;
  for (const UplinkLevel& level : {UplinkLevel{per_leaf, leaves * t.fabric.leaf_uplink().value(), false},
                                   UplinkLevel{per_pod, t.fabric.pod_uplink().value(), t.fabric.direct()}}) {
    const LevelPlace place = place_on(t, members, level.nodes_per_unit);
    const double tray_nics = nics / place.trays_of_smallest();
    const double bandwidth = level.bandwidth * t.spec.nic.efficiency * part_of_nics(t, siblings, tray_nics);
    const bool by_rail = rails_meet_at_spine && level.nodes_per_unit == per_leaf;
    std::optional<Beside> beside;
    if (siblings == Siblings::active) beside.emplace(t, members, place, level.nodes_per_unit);
    for (const Traffic traffic : kTraffic) {
      const std::vector<double> loads = UplinkLoads(place).of(traffic, by_rail ? rails : 1);
      BytesPerSecond& limit = limits[static_cast<std::size_t>(traffic)];
      for (std::size_t u = 0; u < loads.size(); ++u) {
        if (loads[u] <= 1e-12) continue;  // what rounding leaves
        const double part = beside ? beside->part(traffic, by_rail ? rails : 1, u, loads[u]) : 1;
        const BytesPerSecond here(bandwidth * part * detour_share(level, traffic, loads.size()) / loads[u]);
        if (limit.value() == 0 || here < limit) limit = here;
      }
    }
  }
  return limits;
}

}  // namespace distsim::topology
