#include "sim/workload/layers/token_layers.hpp"

#include <utility>

namespace distsim::workload {
namespace {

// Views, transposes, splits and the like of a transformer block, and backward a node for each of them; those of the weights
// are counted with their layers. Forward a block of Megatron-LM has 40 top-level operators (1616 in 40 blocks, trace on A100),
// of which 18 launch kernels; one of GPT-2 from Hugging Face has 51 forward and 65 backward, 16 of them for its weights
// (execution trace, 36 blocks).
constexpr std::uint16_t kForwardCallsWithoutKernels = 22;
constexpr std::uint16_t kBackwardCallsWithoutKernels = 18;

}  // namespace

void TokenStack::add_calls_without_kernels(Layer& attention) const {
  if (!c_.framework->host.eager) return;
  attention.forward.front().dispatch.framework_ops += kForwardCallsWithoutKernels;
  attention.backward.front().dispatch.framework_ops += kBackwardCallsWithoutKernels;
}

Layer& TokenStack::push(std::string name) {
  layers_.emplace_back().name = std::move(name);
  return layers_.back();
}

void TokenStack::linear(std::string name, std::int64_t rows, std::int64_t in, std::int64_t out, Activation activation,
                        bool owns_weight, bool bias) {
  Linear shape;
  shape.name = std::move(name);
  shape.rows = rows;
  shape.in = in;
  shape.out = out;
  shape.activation = activation;
  shape.owns_weight = owns_weight;
  shape.bias = bias;
  layers_.push_back(linear_layer(shape, c_));
}

void TokenStack::dropout(const std::string& name, std::int64_t elements) {
  if (!dropout_) return;
  const double mask = 1.0 / static_cast<double>(graph::size_of(dtype()));
  Layer& layer = push(name);
  layer.forward.push_back(elementwise(name, elements, 1, 1 + mask, 2, dtype()));
  layer.backward.push_back(elementwise(name + ".dgrad", elements, 1 + mask, 1, 1, dtype()));
  layer.saved_bytes = elements;
}

void TokenStack::residual(const std::string& name, std::int64_t elements) {
  if (!fused()) dropout(name + ".dropout", elements);
  Layer& layer = push(name + ".residual");
  layer.forward.push_back(elementwise(name + ".residual", elements, 2, 1, 2, dtype()));
  layer.backward.push_back(elementwise(name + ".residual.dgrad", elements, 2, 1, 1, dtype()));
  if (dropout_ && fused()) layer.saved_bytes = elements;
}

void TokenStack::layer_norm(const std::string& name, std::int64_t rows, std::int64_t width) {
  graph::Normalization op;
  op.kind = graph::NormKind::layer;
  op.rows = rows;
  op.cols = width;
  op.dtype = dtype();
  Layer& layer = push(name);
  layer.forward.push_back({name, op, {1, 1}});
  op.pass = graph::Pass::backward;
  layer.backward.push_back({name + ".grad", op, {1u + weight_nodes(c_, 2), 2}});
  layer.parameters = {{name + ".weight", width}, {name + ".bias", width}};
  layer.saved_bytes = bytes(rows * width);
}

void TokenStack::recurrent(const std::string& name, graph::Recurrent op) {
  // nn.LSTM in eager mode: checks of its weights, the call of cuDNN, two transposes. A call of cuDNN is taken to launch
  // its kernels faster than they run.
  constexpr graph::Dispatch kCall{4, 4};
  op.dtype = graph::size_of(c_.numerics.matrix) < 2 ? dtype() : c_.numerics.matrix;  // cuDNN has no 8-bit layers
  Layer& layer = push(name);
  const std::int64_t wide = graph::gates_of(op.cell) * op.hidden;
  for (std::int64_t d = 0; d < op.directions; ++d) {
    const std::string own = op.directions > 1 ? name + (d == 0 ? ".forward" : ".reverse") : name;
    layer.parameters.push_back({own + ".weight_input", wide * op.input});
    layer.parameters.push_back({own + ".weight_hidden", wide * op.hidden});
    layer.parameters.push_back({own + ".bias_input", wide});
    layer.parameters.push_back({own + ".bias_hidden", wide});
  }
  append_weight_cast(layer.forward, name, parameters_of(layer), static_cast<int>(layer.parameters.size()), c_);
  layer.forward.push_back({name, op, kCall});
  op.pass = graph::Pass::backward_data;
  layer.backward.push_back({name + ".dgrad", op, kCall});
  op.pass = graph::Pass::backward_weight;
  layer.backward.push_back({name + ".wgrad", op, {0, 2}});
  append_gradient_cast(layer.backward, name, parameters_of(layer), static_cast<int>(layer.parameters.size()), c_);
  // Inputs, outputs, and of each step the gates and the cell.
  const std::int64_t kept = op.input + op.directions * (wide + 2 * op.hidden);
  layer.saved_bytes = bytes(op.batch * op.length * kept);
}

void TokenStack::embedding(const std::string& name, std::int64_t tokens, std::int64_t words, std::int64_t width,
                           bool owns_weight) {
  graph::EmbeddingBag op;
  op.tables = {{words, width, 1, 1.0}};
  op.batch = tokens;
  op.output = dtype();
  op.optimizer = graph::EmbeddingOptimizer::none;
  op.update = graph::SparseUpdate::sort_dedup;
  Layer& layer = push(name);
  layer.forward.push_back({name, op, {1, 1}});
  op.pass = graph::Pass::backward;
  layer.backward.push_back({name + ".wgrad", op, {1u + weight_nodes(c_, owns_weight ? 1 : 0), 4}});
  if (owns_weight)
    layer.parameters.push_back({name + ".weight", words * width});
  else
    layer.backward.push_back(elementwise(name + ".tied.wgrad", words * width, 2, 1, 1, c_.numerics.gradient));
}

void TokenStack::cross_entropy(const std::string& name, std::int64_t rows, std::int64_t classes) {
  graph::Loss op;
  op.kind = graph::LossKind::cross_entropy;
  op.rows = rows;
  op.classes = classes;
  op.dtype = c_.numerics.mixed ? graph::DType::fp32 : dtype();
  Layer& layer = push(name);
  layer.forward.push_back({name, op, {2, 2}});
  op.pass = graph::Pass::backward;
  layer.backward.push_back({name + ".dgrad", op, {2, 2}});
  layer.saved_bytes = rows * classes * 4;  // log-probabilities
}

}  // namespace distsim::workload
