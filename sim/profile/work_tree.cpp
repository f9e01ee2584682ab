#include "sim/profile/work_tree.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

namespace distsim::profile {
namespace {

constexpr std::size_t kMostAnnotations = 6;

struct Link {
  WorkNode::Kind kind;
  std::string_view name;
};

/// A tree that grows by chains; children are found by name.
class Tree {
 public:
  Tree() { nodes_.push_back({}); }

  void add(const std::vector<Link>& chain, std::int64_t time) {
    std::uint32_t at = 0;
    count(at, time);
    for (const Link& link : chain) {
      at = child_of(at, link);
      count(at, time);
    }
  }

  /// Adds the nodes of another tree, in preorder.
  void add(const std::vector<WorkNode>& other) {
    std::vector<std::uint32_t> here(other.size(), 0);
    for (std::uint32_t i = 0; i < other.size(); ++i) {
      const WorkNode& n = other[i];
      if (n.parent != traces::kNone) here[i] = child_of(here[n.parent], {n.kind, n.name});
      nodes_[here[i]].launched += n.launched;
      nodes_[here[i]].device_time += n.device_time;
    }
  }

  std::vector<WorkNode> preorder() const {
    std::vector<std::vector<std::uint32_t>> below(nodes_.size());
    for (std::uint32_t i = 1; i < nodes_.size(); ++i) below[nodes_[i].parent].push_back(i);
    std::vector<WorkNode> out;
    walk(0, traces::kNone, below, out);
    return out;
  }

 private:
  std::uint32_t child_of(std::uint32_t at, const Link& link) {
    const auto [child, fresh] =
        children_.emplace(std::tuple(at, link.kind, link.name), static_cast<std::uint32_t>(nodes_.size()));
    if (fresh) nodes_.push_back({link.kind, std::string(link.name), at, nodes_[at].depth + 1, 0, 0});
    return child->second;
  }

  void count(std::uint32_t node, std::int64_t time) {
    nodes_[node].device_time += time;
    ++nodes_[node].launched;
  }

  void walk(std::uint32_t node, std::uint32_t parent, std::vector<std::vector<std::uint32_t>>& below,
            std::vector<WorkNode>& out) const {  // at most 10 deep
    const auto index = static_cast<std::uint32_t>(out.size());
    out.push_back(nodes_[node]);
    out.back().parent = parent;
    std::ranges::stable_sort(
        below[node], [&](std::uint32_t a, std::uint32_t b) { return nodes_[a].device_time > nodes_[b].device_time; });
    for (const std::uint32_t child : below[node]) walk(child, index, below, out);
  }

  std::vector<WorkNode> nodes_;
  std::map<std::tuple<std::uint32_t, WorkNode::Kind, std::string_view>, std::uint32_t> children_;
};

/// What encloses a launch, from the outside in: annotations that mark no step, the outermost op, and the op that
/// launched.
void chain_to(const traces::TraceJob& job, const traces::TraceRank& rank, std::uint32_t innermost,
              const std::set<std::string, std::less<>>& marks, std::vector<Link>& chain) {
  chain.clear();
  std::size_t annotations = 0, last_op = SIZE_MAX;
  bool launching = true;
  for (std::uint32_t i = innermost; i != traces::kNone; i = rank.host_records[i].parent) {
    const traces::HostRecord& h = rank.host_records[i];
    const std::string_view name = job.name(h.name);
    if (h.kind == traces::HostKind::op) {
      // Of the ops between the outermost and the launching one none is kept: a further one out takes the place of the
      // last.
      if (last_op != SIZE_MAX && !launching) chain.erase(chain.begin() + static_cast<std::ptrdiff_t>(last_op));
      launching = last_op == SIZE_MAX;
      last_op = chain.size();
      chain.push_back({WorkNode::Kind::op, name});
    } else if (h.kind == traces::HostKind::annotation && !marks.contains(name) && annotations < kMostAnnotations) {
      ++annotations;
      chain.push_back({WorkNode::Kind::annotation, name});
    }
  }
  std::ranges::reverse(chain);
}

}  // namespace

std::vector<WorkNode> work_tree(const traces::TraceJob& job, const traces::TraceRank& rank, std::int64_t begin,
                                std::int64_t end) {
  std::set<std::string, std::less<>> marks;
  for (const traces::TraceStep& s : rank.steps) marks.insert(s.name);
  Tree tree;
  std::vector<Link> chain;
  for (const traces::DeviceRecord& d : rank.device_records) {
    if (d.start_ns < begin || d.start_ns >= end) continue;
    chain_to(job, rank, d.op, marks, chain);
    if (d.launch == traces::kNone && d.op == traces::kNone)
      chain.push_back({WorkNode::Kind::annotation, "(launch not recorded)"});
    chain.push_back({WorkNode::Kind::kernel, job.name(d.name)});
    tree.add(chain, d.duration_ns);
  }
  return tree.preorder();
}

std::vector<WorkNode> merge_trees(const std::vector<WorkNode>& a, const std::vector<WorkNode>& b) {
  Tree tree;  // its keys are views into the names of `a` and `b`
  tree.add(a);
  tree.add(b);
  return tree.preorder();
}

std::vector<KernelSummary> kernel_table(const traces::TraceJob& job, const traces::TraceRank& rank, std::int64_t begin,
                                        std::int64_t end) {
  std::map<std::pair<NameId, traces::DeviceRecordKind>, KernelSummary> table;
  for (const traces::DeviceRecord& d : rank.device_records) {
    if (d.start_ns < begin || d.start_ns >= end) continue;
    KernelSummary& k = table[{d.name, d.kind}];
    if (k.calls == 0) {
      k.name = job.name(d.name);
      k.kind = d.kind;
      k.communication = d.communication;
      k.shortest = d.duration_ns;
    }
    ++k.calls;
    k.total += d.duration_ns;
    k.shortest = std::min(k.shortest, d.duration_ns);
    k.longest = std::max(k.longest, d.duration_ns);
    k.bytes += std::max<std::int64_t>(0, d.bytes);
    if (d.geometry != traces::kNone) k.occupancy.add(d.duration_ns, job.geometries[d.geometry]);
  }
  std::vector<KernelSummary> out;
  for (auto& [key, k] : table) out.push_back(std::move(k));
  std::ranges::stable_sort(out, [](const KernelSummary& a, const KernelSummary& b) {
    return a.total != b.total ? a.total > b.total : std::tie(a.name, a.kind) < std::tie(b.name, b.kind);
  });
  return out;
}

}  // namespace distsim::profile
