#include "sim/pipeline/price.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/threads/stop.hpp"
#include "topology/shapes/fabric.hpp"

namespace distsim::pipeline {
namespace {

using Members = std::vector<std::uint32_t>;

/// Members of the strided group that starts at rank `first`.
Members strided_members(const graph::Partition& p, std::uint32_t first) {
  Members members(p.size);
  for (std::uint32_t i = 0; i < p.size; ++i) members[i] = first + i * p.stride;
  return members;
}

/// Nodes after which the fabric repeats itself: those of a leaf, or of a pod where its uplinks can be full.
std::uint64_t nodes_of_period(const topology::FabricSpec& fabric, const topology::FabricUse& use) {
  return topology::uplinks_can_fill(fabric, use) ? topology::nodes_per_pod(fabric, use)
                                                 : topology::nodes_per_leaf(fabric, use);
}

/// Where groups can differ: nodes are equal, so what counts is where a group starts within an NVLink domain and within a
/// leaf or pod of the fabric, and whether its domains have the larger or the smaller number of the job's nodes.
class GroupPlaces {
 public:
  GroupPlaces(const topology::Topology& topology, const topology::FabricUse& use)
      : domains_(topology.domains()),
        gpus_(topology.gpus_per_node()),
        fabric_ranks_(nodes_of_period(topology.spec().fabric, use) * gpus_) {}

  /// Equal for groups of the same shape whose places are alike.
  std::uint64_t of(std::uint32_t first, std::uint32_t last) const {
    const std::uint32_t begin = domains_.of_node(first / gpus_), end = domains_.of_node(last / gpus_);
    const bool larger = domains_.nodes_of(begin) == domains_.largest();
    if (domains_.nodes_of(begin) != domains_.nodes_of(end)) return 2 * distinct() + first;
    const std::uint64_t in_domain = first - domains_.first_node(begin) * gpus_;
    return (in_domain * fabric_ranks_ + first % fabric_ranks_) * 2 + (larger ? 1 : 0);
  }

  /// Ranks after which places repeat themselves, if they do so all over the job.
  std::optional<std::uint64_t> period() const {
    if (!domains_.even()) return std::nullopt;
    return std::lcm(std::uint64_t{domains_.largest()} * gpus_, fabric_ranks_);
  }

 private:
  std::uint64_t distinct() const { return std::uint64_t{domains_.largest()} * gpus_ * fabric_ranks_; }

