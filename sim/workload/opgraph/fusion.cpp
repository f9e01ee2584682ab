#include "sim/workload/opgraph/fusion.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace distsim::workload {
namespace {

constexpr std::size_t kLongestRun = 64;

/// What the table makes a single pass over its arguments, without neighbours: pools and padding read others' elements.
bool is_pointwise(const opgraph::Node& node) {
  if (node.communication || node.outputs.empty()) return false;
  return opgraph::is_pointwise(node.op);
}

}  // namespace

PointwiseFusion::PointwiseFusion(const opgraph::OpGraph& graph, const std::vector<std::uint32_t>& module)
    : graph_(graph), run_of_(graph.nodes.size(), kAlone) {
  const opgraph::Sizes sizes(graph, std::max<std::int64_t>(1, graph.samples));
  std::unordered_map<std::uint64_t, std::uint32_t> last;
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    for (const opgraph::Argument& a : graph.nodes[i].inputs) {
      for (const std::uint32_t t : a.tensors) last[graph.tensors[t].storage] = i;
    }
  }
  for (const opgraph::Tensor& t : graph.tensors) {
    const auto at = last.find(t.storage);
    last_reader_.push_back(at == last.end() ? 0 : at->second);
  }
  std::unordered_set<std::uint32_t> complete;  // a gradient has to be there when its bucket is sent
  for (const opgraph::Gradient& g : graph.gradients) complete.insert(g.after);
  std::unordered_set<std::uint64_t> touched;
  double elements = 0;
  std::optional<std::uint32_t> begin;
  const auto end_run = [&](std::uint32_t next) {
    if (begin && next - *begin > 1) {
      for (std::uint32_t i = *begin; i < next; ++i) run_of_[i] = static_cast<std::uint32_t>(ends_.size());
      begins_.push_back(*begin), ends_.push_back(next - 1);
    }
    begin.reset();
    touched.clear();
  };
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const opgraph::Node& node = graph.nodes[i];
    if (!is_pointwise(node)) {
      end_run(i);
      continue;
    }
    const opgraph::Call call(sizes, node);
    const double own = sizes.elements(call.largest());
    const bool joins =
        std::ranges::any_of(call.inputs(), [&](std::uint32_t t) { return touched.contains(graph.tensors[t].storage); });
    const bool elsewhere = begin && (graph.nodes[*begin].phase != node.phase || module[*begin] != module[i]);
    if (begin && (own != elements || !joins || elsewhere || i - *begin >= kLongestRun)) end_run(i);
    if (!begin) begin = i, elements = own;
    for (const std::uint32_t t : call.inputs()) touched.insert(graph.tensors[t].storage);
    for (const std::uint32_t t : node.outputs) touched.insert(graph.tensors[t].storage);
    if (complete.contains(i)) end_run(i + 1);
  }
  end_run(static_cast<std::uint32_t>(graph.nodes.size()));
}

std::vector<std::uint32_t> PointwiseFusion::ending_at(std::uint32_t node) const {
  std::vector<std::uint32_t> out;
  if (run_of_[node] == kAlone || ends_[run_of_[node]] != node) return out;
  for (std::uint32_t i = begins_[run_of_[node]]; i <= node; ++i) out.push_back(i);
  return out;
}

std::vector<LayerOp> PointwiseFusion::fused(std::uint32_t node, std::vector<LayerOp> kernels,
                                            const opgraph::Sizes& sizes) const {
  const std::uint32_t first = begins_[run_of_[node]];
  std::unordered_map<std::uint64_t, double> read, made;
  std::unordered_map<std::uint64_t, bool> leaves;
  for (std::uint32_t i = first; i <= node; ++i) {
    const opgraph::Node& n = graph_.nodes[i];
    for (const opgraph::Argument& a : n.inputs) {
      for (const std::uint32_t t : a.tensors) {
        const std::uint64_t storage = graph_.tensors[t].storage;
        if (!made.contains(storage)) read[storage] = std::max(read[storage], sizes.bytes(t));
      }
    }
    for (const std::uint32_t t : n.outputs) {
      const std::uint64_t storage = graph_.tensors[t].storage;
      made[storage] = std::max(made[storage], sizes.bytes(t));
      // In memory that was there before, or read after the run; what nothing reads is a result of the model.
      leaves[storage] = leaves[storage] || last_reader_[t] > node || last_reader_[t] < i || read.contains(storage);
    }
  }
  std::vector<LayerOp> out;
  double flops = 0;
  graph::Elementwise op;
  std::string name;
  bool called = false;  // sums of gradients are calls of no node of their own
  for (LayerOp& k : kernels) {
    const auto* e = std::get_if<graph::Elementwise>(&k.op);
    if (e == nullptr || k.name.ends_with(".cast")) {
      out.push_back(std::move(k));
      continue;
    }
    called |= k.dispatch.framework_ops > 0;
    flops += e->flops * graph::real(e->elements);
    if (e->elements > op.elements) op.elements = e->elements, op.dtype = e->dtype;
    if (name.empty()) name = k.name + ".fused";
  }
  if (op.elements <= 0) return out;
  const double stored = graph::real(op.elements) * graph::real(graph::size_of(op.dtype));
  double reads = 0, writes = 0;
  for (const auto& [storage, bytes] : read) reads += bytes;
  for (const auto& [storage, bytes] : made) writes += leaves[storage] ? bytes : 0;
  op.reads = std::min(1000.0, reads / stored), op.writes = std::min(1000.0, writes / stored);
  op.flops = flops / graph::real(op.elements);
  out.push_back({std::move(name), op, {called ? 1u : 0u, 1}});  // one launch by the compiled code
  return out;
}

}  // namespace distsim::workload
