#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "base/text/quantity_text.hpp"
#include "sim/workload/graph/data_parallel.hpp"
#include "sim/workload/opgraph/captured_model.hpp"
#include "sim/workload/opgraph/forward_alone.hpp"
#include "sim/workload/opgraph/graph_kernels.hpp"
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

/// Sizes such as batch - 4 are none for smaller batches.
Result<void> check_least_batch(const opgraph::OpGraph& graph, const std::string& key, std::int64_t samples) {
  std::int64_t least = 0;
  std::uint32_t at = 0;
  for (std::uint32_t t = 0; t < graph.tensors.size(); ++t) {
    for (const opgraph::Extent& e : graph.tensors[t].dims) {
      if (e.constant >= 0 || e.per_sample <= 0) continue;
      const std::int64_t needed = (-e.constant + e.per_sample - 1) / e.per_sample;
      if (needed > least) least = needed, at = t;
    }
  }
  if (samples >= least) return {};
  return Error{key + ": found " + counted(samples, "sample") + " at once on a GPU, expected at least " +
                   std::to_string(least) + ": a size of " + node_with(graph, at) + " is less than 0 with fewer",
               "", ""};
}

/// Any batch would be the same work, of which more samples are no faster.
bool follows_batch(const opgraph::OpGraph& graph) {
  return std::ranges::any_of(graph.tensors, [](const opgraph::Tensor& t) {
    return std::ranges::any_of(t.dims, [](const opgraph::Extent& e) { return e.per_sample > 0; });
  });
}

Result<void> check_batch(const opgraph::OpGraph& graph, const ModelSpec& model, const SamplePlan& samples) {
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  const bool any_batch = graph.any_batch && follows_batch(graph);
  for (std::int64_t step = 0; step < samples.micro_steps; ++step) {
    for (const std::int64_t size : samples.micro_step(step).sizes()) {
      fewest = std::min(fewest, size);
      if (any_batch || size == graph.samples) continue;
      const std::string reason = graph.any_batch           ? "says that it serves any, but has no size that follows it"
                                 : graph.one_batch.empty() ? "has the sizes of that batch only"
                                                           : graph.one_batch;
      return Error{batch_key(model) + ": found " + counted(size, "sample") + " at once on a GPU, expected " +
                       std::to_string(graph.samples) + ", the batch of the graph" +
                       (graph.one_batch.empty() ? ", which " : ": ") + reason,
                   "", ""};
    }
  }
  return check_least_batch(graph, batch_key(model), fewest);
}

/// What becomes of parameters that the backward pass has no gradient for.
void name_frozen(const KeptTensors& kept, Workload& out) {
  if (kept.parameters == 0) return;
  out.assumptions.push_back({graph::AssumptionKind::workload,
                             "graph: " + counted(kept.parameters, "parameter") + " without a gradient, " +
                                 format_quantity(static_cast<double>(kept.parameter_bytes), Dimension::bytes) +
                                 ": held by every GPU, neither reduced nor updated"});
}

/// Where lookups have sparse gradients the table is one whose rows are updated: such gradients are not summed densely.
Result<void> check_sparse(const GraphSpec& spec) {
  const opgraph::OpGraph& graph = *spec.graph;
  const auto sparse = std::ranges::find(graph.gradients, true, &opgraph::Gradient::sparse);
  if (spec.tables.any() || sparse == graph.gradients.end()) return {};
  return Error{"model.graph.tables: found none, expected found, or modules: the gradient of " +
                   in_quotes(graph.tensors[sparse->parameter].name) + " is sparse in the model, and has no all-reduce",
               "", ""};
}

/// Of a forward pass alone nothing could be said but how long that takes.
Result<void> check_backward(const opgraph::OpGraph& graph, const ModelSpec& model) {
  const auto backward = [](const opgraph::Node& n) { return n.phase == graph::Phase::backward; };
  if (mode_of(model) == StepMode::inference || std::ranges::any_of(graph.nodes, backward)) return {};
  const std::string found = "model.mode: found " + std::string(name_of(mode_of(model))) + ", expected inference: ";
  if (graph.format == opgraph::kOnnxFormat)
    return Error{
        found + "no output of " + graph.file + " follows from a parameter", "",
        "parameters are the initializers of floating type with a dimension: export the model with its weights"};
  return Error{found + graph.file + " has the forward pass alone", "",
               "capture the model without --inference to predict its training"};
}