  const topology::NvlinkDomains& domains_;
  std::uint32_t gpus_;
  std::uint64_t fabric_ranks_;
};

/// First ranks of the strided groups that can differ from each other.
std::vector<std::uint32_t> distinct_firsts(const graph::Partition& p, std::uint32_t ranks,
                                           const topology::Topology& topology, const topology::FabricUse& use) {
  const GroupPlaces places(topology, use);
  const std::uint64_t block = std::uint64_t(p.size) * p.stride;
  const std::optional<std::uint64_t> period = places.period();
  std::vector<std::uint32_t> firsts;
  std::set<std::uint64_t> seen;
  for (std::uint64_t base = 0; base + block <= ranks; base += block) {
    for (std::uint64_t offset = 0; offset < p.stride; ++offset) {
      const auto first = static_cast<std::uint32_t>(base + offset);
      const std::uint64_t last = first + std::uint64_t(p.size - 1) * p.stride;
      if (seen.insert(places.of(first, static_cast<std::uint32_t>(last))).second) firsts.push_back(first);
    }
    if (period && seen.size() >= *period) break;
  }
  return firsts;
}

/// Calls keep(members) with the listed groups that can differ from each other; single ranks only where `singles`.
template <class Keep>
void for_each_listed(const graph::Partition& p, bool singles, const topology::Topology& topology,
                     const topology::FabricUse& use, Keep keep) {
  const GroupPlaces places(topology, use);
  std::set<std::pair<std::uint64_t, Members>> seen;  // the place, then how far the others are from the first member
  Members members, apart;
  for (std::size_t g = 0; g + 1 < p.listed_offsets.size(); ++g) {
    if (!singles && p.listed_offsets[g + 1] - p.listed_offsets[g] == 1) continue;
    for (std::uint32_t i = 0; i < p.each; ++i) {
      members.clear();
      for (std::uint32_t m = p.listed_offsets[g]; m < p.listed_offsets[g + 1]; ++m)
        members.push_back(p.listed_members[m] * p.each + i);
      std::sort(members.begin(), members.end());
      apart = members;
      for (std::uint32_t& m : apart) m -= members[0];
      if (seen.emplace(places.of(members.front(), members.back()), apart).second) keep(members);
    }
  }
}

/// Facts of the distinct groups of a partition.
std::vector<topology::GroupFacts> facts_of(const graph::Partition& p, std::uint32_t ranks,
                                           const topology::Topology& topology, const topology::FabricUse& use) {
  std::map<std::string, topology::GroupFacts> distinct;
  std::size_t together = 0;  // groups of more than one rank; single ranks take no part
  for (std::size_t g = 0; g + 1 < p.listed_offsets.size(); ++g)
    together += p.listed_offsets[g + 1] - p.listed_offsets[g] > 1 ? p.each : 0;
  const bool only_group = p.listed_offsets.empty() ? p.size == ranks : together <= 1;
  const topology::Siblings siblings =
      only_group ? topology::Siblings::idle
                 : topology::Siblings::active;  // all groups of a partition run their collective at about the same time
  const auto keep = [&](const Members& members) {
    topology::GroupFacts facts = topology.facts(members, siblings, use);
    distinct.emplace(facts.key(), std::move(facts));
  };
  if (!p.listed_offsets.empty()) {
    for_each_listed(p, together == 0, topology, use, keep);
  } else {
    for (const std::uint32_t first : distinct_firsts(p, ranks, topology, use)) keep(strided_members(p, first));
  }
  std::vector<topology::GroupFacts> out;
  for (auto& [key, facts] : distinct) out.push_back(std::move(facts));
  return out;
}

/// Prices tasks one by one, remembering the groups of every partition.
class Pricer {
 public:
  Pricer(const graph::TaskGraph& graph, const CostModels& models)
      : graph_(graph), models_(models), groups_(graph.partitions.size()) {}

  Result<graph::Cost> cost(const graph::Task& task, const graph::Op& op) {
    if (const auto* collective = std::get_if<graph::Collective>(&op)) return collective_cost(task, *collective);
    return op_cost(op);
  }
  Result<graph::Cost> op_cost(const graph::Op& op) { return models_.op_prices->of(op, models_.ops); }

 private:
  Result<graph::Cost> collective_cost(const graph::Task& task, const graph::Collective& op) {
    auto& groups = groups_[task.partition];
    if (!groups) groups = models_.group_prices->of(graph_.partitions[task.partition], graph_.ranks, models_.topology);
    TRY_ASSIGN(const graph::Cost dearest, groups->of(op, models_.collectives));
    return op.times == 1 ? Result<graph::Cost>(dearest) : graph::repeated(dearest, static_cast<double>(op.times));
  }

  const graph::TaskGraph& graph_;
  const CostModels& models_;
  IdVector<PartitionId, std::shared_ptr<GroupPrices::Groups>> groups_;
};

constexpr std::size_t kMostPrices = 1 << 13;  // some 3 MB
constexpr std::size_t kMostPartitions = 1 << 12, kMostPricesOfGroups = 1 << 10;

Result<graph::Cost> dearest_of(const graph::Collective& op, const std::vector<topology::GroupFacts>& facts,
                               const collectives::CollectiveModels& models) {
  TRY_ASSIGN(graph::Cost dearest, models.price(op, facts.front()));
  for (std::size_t i = 1; i < facts.size(); ++i) {
    TRY_ASSIGN(const graph::Cost cost, models.price(op, facts[i]));
    if (cost.mean > dearest.mean) dearest = cost;
  }
  return dearest;
}

Result<bool> waits_for_uplinks(const graph::Collective& op, const topology::GroupFacts& facts,
                               const collectives::CollectiveModels& models) {
  topology::GroupFacts free = facts;
  free.uplink_limits = {};
  if (free == facts) return false;
  free.bottleneck.clear();
  TRY_ASSIGN(const graph::Cost with, models.price(op, facts));
  TRY_ASSIGN(const graph::Cost without, models.price(op, free));
  constexpr double kNoticed = 1.001;  // a curve that is carried over may end beside itself by less
  return with.mean.seconds() > kNoticed * without.mean.seconds();
}

}  // namespace

Result<graph::Cost> OpPrices::of(const graph::Op& op, const opmodels::OpModels& models) {
  const auto key = graph::key_of(op);
  if (!key) return models.price(op);
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = known_.find(*key); known != known_.end()) return known->second;
  }
  TRY_ASSIGN(const graph::Cost cost, models.price(op));
  const std::lock_guard lock(mutex_);
  if (known_.size() >= kMostPrices) known_.clear();
  known_.emplace(*key, cost);
  return cost;
}

