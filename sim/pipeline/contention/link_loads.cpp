#include "sim/pipeline/contention/link_loads.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "sim/pipeline/folds.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "topology/shapes/shape.hpp"

namespace distsim::pipeline {
namespace {

using LinkBytes = std::vector<double>;  // by resource
using GroupList = std::vector<std::vector<std::uint32_t>>;

GroupList groups_of_partition(const graph::Partition& partition, std::uint32_t ranks) {
  const graph::Partition p = graph::listed_by_rank(partition);
  GroupList out;
  for (std::size_t g = 0; g + 1 < p.listed_offsets.size(); ++g) {
    out.emplace_back(p.listed_members.begin() + p.listed_offsets[g],
                     p.listed_members.begin() + p.listed_offsets[g + 1]);
    std::ranges::sort(out.back());
  }
  if (!p.listed_offsets.empty()) return out;
  for (std::uint32_t base = 0; base < ranks; base += p.size * p.stride) {
    for (std::uint32_t first = base; first < base + p.stride; ++first) {
      out.emplace_back();
      for (std::uint32_t i = 0; i < p.size; ++i) out.back().push_back(first + i * p.stride);
    }
  }
  return out;
}

/// Adds up what tasks move; equal collectives are looked at once.
class LinkSum {
 public:
  LinkSum(const SharedLinks& links, const graph::TaskGraph& graph) : links_(links), graph_(graph) {}

  using Weights = std::map<std::string, double, std::less<>>;

  /// Of the whole graph, or of the tasks with these names, each times the weight.
  LinkBytes all(const Weights* weights = nullptr) {
    LinkBytes out(links_.capacities().size(), 0);
    for (TaskId t(0); t < graph_.tasks.end_id(); t = TaskId(t.value() + 1)) {
      const graph::Task& task = graph_.tasks[t];
      const auto* op = std::get_if<graph::Collective>(&graph_.ops[task.first_op]);
      if (op == nullptr || !task.partition.valid()) continue;
      const auto weight = weights == nullptr ? Weights::const_iterator() : weights->find(graph_.names[task.name]);
      if (weights == nullptr)
        add(t, *op, 1, out);
      else if (weight != weights->end())
        add(t, *op, weight->second, out);
    }
    return out;
  }

  LinkBytes of_task(TaskId t, const graph::Collective& op) {
    LinkBytes out(links_.capacities().size(), 0);
    add(t, op, 1, out);
    return out;
  }

 private:
  using Key = std::tuple<std::uint32_t, std::uint32_t, graph::CollectiveKind, std::int64_t, std::uint32_t>;

  void add(TaskId t, const graph::Collective& op, double weight, LinkBytes& out) {
    const graph::Task& task = graph_.tasks[t];
    const bool even = op.send_bytes.empty();
    const Key key{task.partition.value(), task.rank_table, op.kind, op.bytes, even ? 0 : t.value() + 1};
    auto [it, is_new] = known_.try_emplace(key);
    if (is_new) it->second = moved(t, op);
    for (const auto& [resource, bytes] : it->second) out[resource] += bytes * static_cast<double>(op.times) * weight;
  }

  std::vector<std::pair<std::uint32_t, double>> moved(TaskId t, const graph::Collective& op) const {
    GroupList groups = groups_of_partition(graph_.partitions[graph_.tasks[t].partition], graph_.ranks);
    std::erase_if(groups, [&](const auto& members) { return graph_.variant_of(t, members.front()) != 0; });
    LinkBytes all(links_.capacities().size(), 0);
    for (std::uint32_t job = 0; job < links_.jobs(); ++job) links_.add_bytes(op, groups, job, all);
    std::vector<std::pair<std::uint32_t, double>> out;
    for (std::uint32_t r = 0; r < all.size(); ++r)
      if (all[r] > 0) out.emplace_back(r, all[r]);
    return out;
  }

