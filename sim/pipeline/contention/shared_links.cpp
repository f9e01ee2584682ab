#include "sim/pipeline/contention/shared_links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text/counted.hpp"

namespace distsim::pipeline {
namespace {

using Demand = engine::Contention::Demand;

topology::ClusterSpec fabric_spec(topology::ClusterSpec spec, const config::EngineSpec& engine) {
  spec.nodes *= engine.jobs;
  return spec;
}

double gpu_bandwidth(const topology::ClusterSpec& spec) {
  const double nvlink = static_cast<double>(spec.gpu_links.links_per_gpu) * spec.gpu_links.bandwidth_per_link.value();
  return nvlink > 0 && spec.gpu_links.has_nvlink() ? nvlink : spec.pcie.bandwidth.value();
}

/// Share of the size that a ring passes on; 0 for kinds that are no ring.
double ring_factor(graph::CollectiveKind kind, double n) {
  switch (kind) {
    case graph::CollectiveKind::all_reduce:
      return 2 * (n - 1) / n;
    case graph::CollectiveKind::all_gather:
    case graph::CollectiveKind::reduce_scatter:
      return (n - 1) / n;
    case graph::CollectiveKind::broadcast:
    case graph::CollectiveKind::reduce:
      return 1;
    default:
      return 0;
  }
}

/// Members of a group by node, leaf or pod.
using Counts = std::map<std::uint32_t, std::uint32_t>;

}  // namespace

SharedLinks::SharedLinks(const topology::Topology& topology, const config::EngineSpec& engine)
    : ranks_(topology.ranks()),
      gpus_(topology.gpus_per_node()),
      nics_(static_cast<std::uint32_t>(topology.spec().nic.count)),
      nodes_(topology.nodes() * static_cast<std::uint32_t>(engine.jobs)),
      jobs_(static_cast<std::uint32_t>(engine.jobs)),
      domains_(topology.domains()),
      fabric_(fabric_spec(topology.spec(), engine), nodes_) {
  const topology::ClusterSpec& spec = topology.spec();
  const auto add = [this](std::size_t count, double capacity) {
    const auto first = static_cast<std::uint32_t>(sound_.size());
    sound_.insert(sound_.end(), count, capacity);
    return first;
  };
  const double uplink = fabric_.leaf_uplink().value() * spec.nic.efficiency;
  const double leaves_a_pod = static_cast<double>((fabric_.leaves() + fabric_.pods() - 1) / fabric_.pods());
  add(std::size_t{nodes_} * gpus_, gpu_bandwidth(spec));
  first_nic_ = add(std::size_t{nodes_} * nics_, topology::nic_rate(spec).value());
  first_leaf_ = add(nics_ > 0 ? fabric_.leaves() : 0, uplink);
  first_pod_ = add(nics_ > 0 ? fabric_.pods() : 0, uplink * leaves_a_pod / spec.fabric.spine_oversubscription);
  capacities_ = sound_;
  for (std::size_t l = first_leaf_; l < capacities_.size(); ++l) capacities_[l] *= 1 - engine.uplink_load;
  broken_.assign(std::size_t{nodes_} * nics_, false);
}

Result<SharedLinks> SharedLinks::create(const topology::Topology& topology, const config::EngineSpec& engine) {
  SharedLinks links(topology, engine);
  for (const config::SlowNic& slow : engine.slow_nics) {
    if (slow.node >= topology.nodes() || slow.nic >= links.nics_) {
      return Error{fmt::format("engine.slow_nics: found NIC {} of node {}, expected one of {} with {}", slow.nic,
                               slow.node, counted(topology.nodes(), "node"), counted(links.nics_, "NIC")),
                   "", ""};
    }
    const auto node = static_cast<std::uint32_t>(slow.node) * links.jobs_, nic = static_cast<std::uint32_t>(slow.nic);
    if (slow.speed > 0)
      links.capacities_[links.nic_resource(node, nic)] = topology::nic_rate(topology.spec(), slow.speed).value();
    else
      links.broken_[node * links.nics_ + nic] = true;
    const auto first = links.broken_.begin() + node * links.nics_;
    if (std::find(first, first + links.nics_, false) == first + links.nics_) {
      return Error{fmt::format("engine.slow_nics: found {} of node {} failed, expected at least one that works",
                               links.nics_ == 1 ? "the only NIC" : fmt::format("all {} NICs", links.nics_), slow.node),
                   "", ""};
    }
  }
  return links;
}

std::string SharedLinks::name_of(std::uint32_t r) const {
  const auto node_name = [this](std::uint32_t node) {
    return jobs_ == 1 ? std::to_string(node) : fmt::format("{} (of job {})", node / jobs_, node % jobs_ + 1);
  };
  if (r < first_nic_) return fmt::format("the links of GPU {} of node {}", r % gpus_, node_name(r / gpus_));
  if (r < first_leaf_)
    return fmt::format("NIC {} of node {}", (r - first_nic_) % nics_, node_name((r - first_nic_) / nics_));
  if (r < first_pod_) return fmt::format("the uplinks of leaf {}", r - first_leaf_);
  return fmt::format("the uplinks of pod {}", r - first_pod_);
}

LinkPlace SharedLinks::place_of(std::uint32_t r) const {
  if (r < first_nic_) return {LinkLevel::gpu, r / gpus_, r % gpus_};
  if (r < first_leaf_) return {LinkLevel::nic, (r - first_nic_) / nics_, (r - first_nic_) % nics_};
  if (r < first_pod_) return {LinkLevel::leaf, 0, r - first_leaf_};
  return {LinkLevel::pod, 0, r - first_pod_};
}

std::uint32_t SharedLinks::nic_of(std::uint32_t rank) const { return rank % gpus_ * nics_ / gpus_; }

/// The traffic of a failed NIC is carried by the others of its node in equal parts.
void SharedLinks::add_nic(std::vector<Demand>& out, std::uint32_t node, std::uint32_t nic, double rate) const {
  const auto first = broken_.begin() + node * nics_;
  if (!first[nic]) return out.push_back({nic_resource(node, nic), rate});
  const auto sound = static_cast<double>(std::count(first, first + nics_, false));
  for (std::uint32_t other = 0; other < nics_; ++other) {
    if (!first[other]) out.push_back({nic_resource(node, other), rate / sound});
  }
}

/// Where a member is. `domain`: its node, or the NVLink domain that several nodes form.
struct SharedLinks::Place {
  std::uint32_t node = 0, domain = 0, leaf = 0, pod = 0;
};

SharedLinks::Place SharedLinks::group_place(std::uint32_t rank, std::uint32_t job) const {
  Place p{node(rank, job), domains_.of_node(rank / gpus_) * jobs_ + job, 0, 0};
  if (nics_ > 0)
    p.leaf = fabric_.leaf_of(p.node, fabric_.rails() ? 0 : nic_of(rank)), p.pod = fabric_.pod_of_leaf(p.leaf);
  return p;
}

void SharedLinks::of_group(const graph::Collective& op, const std::vector<std::uint32_t>& members, double seconds,
                           std::uint32_t job, std::vector<std::vector<Demand>>& out) const {
  const auto n = static_cast<double>(members.size());
  if (members.size() < 2 || op.kind == graph::CollectiveKind::barrier) return;
  Counts in_node, in_leaf, in_pod, nodes_in_leaf, nodes_in_pod;
  for (const std::uint32_t rank : members) {
    const Place p = group_place(rank, job);
    if (++in_node[p.domain] == 1) ++nodes_in_leaf[p.leaf], ++nodes_in_pod[p.pod];
    ++in_leaf[p.leaf];
    ++in_pod[p.pod];
  }
  const double ring = ring_factor(op.kind, n) * static_cast<double>(op.bytes) / seconds;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Place p = group_place(members[i], job);
    auto& demands = out[members[i]];
    const std::uint32_t nic = nics_ > 0 ? nic_of(members[i]) : 0;
    const std::uint32_t leaf = nics_ > 0 ? fabric_.leaf_of(p.node, nic) : 0;
    const auto add = [&](std::uint32_t resource, double rate) {
      if (rate > 0) demands.push_back({resource, rate});
    };
    const double local = in_node[p.domain];
    if (ring > 0) {
      const double out_of_node = in_node.size() > 1 ? ring / local : 0;
      if (local > 1) add(gpu_resource(members[i], job), ring);
      if (out_of_node > 0) add_nic(demands, p.node, nic, out_of_node);
      if (in_leaf.size() > 1) add(first_leaf_ + leaf, out_of_node / nodes_in_leaf[p.leaf]);
      if (in_pod.size() > 1) add(first_pod_ + p.pod, out_of_node / nodes_in_pod[p.pod]);
      continue;
    }
    if (op.kind == graph::CollectiveKind::send_recv) {
      const double rate = static_cast<double>(op.bytes) / seconds;
      const Place to = group_place(members[(i + 1) % members.size()], job);
      if (to.domain == p.domain)
        add(gpu_resource(members[i], job), rate);
      else
        add_nic(demands, p.node, nic, rate);
      if (to.leaf != p.leaf) add(first_leaf_ + leaf, rate);
      if (to.pod != p.pod) add(first_pod_ + p.pod, rate);
      continue;
    }
    const bool uneven = !op.send_bytes.empty();
    const double to_each = uneven
                               ? static_cast<double>(std::max(op.send_bytes[i], op.recv_bytes[i])) / (n - 1) / seconds
                               : static_cast<double>(op.bytes) / n / seconds;
    add(gpu_resource(members[i], job), to_each * (local - 1));
    if (in_node.size() > 1 && to_each > 0) add_nic(demands, p.node, nic, to_each * (n - local));
    add(first_leaf_ + leaf, to_each * (n - in_leaf[p.leaf]));
    add(first_pod_ + p.pod, to_each * (n - in_pod[p.pod]));
  }
}

