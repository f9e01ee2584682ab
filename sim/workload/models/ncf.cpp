#include "sim/workload/models/ncf.hpp"

#include <utility>

#include "sim/workload/graph/data_parallel.hpp"
#include "sim/workload/specs/step_mode.hpp"

namespace distsim::workload {
namespace {

constexpr Range kNcfWidth{1, 1 << 24};
constexpr Range kRows{1, 1e13};

class NcfBuilder {
 public:
  NcfBuilder(const NcfSpec& spec, std::int64_t samples, const LayerContext& context)
      : s_(spec), c_(context), n_(samples) {}

  std::vector<Layer> build() {
    const std::int64_t half = s_.mlp.front() / 2;
    table("factors.users", s_.users, s_.factors);
    table("factors.items", s_.items, s_.factors);
    table("mlp.users", s_.users, half);
    table("mlp.items", s_.items, half);
    product();
    concat("mlp.concat", s_.mlp.front());
    for (std::size_t i = 1; i < s_.mlp.size(); ++i) hidden("mlp." + std::to_string(i - 1), s_.mlp[i - 1], s_.mlp[i]);
    const std::int64_t joined = s_.factors + s_.mlp.back();
    concat("joined", joined);
    linear("last", joined, 1, Activation::none);
    loss();
    return std::move(layers_);
  }

 private:
  graph::DType dtype() const { return c_.numerics.activation; }
  Layer& push(std::string name) {
    layers_.emplace_back().name = std::move(name);
    return layers_.back();
  }

  /// The gradient is a tensor as large as the table: cleared, then the sorted samples' gradients are summed into it.
  void table(const std::string& name, std::int64_t rows, std::int64_t width) {
    graph::EmbeddingBag op;
    op.tables = {{rows, width, 1, s_.index_skew}};
    op.batch = n_;
    op.output = graph::DType::fp32;
    op.optimizer = graph::EmbeddingOptimizer::none;
    op.update = graph::SparseUpdate::fused;
    Layer& layer = push(name);
    layer.forward.push_back({name, op, {1, 1}});
    if (c_.numerics.mixed) layer.forward.push_back(elementwise(name + ".cast", n_ * width, 2, 1, 1, dtype()));
    layer.backward.push_back(elementwise(name + ".clear", rows * width, 0, 1, 0, graph::DType::fp32, {0, 1}));
    if (c_.numerics.mixed) layer.backward.push_back(elementwise(name + ".cast.dgrad", n_ * width, 1, 2, 1, dtype()));
    op.pass = graph::Pass::backward;
    layer.backward.push_back({name + ".wgrad", op, {1, 6}});
    layer.parameters.push_back({name + ".weight", rows * width});
    layer.saved_bytes = n_ * width * graph::size_of(dtype());
  }

  /// Element by element: the generalised matrix factorisation.
  void product() {
    Layer& layer = push("factors.product");
    layer.forward.push_back(elementwise("factors.product", n_ * s_.factors, 2, 1, 1, dtype()));
    layer.backward.push_back(elementwise("factors.product.dgrad", n_ * s_.factors, 3, 2, 2, dtype(), {1, 2}));
  }

  void concat(const std::string& name, std::int64_t width) {
    const graph::Concat op{n_ * width * graph::size_of(dtype()), 2};
    Layer& layer = push(name);
    layer.forward.push_back({name, op, {1, 1}});
    layer.backward.push_back({name + ".dgrad", op, {2, 2}});
    layer.saved_bytes = op.bytes;
  }

  void linear(const std::string& name, std::int64_t in, std::int64_t out, Activation activation) {
    Linear shape;
    shape.name = name;
    shape.rows = n_;
    shape.in = in;
    shape.out = out;
    shape.activation = activation;
    layers_.push_back(linear_layer(shape, c_));
  }

  void hidden(const std::string& name, std::int64_t in, std::int64_t out) {
    linear(name, in, out, Activation::relu);
    if (!s_.dropout) return;
    const double mask = 1.0 / static_cast<double>(graph::size_of(dtype()));
    Layer& layer = push(name + ".dropout");
    layer.forward.push_back(elementwise(layer.name, n_ * out, 1, 1 + mask, 2, dtype()));
    layer.backward.push_back(elementwise(layer.name + ".dgrad", n_ * out, 1 + mask, 1, 1, dtype()));
    layer.saved_bytes = n_ * out;
  }

  void loss() {
    graph::Loss op;
    op.kind = graph::LossKind::binary_cross_entropy;
    op.rows = n_;
    Layer& layer = push("loss");
    layer.forward.push_back({"loss", op, {3, 3}});
    op.pass = graph::Pass::backward;
    layer.backward.push_back({"loss.dgrad", op, {2, 2}});
  }

  const NcfSpec& s_;
  const LayerContext& c_;
  std::int64_t n_;
  std::vector<Layer> layers_;
};

}  // namespace

std::vector<Layer> ncf_layers(const NcfSpec& spec, std::int64_t samples, const LayerContext& context) {
  return NcfBuilder(spec, samples, context).build();
}

Schema<NcfSpec> ncf_schema() {
  Schema<NcfSpec> s("ncf", "NeuMF collaborative filtering, all tables replicated.");
  s.optional("users", &NcfSpec::users, kRows, "Users.");
  s.optional("items", &NcfSpec::items, kRows, "Items.");
  s.optional("factors", &NcfSpec::factors, {1, 65536}, "Width of the matrix factorization vectors.");
  s.scalars("mlp", &NcfSpec::mlp, kNcfWidth,
            "Widths of the MLP, starting with that of the concatenated user and item vectors.");
  s.optional("index_skew", &NcfSpec::index_skew, {0, 4}, "Exponent of the power law of users' and items' popularity.");
  s.optional("dropout", &NcfSpec::dropout, "Dropout after each layer of the MLP.");
  return s;
}

namespace {

Result<Workload> build_ncf(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape,
                           const SamplePlan& samples) {
  const NcfSpec spec = as_run<NcfSpec>(model);
  if (spec.mlp.size() < 2 || spec.mlp.front() % 2 != 0) {
    return Error{"model.ncf.mlp: found " + std::to_string(spec.mlp.size()) +
                     " widths, expected at least two, the first of them even (concatenated users and items)",
                 "", ""};
  }
  const LayerContext context = layer_context(model, framework);
  DataParallelModel parts;
  parts.layers = [&](std::int64_t n) { return ncf_layers(spec, n, context); };
  parts.input_bytes_per_sample = 0;  // an epoch's samples are generated on the GPU
  return build_data_parallel(model, framework, shape, samples, parts);
}

constexpr Refusal kNcfRefuses[] = {
    {"{mlp: [64]}", "model.ncf.mlp"},
    {"{mlp: [65, 8]}", "model.ncf.mlp"},
};

}  // namespace

extern const ModelFamily ncf_family;
constinit const ModelFamily ncf_family{
    .name = "ncf",
    .sentence = "NeuMF collaborative filtering; data parallel, replicated embeddings",
    .refuses = kNcfRefuses,
    .add_section = [](Schema<ModelSpec>& s) { add_section(s, ncf_schema()); },
    .build = build_ncf,
};

}  // namespace distsim::workload
