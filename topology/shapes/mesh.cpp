#include "topology/shapes/mesh.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "topology/shapes/pcie_tree.hpp"

namespace distsim::topology {
namespace {

using Cycle = std::vector<std::uint32_t>;

/// All Hamiltonian cycles through vertex 0, each once: the second vertex is smaller than the last.
class CycleList {
 public:
  explicit CycleList(const LinkMatrix& links) : links_(links), used_(links.size(), false) {
    path_ = {0};
    used_[0] = true;
    extend();
  }
  std::vector<Cycle> take() { return std::move(cycles_); }

 private:
  void extend() {
    if (path_.size() == links_.size()) {
      if (links_.at(path_.back(), 0) > 0 && path_[1] < path_.back()) cycles_.push_back(path_);
      return;
    }
    for (std::uint32_t v = 1; v < links_.size(); ++v) {
      if (used_[v] || links_.at(path_.back(), v) == 0) continue;
      used_[v] = true;
      path_.push_back(v);
      extend();
      path_.pop_back();
      used_[v] = false;
    }
  }

  const LinkMatrix& links_;
  std::vector<bool> used_;
  Cycle path_;
  std::vector<Cycle> cycles_;
};

/// Adds `change` to the links along a cycle; false (and no change) where one would fall below zero.
bool apply(LinkMatrix& links, const Cycle& cycle, int change) {
  const std::size_t n = cycle.size();
  for (std::size_t i = 0; change < 0 && i < n; ++i) {
    if (links.at(cycle[i], cycle[(i + 1) % n]) == 0) return false;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t a = cycle[i], b = cycle[(i + 1) % n];
    links.set(a, b, static_cast<std::uint32_t>(static_cast<int>(links.at(a, b)) + change));
  }
  return true;
}

/// Most cycles that fit, taken in ascending order of the list (with repetition), at most `bound`.
std::uint32_t pack(LinkMatrix& links, const std::vector<Cycle>& cycles, std::size_t first, std::uint32_t bound) {
  std::uint32_t best = 0;
  for (std::size_t c = first; c < cycles.size() && best < bound; ++c) {
    if (!apply(links, cycles[c], -1)) continue;
    best = std::max(best, 1 + pack(links, cycles, c, bound - 1));
    apply(links, cycles[c], +1);
  }
  return best;
}

}  // namespace

void LinkMatrix::set(std::uint32_t i, std::uint32_t j, std::uint32_t count) {
  links_[static_cast<std::size_t>(i) * n_ + j] = count;
  links_[static_cast<std::size_t>(j) * n_ + i] = count;
}

std::uint32_t LinkMatrix::degree(std::uint32_t i) const {
  std::uint32_t d = 0;
  for (std::uint32_t j = 0; j < n_; ++j) d += at(i, j);
  return d;
}

std::uint32_t ring_count(const LinkMatrix& links) {
  CHECK(links.size() >= 2 && links.size() <= 8) << links.size();
  if (links.size() == 2) return links.at(0, 1);
  std::uint32_t bound = links.degree(0) / 2;
  for (std::uint32_t i = 1; i < links.size(); ++i) bound = std::min(bound, links.degree(i) / 2);
  LinkMatrix rest = links;
  return 2 * pack(rest, CycleList(links).take(), 0, bound);
}

std::uint32_t tree_walk_width(const LinkMatrix& links) {
  // Prim's algorithm for the spanning tree whose thinnest edge is thickest.
  std::vector<std::uint32_t> reach(links.size(), 0);
  std::vector<bool> in(links.size(), false);
  std::uint32_t width = ~0u;
  for (std::uint32_t step = 0, u = 0; step < links.size(); ++step) {
    in[u] = true;
    for (std::uint32_t v = 0; v < links.size(); ++v) reach[v] = std::max(reach[v], links.at(u, v));
    std::uint32_t next = links.size();
    for (std::uint32_t v = 0; v < links.size(); ++v) {
      if (!in[v] && (next == links.size() || reach[v] > reach[next])) next = v;
    }
    if (next == links.size()) break;
    width = std::min(width, reach[next]);
    u = next;
  }
  return width;
}

LinkMatrix nvlinks_among(const NodeGraph& graph, std::span<const std::uint32_t> locals) {
  LinkMatrix links(static_cast<std::uint32_t>(locals.size()));
  for (std::uint32_t i = 0; i < locals.size(); ++i) {
    for (std::uint32_t j = i + 1; j < locals.size(); ++j) {
      links.set(i, j,
                graph.link_count(graph.find(DeviceKind::gpu, locals[i]), graph.find(DeviceKind::gpu, locals[j]),
                                 LinkKind::nvlink));
    }
  }
  return links;
}

IntraFacts mesh_facts(const NodeShape& shape, const ClusterSpec& spec, const NodeGraph& graph,
                      std::span<const std::uint32_t> locals) {
  const LinkMatrix links = nvlinks_among(graph, locals);
  const std::uint32_t tree = tree_walk_width(links);
  if (tree == 0) return pcie_facts(spec, locals);
  std::uint32_t least = links.degree(0);
  bool direct = true;  // every pair has a link of its own
  for (std::uint32_t i = 0; i < links.size(); ++i) {
    least = std::min(least, links.degree(i));
    for (std::uint32_t j = 0; j < links.size(); ++j) direct = direct && (i == j || links.at(i, j) > 0);
  }
  const BytesPerSecond each = spec.gpu_links.bandwidth_per_link;
  const std::uint32_t rings = std::max(ring_count(links), tree);
  return {&shape, each * least, each * rings, spec.gpu_links.latency * (direct ? 1 : 2)};
}

BytesPerSecond mesh_bisection(const ClusterSpec& spec, const NodeGraph& graph) {
  const auto gpus = static_cast<std::uint32_t>(spec.gpus_per_node);
  double sum = 0;
  for (const NodeLink& l : graph.links()) {
    if (l.kind != LinkKind::nvlink) continue;
    const bool a_first = graph.devices()[l.a].index < gpus / 2, b_first = graph.devices()[l.b].index < gpus / 2;
    if (a_first != b_first) sum += l.bandwidth.value();
  }
  return BytesPerSecond(sum);
}

}  // namespace distsim::topology
