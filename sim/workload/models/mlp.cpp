// A plain MLP with a mean-squared-error loss, data parallel.
#include "sim/workload/graph/data_parallel.hpp"

namespace distsim::workload {
namespace {

Layer squared_error(std::int64_t samples, std::int64_t outputs, const LayerContext& c) {
  graph::Loss op;
  op.kind = graph::LossKind::mean_squared_error;
  op.rows = samples;
  op.classes = outputs;
  op.dtype = c.numerics.activation;
  Layer layer;
  layer.name = "loss";
  layer.forward.push_back({"loss", op, {1, 2}});
  op.pass = graph::Pass::backward;
  layer.backward.push_back({"loss.dgrad", op, {1, 2}});
  return layer;
}

}  // namespace

Result<Workload> build_mlp(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape,
                           const SamplePlan& samples) {
  const MlpSpec& spec = model.mlp;
  if (spec.layers.empty() || spec.inputs < 1)
    return Error{"model.mlp.layers: found none, expected at least one", "", ""};
  const LayerContext context = layer_context(model, framework);
  DataParallelModel parts;
  parts.input_bytes_per_sample = 4.0 * static_cast<double>(spec.inputs + spec.layers.back());
  parts.layers = [&](std::int64_t n) {
    std::vector<Layer> layers = mlp_layers("mlp", n, spec.inputs, spec.layers, Activation::none, false, context);
    layers.push_back(squared_error(n, spec.layers.back(), context));
    return layers;
  };
  return build_data_parallel(model, framework, shape, samples, parts);
}

}  // namespace distsim::workload
