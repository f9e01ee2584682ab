#include <algorithm>
#include <optional>
#include <utility>

#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "sim/workload/graph/data_parallel.hpp"
#include "sim/workload/opgraph/checkpoints.hpp"
#include "sim/workload/opgraph/fusion.hpp"
#include "sim/workload/opgraph/graph_kernels.hpp"
#include "sim/workload/opgraph/graph_workload.hpp"

namespace distsim::workload {
namespace {

/// Layers of the data-parallel iteration are run forward in their order and backward against it. Of a graph whose backward
/// pass is known call by call, the first layer has the whole forward pass, and each layer from the last to the first the
/// part of the backward pass that ends where a gradient is complete.
std::vector<Layer> layers_of_graph(const GraphSpec& spec, const Checkpoints& checkpoints,
                                   const std::optional<PointwiseFusion>& fusion, std::int64_t samples,
                                   const LayerContext& context, GraphCoverage& coverage) {
  const opgraph::OpGraph& graph = *spec.graph;
  GraphKernels kernels(graph, samples, context.numerics, context.framework->host.eager);
  Layer whole;
  whole.name = graph.name.empty() ? "graph" : graph.name;
  std::vector<Layer> backward(1);
  std::size_t gradient = 0;
  const auto append = [](std::vector<LayerOp>& to, std::vector<LayerOp> from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  std::vector<LayerOp> held;  // of a run of fused nodes that goes on
  const auto add = [&](std::uint32_t i, std::vector<LayerOp>& to) {
    std::vector<LayerOp> ops = kernels.of(graph.nodes[i]).ops;
    if (!fusion || (!fusion->goes_on(i) && fusion->ending_at(i).empty())) return append(to, std::move(ops));
    append(held, std::move(ops));
    if (fusion->goes_on(i)) return;
    append(to, fusion->fused(i, std::exchange(held, {}), kernels.sizes()));
  };
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const opgraph::Node& node = graph.nodes[i];
    if (const auto* again = checkpoints.before(i); again != nullptr) {
      for (const std::uint32_t f : *again) add(f, backward.back().backward);
    }
    add(i, node.phase == graph::Phase::forward ? whole.forward : backward.back().backward);
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
  coverage = kernels.coverage();
  layers.front().saved_bytes = checkpoints.live_bytes(kernels.sizes());
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

std::string example_module(const opgraph::OpGraph& graph) {
  const auto at =
      std::ranges::find_if(graph.nodes, [](const opgraph::Node& n) { return n.label.find('.') != n.label.npos; });
  return at == graph.nodes.end() ? graph.nodes.front().label : at->label;
}

}  // namespace

Result<Workload> build_captured(const GraphSpec& spec, const ModelSpec& model, const FrameworkSpec& framework,
                                const ClusterShape& shape, const SamplePlan& samples) {
  const opgraph::OpGraph& graph = *spec.graph;
  TRY(check_batch(graph, samples));
  const Checkpoints checkpoints(graph, spec.checkpoint);
  if (!checkpoints.unknown().empty())
    return Error{"model.graph.checkpoint: found " + in_quotes(checkpoints.unknown().front()) +
                     ", expected the name of a module of the graph, such as " + in_quotes(example_module(graph)),
                 "", ""};
  std::optional<PointwiseFusion> fusion;
  if (spec.fuse) fusion.emplace(graph, checkpoints.module_of_nodes());
  const LayerContext context = layer_context(model, framework);
  DataParallelModel parts;
  parts.input_bytes_per_sample = input_bytes(graph);
  GraphCoverage coverage;
  parts.layers = [&](std::int64_t n) { return layers_of_graph(spec, checkpoints, fusion, n, context, coverage); };
  TRY_ASSIGN(Workload out, build_data_parallel(model, framework, shape, samples, parts));
  out.assumptions.push_back({graph::AssumptionKind::workload, "graph: " + coverage.text()});
  if (checkpoints.modules() > 0)
    out.assumptions.push_back({graph::AssumptionKind::workload, "graph: " + counted(checkpoints.modules(), "module") +
                                                                    " run again in the backward pass"});
  name_frozen(graph, out);
  return out;
}

}  // namespace distsim::workload