std::vector<double> SharedLinks::totals(const std::vector<std::vector<Demand>>& of_rank) const {
  std::vector<double> total(sound_.size(), 0);
  for (const auto& demands : of_rank) {
    for (const Demand& d : demands) total[d.resource] += d.rate;
  }
  return total;
}

/// The NICs of a node with broken ones have the traffic of all.
LinksLeft SharedLinks::left_of(std::uint32_t resource) const {
  const double left = capacities_[resource] / sound_[resource];
  if (resource < first_nic_) return {};
  if (resource >= first_leaf_) return {1, left};
  const auto first = broken_.begin() + (resource - first_nic_) / nics_ * nics_;
  return {left * static_cast<double>(std::count(first, first + nics_, false)) / nics_, 1};
}

/// Demands on slower links become those with which a collective that is alone there is slowed by as much as slower links
/// cost it: raised where its bytes would fit, lowered where only a part of its time is theirs. Of uplinks that are as slow only the
/// fullest are raised: the others, of another level or leaf, carry its bytes and have room for those of others.
Result<void> SharedLinks::fit_to_slower(std::vector<std::vector<Demand>>& of_rank, const Slowdown& slowdown) const {
  std::map<LinksLeft, double> known;
  const std::vector<double> total = totals(of_rank);
  std::vector<double> factors(total.size(), 1);
  std::map<LinksLeft, double> fullest;  // of uplinks: asked of it, of what it has
  for (std::uint32_t l = first_leaf_; l < total.size(); ++l) {
    double& most = fullest[left_of(l)];
    most = std::max(most, total[l] / capacities_[l]);
  }
  constexpr double kAsFull = 1 - 1e-6;
  for (std::uint32_t l = first_nic_; l < total.size(); ++l) {
    const LinksLeft left = left_of(l);
    if (total[l] <= 0 || left == LinksLeft()) continue;
    const auto [it, is_new] = known.try_emplace(left, 1);
    if (is_new) {
      TRY_ASSIGN(it->second, slowdown(left));
    }
    const double asked = it->second * capacities_[l] / total[l];
    const bool limits = l < first_leaf_ || total[l] / capacities_[l] >= kAsFull * fullest[left];
    factors[l] = it->second > 1 && limits ? asked : std::min(1.0, asked);
  }
  for (auto& demands : of_rank) {
    for (Demand& d : demands) d.rate *= factors[d.resource];
  }
  return {};
}