  const SharedLinks& links_;
  const graph::TaskGraph& graph_;
  std::map<Key, std::vector<std::pair<std::uint32_t, double>>> known_;
};

double longest_of(const std::vector<LinkLoad>& loads) {
  double out = 0;
  for (const LinkLoad& l : loads) out = std::max(out, l.busy_s);
  return out;
}
double longest_in(const NodeClass& c) { return std::max(longest_of(c.gpus), longest_of(c.nics)); }
double longest_in(const SwitchClass& c) { return c.uplinks.busy_s; }

bool is_alike(const LinkLoad& a, const LinkLoad& b) {
  constexpr double kSame = 1e-6;
  return std::abs(a.bytes - b.bytes) <= kSame * std::max(a.bytes, b.bytes) &&
         std::abs(a.busy_s - b.busy_s) <= kSame * std::max(a.busy_s, b.busy_s);
}
bool are_alike(const NodeClass& a, const NodeClass& b) {
  return std::ranges::equal(a.gpus, b.gpus, is_alike) && std::ranges::equal(a.nics, b.nics, is_alike);
}
bool are_alike(const SwitchClass& a, const SwitchClass& b) { return is_alike(a.uplinks, b.uplinks); }

/// Towards the mean of `count` and one more.
void mean_in(LinkLoad& mean, const LinkLoad& other, double weight) {
  mean.bytes += (other.bytes - mean.bytes) * weight;
  mean.busy_s += (other.busy_s - mean.busy_s) * weight;
}
void mean_in(NodeClass& mean, const NodeClass& other, double weight) {
  for (std::size_t i = 0; i < mean.gpus.size(); ++i) mean_in(mean.gpus[i], other.gpus[i], weight);
  for (std::size_t i = 0; i < mean.nics.size(); ++i) mean_in(mean.nics[i], other.nics[i], weight);
}
void mean_in(SwitchClass& mean, const SwitchClass& other, double weight) {
  mean_in(mean.uplinks, other.uplinks, weight);
}

/// Classes of the ones in `each`, the busiest first, at most `most`.
template <class Class>
std::vector<Class> classes_of(const std::vector<Class>& each, std::size_t most) {
  std::vector<Class> out;
  std::multimap<double, std::size_t> by_load;  // to compare with those alone that are about as busy
  for (const Class& one : each) {
    const double load = longest_in(one);
    const auto end = by_load.upper_bound(load * (1 + 1e-6));
    auto at = std::find_if(by_load.lower_bound(load * (1 - 1e-6)), end,
                           [&](const auto& entry) { return are_alike(out[entry.second], one); });
    if (at != end) {
      ++out[at->second].count;
      continue;
    }
    by_load.emplace(load, out.size());
    out.push_back(one);
  }
  std::ranges::stable_sort(out, [](const Class& a, const Class& b) { return longest_in(a) > longest_in(b); });
  if (out.size() <= most) return out;
  Class& rest = out[most - 1];
  rest.merged = true;
  for (std::size_t i = most; i < out.size(); ++i) {
    rest.count += out[i].count;
    rest.first = std::min(rest.first, out[i].first);
    mean_in(rest, out[i], static_cast<double>(out[i].count) / rest.count);
  }
  out.resize(most);
  return out;
}

class LoadTables {
 public:
  LoadTables(const topology::Topology& topology, const SharedLinks& links, const LinkBytes& bytes)
      : spec_(topology.spec()), domains_(topology.domains()), links_(links), gpus_(topology.gpus_per_node()) {
    for (std::uint32_t r = 0; r < bytes.size(); ++r) {
      const double capacity = links.capacities()[r];
      loads_.push_back({bytes[r], capacity > 0 ? bytes[r] / capacity : 0});
    }
  }

  LinkLoads tables(std::size_t most) const {
    LinkLoads out;
    out.nodes = links_.nodes();
    out.gpus_per_node = gpus_;
    out.nics_per_node = links_.nics_per_node();
    out.domain_nodes = domains_.largest();
    out.gpu_links = spec_.gpu_links.has_nvlink() ? std::string(spec_.gpu_links.shape->name) : "pcie";
    out.fabric = spec_.fabric.shape->name;
    out.rails = links_.fabric().rails();
    std::vector<NodeClass> nodes(out.nodes);
    for (std::uint32_t n = 0; n < out.nodes; ++n) {
      nodes[n].first = n;
      nodes[n].gpus.resize(gpus_);
      nodes[n].nics.resize(out.nics_per_node);
    }
    std::vector<SwitchClass> leaves, pods;
    for (std::uint32_t r = 0; r < loads_.size(); ++r) {
      const LinkPlace p = links_.place_of(r);
      if (p.level == LinkLevel::gpu) nodes[p.node].gpus[p.index] = loads_[r];
      if (p.level == LinkLevel::nic) nodes[p.node].nics[p.index] = loads_[r];
      if (p.level == LinkLevel::leaf) leaves.push_back({p.index, 1, false, loads_[r]});
      if (p.level == LinkLevel::pod) pods.push_back({p.index, 1, false, loads_[r]});
    }
    out.leaves = static_cast<std::uint32_t>(leaves.size());
    out.pods = static_cast<std::uint32_t>(pods.size());
    out.node_classes = classes_of(nodes, most);
    out.leaf_classes = classes_of(leaves, most);
    out.pod_classes = classes_of(pods, most);
    out.levels = levels();
    return out;
  }