/// The precision says what weights, gradients and peak are. Weights that a file has in 16 bits do not run in fp32.
Result<void> check_precision(const opgraph::OpGraph& graph, Precision precision) {
  for (const opgraph::Tensor& t : graph.tensors) {
    const bool weight = t.role == opgraph::TensorRole::parameter && t.element.floating;
    if (!weight || (t.element.bytes != 2 && t.element.bytes != 8)) continue;
    const std::string_view type = graph::name_of(t.element.dtype);
    const std::string found = "model.precision: found " + std::string(name_of(precision)) + ", expected ";
    const std::string where =
        ": weight " + in_quotes(t.name, 120) + " of " + graph.file + " is in " + std::string(type);
    if (t.element.bytes == 8) return Error{found + "a graph with weights of at most 32 bits" + where, "", ""};
    if (type != name_of(precision)) return Error{found + std::string(type) + where, "", ""};
  }
  return {};
}

/// In 16 bits as a whole: no weight is cast for a call, and gradients are as wide as what they are of.
FrameworkSpec as_run_by(const FrameworkSpec& framework, const GraphSpec& spec) {
  FrameworkSpec out = framework;
  if (spec.amp == Amp::half) out.kernels.cast_weights = false, out.gradients.half_precision = true;
  return out;
}

Result<Workload> build_replicas(const CapturedModel& m) {
  const GraphParts parts(m.spec, m.graph, m.checkpoints, {});
  if (parts.parts().empty())
    return Error{"model.mode: found " + std::string(name_of(mode_of(m.model))) + ", expected train: " + m.graph.file +
                     " has nothing in its forward pass but dropout and the loss",
                 "", ""};
  const LayerContext context = layer_context(m.model, m.framework);
  DataParallelModel data_parallel;
  data_parallel.input_bytes_per_sample = m.input_bytes;
  data_parallel.kept_bytes = m.kept.bytes();
  data_parallel.kept_parameters = m.kept.elements;
  GraphCoverage coverage;
  data_parallel.layers = [&](std::int64_t n) { return layers_of_graph(parts, n, context, coverage); };
  TRY_ASSIGN(Workload out, build_data_parallel(m.model, m.framework, m.cluster, m.samples, data_parallel));
  if (mode_of(m.model) != StepMode::inference) out.model_flops *= coverage.work_of_forward() / 3;
  m.describe(out, coverage);
  return out;
}

}  // namespace

void CapturedModel::describe(Workload& out, const GraphCoverage& coverage) const {
  if (has_regions(graph)) out.precision = coverage.types.most(model.precision);
  const auto say = [&](const std::string& text) {
    out.assumptions.push_back({graph::AssumptionKind::workload, "graph: " + text});
  };
  say(coverage.text());
  if (checkpoints.modules() > 0) say(counted(checkpoints.modules(), "module") + " run again in the backward pass");
  for (const std::string& remark : graph.remarks) say(remark);
  name_frozen(kept, out);
}

Result<Workload> build_captured(const GraphSpec& whole, const ModelSpec& model, const FrameworkSpec& framework,
                                const ClusterShape& shape, const SamplePlan& samples) {
  const bool infers = mode_of(model) == StepMode::inference;
  GraphSpec spec = whole;
  if (infers) spec.graph = std::make_shared<const opgraph::OpGraph>(forward_alone(*whole.graph));
  const opgraph::OpGraph& graph = *spec.graph;
  TRY(check_precision(graph, model.precision));
  TRY(check_batch(graph, model, samples));
  TRY(check_backward(graph, model));
  TRY(check_sparse(spec));
  const FrameworkSpec as_run = as_run_by(framework, spec);
  const Checkpoints checkpoints(graph, spec.checkpoint);
  TRY(refuse_unknown("checkpoint", checkpoints.unknown(), graph));
  const CapturedModel captured{spec,
                               graph,
                               model,
                               as_run,
                               shape,
                               samples,
                               checkpoints,
                               input_bytes(graph),
                               kept_tensors(graph, numerics_of(model.precision, as_run), spec.amp)};
  // What a framework splits of its own accord are weights that are trained.
  const StateSplit by_framework = infers ? StateSplit::none : framework.parallel.shard;
  const StateSplit split = model.parallel.shard == StateSplit::automatic ? by_framework : model.parallel.shard;
  const bool shards = split != StateSplit::none && split != StateSplit::automatic;
  if (!spec.tables.any() && !shards) return build_replicas(captured);
  TRY(only_training(model, shards ? "weights that are split" : "tables that are split"));
  if (!shards) return build_with_tables(captured, StateSplit::none);
  ModuleNames units(spec.units);
  for (const opgraph::Node& node : graph.nodes) units.of(node.label);
  TRY(refuse_unknown("units", units.unused(), graph));
  if (spec.tables.any()) return build_with_tables(captured, samples.ranks == 1 ? StateSplit::none : split);
  return samples.ranks == 1 ? build_replicas(captured) : build_sharded(captured, split);
}

}  // namespace distsim::workload
