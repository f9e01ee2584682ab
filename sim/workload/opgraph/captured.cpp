#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "sim/workload/graph/data_parallel.hpp"
#include "sim/workload/opgraph/captured_model.hpp"
#include "sim/workload/opgraph/graph_workload.hpp"
#include "sim/workload/opgraph/module_names.hpp"
#include "sim/workload/specs/step_mode.hpp"

namespace distsim::workload {
namespace {

/// Layers of the data-parallel iteration are run forward in their order and backward against it. Of a graph whose backward
/// pass is known call by call, the first layer has the whole forward pass, and each layer from the last to the first the
/// part of the backward pass that ends where a gradient is complete.
std::vector<Layer> layers_of_graph(const GraphParts& parts, std::int64_t samples, const LayerContext& context,
                                   GraphCoverage& coverage) {
  std::vector<Layer> all = parts.layers(samples, context, coverage);
  std::vector<Layer> layers(1);
  for (std::size_t i = all.size(); i-- > 0 && !parts.parts()[i].forward;) {
    std::ranges::reverse(all[i].parameters);
    layers.push_back(std::move(all[i]));
  }
  std::vector<LayerOp>& forward = layers.front().forward;
  for (std::size_t i = 0; i < all.size() && parts.parts()[i].forward; ++i)
    forward.insert(forward.end(), std::make_move_iterator(all[i].forward.begin()),
                   std::make_move_iterator(all[i].forward.end()));
  layers.front().saved_bytes = all.front().saved_bytes;
  return layers;
}

std::string example_module(const opgraph::OpGraph& graph) {
  const auto at =
      std::ranges::find_if(graph.nodes, [](const opgraph::Node& n) { return n.label.find('.') != n.label.npos; });
  return at == graph.nodes.end() ? graph.nodes.front().label : at->label;
}

Result<void> refuse_unknown(const char* key, const std::vector<std::string>& unknown, const opgraph::OpGraph& graph) {
  if (unknown.empty()) return {};
  return Error{std::string("model.graph.") + key + ": found " + in_quotes(unknown.front()) +
                   ", expected the name of a module of the graph, such as " + in_quotes(example_module(graph)),
               "", ""};
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

/// In 16 bits as a whole: no weight is cast for a call, and gradients are as wide as what they are of.
FrameworkSpec as_run_by(const FrameworkSpec& framework, const GraphSpec& spec) {
  FrameworkSpec out = framework;
  if (spec.amp == Amp::half) out.kernels.cast_weights = false, out.gradients.half_precision = true;
  return out;
}

Result<Workload> build_replicas(const CapturedModel& m) {
  const GraphParts parts(m.spec, m.graph, m.checkpoints, {});
  const LayerContext context = layer_context(m.model, m.framework);
  DataParallelModel data_parallel;
  data_parallel.input_bytes_per_sample = m.input_bytes;
  GraphCoverage coverage;
  data_parallel.layers = [&](std::int64_t n) { return layers_of_graph(parts, n, context, coverage); };
  TRY_ASSIGN(Workload out, build_data_parallel(m.model, m.framework, m.cluster, m.samples, data_parallel));
  m.describe(out, coverage);
  return out;
}

}  // namespace

void CapturedModel::describe(Workload& out, const GraphCoverage& coverage) const {
  const auto say = [&](const std::string& text) {
    out.assumptions.push_back({graph::AssumptionKind::workload, "graph: " + text});
  };
  say(coverage.text());
  if (checkpoints.modules() > 0) say(counted(checkpoints.modules(), "module") + " run again in the backward pass");
  name_frozen(graph, out);
}

Result<Workload> build_captured(const GraphSpec& spec, const ModelSpec& model, const FrameworkSpec& framework,
                                const ClusterShape& shape, const SamplePlan& samples) {
  const opgraph::OpGraph& graph = *spec.graph;
  TRY(check_batch(graph, samples));
  const FrameworkSpec as_run = as_run_by(framework, spec);
  const Checkpoints checkpoints(graph, spec.checkpoint);
  TRY(refuse_unknown("checkpoint", checkpoints.unknown(), graph));
  const CapturedModel captured{spec, graph, model, as_run, shape, samples, checkpoints, input_bytes(graph)};
  // What a framework splits of its own accord are weights that are trained.
  const StateSplit by_framework = mode_of(model) == StepMode::inference ? StateSplit::none : framework.parallel.shard;
  const StateSplit split = model.parallel.shard == StateSplit::automatic ? by_framework : model.parallel.shard;
  const bool shards = split != StateSplit::none && split != StateSplit::automatic;
  if (!spec.tables.any() && !shards) return build_replicas(captured);
  if (shards && spec.tables.any())
    return Error{"model.parallel.shard: found " + std::string(name_of(split)) +
                     ", expected none where model.graph.tables splits tables",
                 "", ""};
  TRY(only_training(model, shards ? "weights that are split" : "tables that are split"));
  if (!shards) return build_with_tables(captured);
  ModuleNames units(spec.units);
  for (const opgraph::Node& node : graph.nodes) units.of(node.label);
  TRY(refuse_unknown("units", units.unused(), graph));
  return samples.ranks == 1 ? build_replicas(captured) : build_sharded(captured, split);
}

}  // namespace distsim::workload
