#include "opmodels/graph/graph_facts.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "sim/graph/op_key.hpp"

namespace distsim::opmodels {
namespace {

enum class NodeKind : std::uint8_t { product, attention, softmax, norm, pointwise, lookup, other };
constexpr std::size_t kNodeKinds = 7;

NodeKind kind_of_node(const graph::Op& op) {
  if (std::holds_alternative<graph::Gemm>(op)) return NodeKind::product;
  if (std::holds_alternative<graph::Attention>(op)) return NodeKind::attention;
  if (std::holds_alternative<graph::Softmax>(op)) return NodeKind::softmax;
  if (std::holds_alternative<graph::Normalization>(op)) return NodeKind::norm;
  if (std::holds_alternative<graph::Elementwise>(op)) return NodeKind::pointwise;
  return std::holds_alternative<graph::EmbeddingBag>(op) ? NodeKind::lookup : NodeKind::other;
}

/// 0 of something, which has no logarithm, counts as a thousandth of the unit.
double log10_of(double value, double unit) { return std::log10(std::max(value / unit, 1e-3)); }

double megabytes(const graph::Cost& cost, double hbm) { return cost.shares.memory * cost.mean.seconds() * hbm * 1e-6; }

GraphNode node_of(const graph::Op& op, const graph::Cost& cost, double hbm) {
  GraphNode node;
  node.facts[static_cast<std::size_t>(kind_of_node(op))] = 1;
  const double more[] = {log10_of(graph::flops_of(op), 1e9),
                         log10_of(megabytes(cost, hbm), 1),
                         log10_of(cost.mean.seconds(), 1e-4),
                         cost.shares.matrix,
                         cost.shares.vector,
                         cost.shares.memory};
  std::copy(std::begin(more), std::end(more), node.facts.begin() + kNodeKinds);
  static_assert(kNodeKinds + std::size(more) == kNodeFacts);
  return node;
}

/// Collects the kernels in the order of the compute stream.
class FactsMaker {
 public:
  FactsMaker(const graph::CostedGraph& graph, double hbm) : g_(graph), hbm_(hbm) {}

  GraphFacts make() {
    for (const graph::Task& task : g_.graph.tasks) {
      if (task.stream != graph::Stream::compute) continue;
      if (task.variants != 1) return {};
      add_task(task.first_op);
    }
    return std::move(*this).finish();
  }

 private:
  void add_task(OpId id) {
    const graph::Op& op = g_.graph.ops[id];
    if (const auto* sequence = std::get_if<graph::Sequence>(&op)) {
      for (const graph::SequencePart& part : g_.graph.sequences[static_cast<std::size_t>(sequence->index)])
        add(part.op, part.times);
    } else {
      add(id, 1);
    }
  }

  void add(OpId id, double times) {
    if (graph::work_of(g_.graph.ops[id]) != graph::Work::kernel) return;
    const std::uint32_t node = node_of_op(id);
    facts_.nodes[node].share += times * g_.costs[id].mean.seconds();
    if (last_) ++follows_[{*last_, node}];
    last_ = node;
  }

  std::uint32_t node_of_op(OpId id) {
    const auto by_id = nodes_by_id_.find(id.value());
    if (by_id != nodes_by_id_.end()) return by_id->second;
    const auto fresh = static_cast<std::uint32_t>(facts_.nodes.size());
    std::uint32_t node = fresh;
    if (const auto key = graph::key_of(g_.graph.ops[id])) node = nodes_by_key_.try_emplace(*key, fresh).first->second;
    nodes_by_id_.emplace(id.value(), node);
    if (node == fresh) {
      facts_.nodes.push_back(opmodels::node_of(g_.graph.ops[id], g_.costs[id], hbm_));
      log_bytes_.push_back(log10_of(megabytes(g_.costs[id], hbm_), 1));
    }
    return node;
  }

  GraphFacts finish() && {
    double seconds = 0;
    for (const GraphNode& node : facts_.nodes) seconds += node.share;
    if (seconds <= 0) return {};
    for (GraphNode& node : facts_.nodes) node.share /= seconds;
    std::vector<double> before(facts_.nodes.size(), 0);
    for (const auto& [pair, times] : follows_) before[pair.second] += times;
    for (const auto& [pair, times] : follows_)
      facts_.edges.push_back({pair.first, pair.second, times / before[pair.second], log_bytes_[pair.first]});
    return std::move(facts_);
  }

  const graph::CostedGraph& g_;
  double hbm_;
  GraphFacts facts_;
  std::vector<double> log_bytes_;  // of nodes
  std::unordered_map<std::uint32_t, std::uint32_t> nodes_by_id_;
  std::unordered_map<graph::OpKey, std::uint32_t, graph::OpKeyHash> nodes_by_key_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> follows_;
  std::optional<std::uint32_t> last_;
};

}  // namespace

GraphFacts graph_facts(const graph::CostedGraph& graph, const topology::DeviceSpec& device) {
  const topology::DeviceSpec& d = device.described.empty() ? device : device.described.front();
  const double hbm = d.hbm.bandwidth.value();
  GraphFacts facts = FactsMaker(graph, hbm).make();
  const auto fp32 = d.peak.find("fp32");
  const double flops = fp32 == d.peak.end() ? hbm : fp32->second.value();
  facts.device = {std::log2(flops / hbm), std::log2(hbm * 1e-12),
                  std::log2(static_cast<double>(d.l2.capacity.value()) / (1 << 20)),
                  std::log2(d.l2.bandwidth.value() / hbm), std::log2(static_cast<double>(d.sm_count) / 100)};
  return facts;
}

}  // namespace distsim::opmodels