Result<graph::Cost> GroupPrices::Groups::of(const graph::Collective& op, const collectives::CollectiveModels& models) {
  if (!op.send_bytes.empty()) return dearest_of(op, facts_, models);
  const Key key{op.kind, op.dtype, op.bytes};
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
  }
  TRY_ASSIGN(const graph::Cost cost, dearest_of(op, facts_, models));
  const std::lock_guard lock(mutex_);
  if (known_.size() >= kMostPricesOfGroups) known_.clear();
  known_.emplace(key, cost);
  return cost;
}

std::shared_ptr<GroupPrices::Groups> GroupPrices::of(const graph::Partition& partition, std::uint32_t ranks,
                                                     const topology::Topology& topology,
                                                     const topology::FabricUse& use) {
  const std::tuple key(ranks, use, partition);
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
  }
  auto groups = std::make_shared<Groups>(facts_of(partition, ranks, topology, use));
  const std::lock_guard lock(mutex_);
  if (known_.size() >= kMostPartitions) known_.clear();
  return known_.emplace(key, std::move(groups)).first->second;
}

Result<bool> slowed_by_uplinks(const graph::TaskGraph& graph, const CostModels& models) {
  std::set<std::tuple<std::uint32_t, graph::CollectiveKind, std::int64_t>> seen;
  for (const graph::Task& task : graph.tasks) {
    end_if_stopped();
    for (std::uint32_t v = 0; v < task.variants; ++v) {
      const auto* op = std::get_if<graph::Collective>(&graph.ops[OpId(task.first_op.value() + v)]);
      if (op == nullptr) continue;
      if (op->send_bytes.empty() && !seen.insert({task.partition.value(), op->kind, op->bytes}).second) continue;
      const auto groups = models.group_prices->of(graph.partitions[task.partition], graph.ranks, models.topology);
      for (const topology::GroupFacts& f : groups->facts()) {
        TRY_ASSIGN(const bool slowed, waits_for_uplinks(*op, f, models.collectives));
        if (slowed) return true;
      }
    }
  }
  return false;
}

Result<graph::CostedGraph> price(graph::TaskGraph graph, std::shared_ptr<const CostModels> models) {
  Pricer pricer(graph, *models);
  IdVector<OpId, graph::Cost> costs(graph.ops.size());
  for (const auto& parts : graph.sequences) {
    for (const graph::SequencePart& part : parts) {
      Result<graph::Cost> cost = pricer.op_cost(graph.ops[part.op]);
      if (!cost) return Error{graph::describe(graph.ops[part.op]) + ": " + cost.error().what, cost.error().where, ""};
      costs[part.op] = *cost;
    }
  }
  std::vector<bool> priced(graph.ops.size(), false);
  for (const graph::Task& task : graph.tasks) {
    end_if_stopped();
    for (std::uint32_t v = 0; v < task.variants; ++v) {
      const OpId id(task.first_op.value() + v);
      if (priced[id.value()] || std::holds_alternative<graph::Sequence>(graph.ops[id])) continue;
      priced[id.value()] = true;  // of all tasks that share the op
      Result<graph::Cost> cost = pricer.cost(task, graph.ops[id]);
      if (!cost)
        return Error{"task " + graph.names[task.name] + ": " + cost.error().what, cost.error().where,
                     cost.error().hint};
      costs[id] = *cost;
    }
  }
  graph::CostedGraph costed{std::move(graph), std::move(costs), std::move(models)};
  TRY(graph::sum_sequences(costed));
  return costed;
}

}  // namespace distsim::pipeline