 private:
  std::vector<LevelLoad> levels() const {
    std::vector<LevelLoad> out{
        {LinkLevel::gpu, spec_.gpu_links.has_nvlink() ? "NVLink of a GPU" : "PCIe of a GPU", 0, 0, 0, {}, ""},
        {LinkLevel::nic, "NIC", 0, 0, 0, {}, ""},
        {LinkLevel::leaf, "uplinks of a leaf", 0, 0, 0, {}, ""},
        {LinkLevel::pod, "uplinks of a pod", 0, 0, 0, {}, ""}};
    for (std::uint32_t r = 0; r < loads_.size(); ++r) {
      LevelLoad& level = out[static_cast<std::size_t>(links_.place_of(r).level)];
      ++level.count;
      level.bandwidth = std::max(level.bandwidth, links_.capacities()[r]);
      level.bytes += loads_[r].bytes;
      if (level.count > 1 && loads_[r].busy_s <= level.busiest.busy_s) continue;
      level.busiest = loads_[r];
      level.busiest_name = links_.name_of(r);
    }
    if (links_.fabric().direct()) {
      out[2].name = "links of a router";
      out[3].name = "global links of a group";
    }
    std::erase_if(out, [](const LevelLoad& l) { return l.count == 0; });
    const bool has_pods = links_.fabric().pods() > 1;
    if (!has_pods) std::erase_if(out, [](const LevelLoad& l) { return l.level == LinkLevel::pod; });
    return out;
  }

  const topology::ClusterSpec& spec_;
  const topology::NvlinkDomains& domains_;
  const SharedLinks& links_;
  const std::uint32_t gpus_;
  std::vector<LinkLoad> loads_;
};

/// The collectives of one name on the critical cycle.
struct OnCycle {
  double time_s = 0, steps = 0;
};
std::map<std::string, OnCycle, std::less<>> on_cycle(const report::Report& report) {
  std::map<std::string, OnCycle, std::less<>> out;
  for (const report::CriticalStep& step : report.critical_path) {
    const auto kind = step.stream.kind();
    if (!step.phase || (kind != graph::StreamKind::comm && kind != graph::StreamKind::p2p)) continue;
    OnCycle& named = out[step.name];
    named.time_s += step.time.seconds();
    named.steps += step.steps;
  }
  return out;
}

std::optional<LimitingLink> limiting_link(const SharedLinks& links, const graph::TaskGraph& graph, LinkSum& sum,
                                          const report::Report& report) {
  const auto cycle = on_cycle(report);
  if (cycle.empty()) return std::nullopt;
  LinkSum::Weights weights;  // tasks of one name of which only some are on the cycle count in part
  for (const graph::Task& task : graph.tasks)
    if (const auto it = cycle.find(graph.names[task.name]); it != cycle.end()) ++weights[it->first];
  for (auto& [name, weight] : weights) weight = std::min(1.0, cycle.find(name)->second.steps / weight);
  const LinkBytes bytes = sum.all(&weights);
  std::uint32_t most = 0;
  double longest = 0;
  for (std::uint32_t r = 0; r < bytes.size(); ++r) {
    const double busy = links.capacities()[r] > 0 ? bytes[r] / links.capacities()[r] : 0;
    if (busy > longest * (1 + 1e-9)) most = r, longest = busy;
  }
  if (longest <= 0) return std::nullopt;
  LimitingLink out{links.place_of(most).level, links.place_of(most), links.name_of(most), {}, longest, 0};
  std::set<std::string> named;
  for (TaskId t(0); t < graph.tasks.end_id(); t = TaskId(t.value() + 1)) {
    const graph::Task& task = graph.tasks[t];
    const std::string& name = graph.names[task.name];
    const auto* op = std::get_if<graph::Collective>(&graph.ops[task.first_op]);
    if (op == nullptr || !task.partition.valid() || !weights.contains(name) || named.contains(name)) continue;
    if (sum.of_task(t, *op)[most] <= 0) continue;
    named.insert(name);
    out.collectives.push_back(name);
    out.cycle_s += cycle.at(name).time_s;
  }
  return out;
}

}  // namespace

Result<LinkLoads> link_loads(const config::Experiment& experiment, const report::Report& report, std::size_t most) {
  TRY_ASSIGN(const std::optional<Folds> folds, folds_of(experiment, kPlayedMicroSteps));
  TRY_ASSIGN(const FixedWork work, fixed_work_of(experiment));
  TRY_ASSIGN(const topology::Topology topology,
             topology::Topology::build(experiment.cluster, experiment.device.compute_capability));
  TRY_ASSIGN(const SharedLinks links, SharedLinks::create(topology, experiment.engine));
  LinkSum sum(links, work.longer.graph);
  LinkBytes bytes = sum.all();
  if (folds && work.shorter) {
    const LinkBytes before = LinkSum(links, work.shorter->graph).all();
    for (std::size_t r = 0; r < bytes.size(); ++r)
      bytes[r] += static_cast<double>(folds->more) * std::max(0.0, bytes[r] - before[r]);
  }
  LinkLoads out = LoadTables(topology, links, bytes).tables(std::max<std::size_t>(2, most));
  out.limiting = limiting_link(links, work.longer.graph, sum, report);
  return out;
}

}  // namespace distsim::pipeline