/// Scales all down so that no resource in working order is asked for more than it has.
void SharedLinks::cap(std::vector<std::vector<Demand>>& of_rank) const {
  const std::vector<double> total = totals(of_rank);
  double most = 1;
  for (std::size_t l = 0; l < total.size(); ++l) {
    const bool takes_over =
        l >= first_nic_ && l < first_leaf_ &&
        std::any_of(broken_.begin() + static_cast<std::ptrdiff_t>((l - first_nic_) / nics_ * nics_),
                    broken_.begin() + static_cast<std::ptrdiff_t>(((l - first_nic_) / nics_ + 1) * nics_),
                    [](bool b) { return b; });
    if (!takes_over) most = std::max(most, total[l] / sound_[l]);
  }
  constexpr double kLeast = 1e-30;  // of what the evaluator takes
  for (auto& demands : of_rank) {
    for (Demand& d : demands) d.rate = std::max(kLeast, d.rate / most);
  }
}

Result<std::vector<std::vector<Demand>>> SharedLinks::demands(const graph::Collective& op,
                                                              const std::vector<std::vector<std::uint32_t>>& groups,
                                                              double seconds, std::uint32_t job,
                                                              const Slowdown& slowdown) const {
  std::vector<std::vector<Demand>> of_rank(ranks_);
  if (seconds <= 0) return of_rank;
  for (const auto& members : groups) of_group(op, members, seconds, job, of_rank);
  cap(of_rank);
  TRY(fit_to_slower(of_rank, slowdown));
  return of_rank;
}

void SharedLinks::add_bytes(const graph::Collective& op, const std::vector<std::vector<std::uint32_t>>& groups,
                            std::uint32_t job, std::vector<double>& out) const {
  constexpr double kOneSecond = 1;  // rates are then bytes
  std::vector<std::vector<Demand>> of_rank(ranks_);
  for (const auto& members : groups) of_group(op, members, kOneSecond, job, of_rank);
  for (const auto& demands : of_rank)
    for (const Demand& d : demands) out[d.resource] += d.rate;
}

}  // namespace distsim::pipeline
