#include "sim/workload/opgraph/graph_parts.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <utility>

namespace distsim::workload {
namespace {

/// Of each node a number that those of one part and one checkpointed module share: what a compiler may join.
std::vector<std::uint32_t> regions_of(const std::vector<GraphPart>& parts, const std::vector<std::uint32_t>& modules) {
  std::vector<std::uint32_t> out(modules.size(), 0);
  std::uint32_t region = 0;
  for (const GraphPart& part : parts) {
    for (std::uint32_t i = part.begin; i < part.end; ++i) {
      if (i == part.begin || modules[i] != modules[i - 1]) ++region;
      out[i] = region;
    }
  }
  return out;
}

bool writes_into(const opgraph::OpGraph& graph, const opgraph::Node& node, std::uint64_t storage) {
  return std::ranges::any_of(node.outputs, [&](std::uint32_t t) { return graph.tensors[t].storage == storage; });
}

/// What a tensor is made of: of weights alone as long as no data is read, of data as long as no weight is.
struct Origins {
  std::unordered_set<std::uint64_t> trained, weights, data, mixed;  ///< storages
};

/// Forward nodes that read data which follows from no weight, and a trained weight or what is computed from weights alone: a
/// model's first layers, whose input has no gradient. Those of cuDNN's recurrent layers have one of their states.
std::vector<bool> first_trained(const opgraph::OpGraph& graph) {
  Origins of;
  for (const opgraph::Gradient& g : graph.gradients) of.trained.insert(graph.tensors[g.parameter].storage);
  for (const opgraph::Tensor& t : graph.tensors) {
    if (t.role == opgraph::TensorRole::parameter) of.weights.insert(t.storage);
  }
  for (const opgraph::Tensor& t : graph.tensors) {
    const bool given = t.role == opgraph::TensorRole::input || t.role == opgraph::TensorRole::buffer;
    if (given && !of.weights.contains(t.storage)) of.data.insert(t.storage);  // a view of a weight is none
  }
  std::vector<bool> out(graph.nodes.size(), false);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const opgraph::Node& node = graph.nodes[i];
    if (node.phase != graph::Phase::forward) continue;
    bool reads_trained = false, reads_weight = false, reads_data = false, reads_mixed = false;
    for (const opgraph::Argument& a : node.inputs) {
      for (const std::uint32_t t : a.tensors) {
        const std::uint64_t storage = graph.tensors[t].storage;
        const bool weight = of.weights.contains(storage), data = of.data.contains(storage);
        // A buffer that is allocated and written into has nothing in it before.
        const bool is_result = writes_into(graph, node, storage);
        reads_trained |= of.trained.contains(storage);
        reads_weight |= weight;
        reads_data |= data;
        // What nothing has made was there without this graph: vectors of tables that others hold.
        reads_mixed |= of.mixed.contains(storage) || (!weight && !data && !is_result);
      }
    }
    out[i] = reads_trained && reads_data && !reads_mixed && node.op.find("_rnn") == node.op.npos;
    for (const std::uint32_t t : node.outputs) {
      const std::uint64_t storage = graph.tensors[t].storage;
      if (of.weights.contains(storage)) continue;
      if (reads_mixed || (reads_weight && reads_data) || (reads_weight && of.data.contains(storage))) {
        of.mixed.insert(storage);
      } else if (reads_weight) {
        of.weights.insert(storage);
        if (reads_trained) of.trained.insert(storage);
      } else {
        of.data.insert(storage);
      }
    }
  }
  return out;
}

}  // namespace

GraphParts::GraphParts(const GraphSpec& spec, const opgraph::OpGraph& graph, const Checkpoints& checkpoints,
                       const std::vector<bool>& ends)
    : spec_(spec), graph_(graph), checkpoints_(checkpoints), first_(first_trained(graph)) {
  const auto n = static_cast<std::uint32_t>(graph.nodes.size());
  const auto is_forward = [&](std::uint32_t i) { return graph.nodes[i].phase == graph::Phase::forward; };
  GraphPart open;
  std::size_t gradient = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    if (i == open.begin) open.forward = is_forward(i);
    for (; gradient < graph.gradients.size() && graph.gradients[gradient].after <= i; ++gradient)
      open.complete.push_back(graph.gradients[gradient].parameter);
    const bool last = i + 1 == n || is_forward(i + 1) != open.forward;
    if (!last && open.complete.empty() && !(i < ends.size() && ends[i])) continue;
    open.end = i + 1;
    parts_.push_back(std::move(open));
    open = {};
    open.begin = i + 1;
  }
  if (spec.fuse) fusion_.emplace(graph, regions_of(parts_, checkpoints.module_of_nodes()));
  std::stable_partition(parts_.begin(), parts_.end(), [](const GraphPart& part) { return part.forward; });
}

std::vector<Layer> GraphParts::layers(std::int64_t samples, const LayerContext& context,
                                      GraphCoverage& coverage) const {
  GraphKernels kernels(graph_, samples, context.numerics, context.framework->host.eager, spec_.amp);
  const auto append = [](std::vector<LayerOp>& to, std::vector<LayerOp> from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  std::vector<LayerOp> held;  // of a run of fused nodes that goes on
  double forward_flops = 0, backward_flops = 0, unasked_flops = 0;
  FlopsOfTypes types;
  const auto add = [&](std::uint32_t i, std::vector<LayerOp>& to, bool again = false) {
    std::vector<LayerOp> ops = kernels.of(graph_.nodes[i]).ops;
    const double flops = again ? 0 : matrix_flops(ops);
    (graph_.nodes[i].phase == graph::Phase::forward ? forward_flops : backward_flops) += flops;
    if (first_[i]) unasked_flops += flops;
    for (const LayerOp& op : ops) types.add(op);
    if (!fusion_ || (!fusion_->goes_on(i) && fusion_->ending_at(i).empty())) return append(to, std::move(ops));
    append(held, std::move(ops));
    if (fusion_->goes_on(i)) return;
    append(to, fusion_->fused(i, std::exchange(held, {}), kernels.sizes()));
  };
  std::vector<Layer> out(parts_.size());
  const std::string name = graph_.name.empty() ? "graph" : graph_.name;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const GraphPart& part = parts_[p];
    Layer& layer = out[p];
    layer.name = name + " part " + std::to_string(p);
    std::vector<LayerOp>& ops = part.forward ? layer.forward : layer.backward;
    for (std::uint32_t i = part.begin; i < part.end; ++i) {
      if (const auto* again = checkpoints_.before(i); again != nullptr) {
        for (const std::uint32_t f : *again) add(f, ops, true);
      }
      add(i, ops);
    }
    for (const std::uint32_t t : part.complete) {
      layer.parameters.push_back({graph_.tensors[t].name, opgraph::count(kernels.sizes().elements(t))});
      kernels.complete(t, ops);
    }
  }
  if (!out.empty()) out.front().saved_bytes = checkpoints_.live_bytes(kernels.sizes());
  coverage = kernels.coverage();
  coverage.forward_flops = forward_flops, coverage.backward_flops = backward_flops;
  coverage.unasked_flops = unasked_flops;
  coverage.types = std::move(types);
  return out;
}

}  // namespace distsim::workload
