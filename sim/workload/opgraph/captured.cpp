#include <algorithm>

#include "base/text/counted.hpp"
#include "sim/workload/graph/data_parallel.hpp"
#include "sim/workload/opgraph/graph_kernels.hpp"
#include "sim/workload/opgraph/graph_workload.hpp"

namespace distsim::workload {
namespace {

/// Layers of the data-parallel iteration are run forward in their order and backward against it. Of a graph whose backward
/// pass is known call by call, the first layer has the whole forward pass, and each layer from the last to the first the
/// part of the backward pass that ends where a gradient is complete.
std::vector<Layer> layers_of_graph(const opgraph::OpGraph& graph, std::int64_t samples, const LayerContext& context) {
  GraphKernels kernels(graph, samples, context.numerics);
  Layer whole;
  whole.name = graph.name.empty() ? "graph" : graph.name;
  std::vector<Layer> backward(1);
  std::size_t gradient = 0;
  const auto append = [](std::vector<LayerOp>& to, std::vector<LayerOp> from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const opgraph::Node& node = graph.nodes[i];
    append(node.phase == graph::Phase::forward ? whole.forward : backward.back().backward, kernels.of(node).ops);
    bool complete = false;
    for (; gradient < graph.gradients.size() && graph.gradients[gradient].after <= i; ++gradient) {
      const std::uint32_t t = graph.gradients[gradient].parameter;
      std::vector<Parameter>& parameters = backward.back().parameters;
      parameters.insert(parameters.begin(), {graph.tensors[t].name, opgraph::count(kernels.sizes().elements(t))});
      kernels.complete(t, backward.back().backward);
      complete = true;
    }
    if (complete) backward.emplace_back();
  }
  std::vector<Layer> layers(backward.rbegin(), backward.rend());
  for (std::size_t i = 0; i < layers.size(); ++i) layers[i].name = whole.name + " part " + std::to_string(i);
  layers.front().forward = std::move(whole.forward);
  layers.front().saved_bytes = live_bytes(graph, kernels.sizes());
  return layers;
}

double input_bytes(const opgraph::OpGraph& graph) {
  const opgraph::Sizes sizes(graph, graph.samples);
  double bytes = 0;
  for (std::uint32_t t = 0; t < graph.tensors.size(); ++t)
    bytes += graph.tensors[t].role == opgraph::TensorRole::input ? sizes.bytes(t) : 0;
  return bytes / static_cast<double>(graph.samples);
}

Result<void> check_batch(const opgraph::OpGraph& graph, const SamplePlan& samples) {
  if (graph.any_batch) return {};
  for (std::int64_t step = 0; step < samples.micro_steps; ++step) {
    for (const std::int64_t size : samples.micro_step(step).sizes()) {
      if (size != graph.samples)
        return Error{"model.per_gpu_batch: found " + std::to_string(size) + ", expected " +
                         std::to_string(graph.samples) + ": the graph has the sizes of that batch only",
                     "", "capture it without --one-batch"};
    }
  }
  return {};
}

/// What becomes of parameters that the backward pass has no gradient for.
void name_frozen(const opgraph::OpGraph& graph, Workload& out) {
  std::vector<bool> trained(graph.tensors.size(), false);
  for (const opgraph::Gradient& g : graph.gradients) trained[g.parameter] = true;
  std::uint64_t frozen = 0;
  for (std::size_t t = 0; t < graph.tensors.size(); ++t)
    frozen += graph.tensors[t].role == opgraph::TensorRole::parameter && !trained[t] ? 1 : 0;
  if (frozen > 0)
    out.assumptions.push_back({graph::AssumptionKind::workload,
                               "graph: " + counted(frozen, "parameter") +
                                   " without a gradient: neither reduced nor updated, and no memory counted"});
}

}  // namespace

Result<Workload> build_captured(const opgraph::OpGraph& graph, const ModelSpec& model, const FrameworkSpec& framework,
                                const ClusterShape& shape, const SamplePlan& samples) {
  TRY(check_batch(graph, samples));
  const LayerContext context = layer_context(model, framework);
  DataParallelModel parts;
  parts.input_bytes_per_sample = input_bytes(graph);
  parts.layers = [&](std::int64_t n) { return layers_of_graph(graph, n, context); };
  TRY_ASSIGN(Workload out, build_data_parallel(model, framework, shape, samples, parts));
  GraphKernels again(graph, samples.micro_step(0).largest(), context.numerics);
  for (const opgraph::Node& node : graph.nodes) again.of(node);
  out.assumptions.push_back({graph::AssumptionKind::workload, "graph: " + again.coverage().text()});
  name_frozen(graph, out);
  return out;
}

}  // namespace distsim::workload
