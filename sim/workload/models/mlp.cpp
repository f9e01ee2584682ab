#include "sim/workload/models/mlp.hpp"

#include "sim/workload/graph/data_parallel.hpp"

namespace distsim::workload {
namespace {

constexpr Range kMlpWidth{1, 1 << 24};

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

Schema<MlpSpec> mlp_schema() {
  Schema<MlpSpec> s("mlp", "Fully connected layers.");
  s.optional("inputs", &MlpSpec::inputs, kMlpWidth, "Features per sample.");
  s.scalars("layers", &MlpSpec::layers, kMlpWidth, "Layer widths.");
  s.rule([](const MlpSpec& m) {
    return m.layers.empty() ? std::optional<std::string>("layers: found none, expected at least one") : std::nullopt;
  });
  return s;
}

namespace {

Result<Workload> build_mlp(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape,
                           const SamplePlan& samples) {
  const MlpSpec& spec = model.as<MlpSpec>();
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

constexpr Refusal kMlpRefuses[] = {
    {"{layers: []}", "model.mlp.layers"},
    {"{inputs: 0}", "model.mlp.inputs"},
};

}  // namespace

extern const ModelFamily mlp_family;
constinit const ModelFamily mlp_family{
    .name = "mlp",
    .sentence = "Fully connected layers; data parallel",
    .refuses = kMlpRefuses,
    .add_section = [](Schema<ModelSpec>& s) { add_section(s, mlp_schema()); },
    .build = build_mlp,
};

}  // namespace distsim::workload
