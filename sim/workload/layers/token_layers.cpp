#include "sim/workload/layers/token_layers.hpp"

#include <utility>

namespace distsim::workload {
namespace {

// Views, transposes, splits and the like of a transformer block, and backward a node for each of them and one for each of
// 12 weights. Forward a block of Megatron-LM has 40 top-level operators (1616 in 40 blocks, trace on A100), of which 18
// launch kernels; one of GPT-2 from Hugging Face has 50 forward and 70 backward (execution trace, 36 blocks).
constexpr std::uint16_t kForwardCallsWithoutKernels = 22;
constexpr std::uint16_t kBackwardCallsWithoutKernels = 34;

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
  layer.backward.push_back({name + ".grad", op, {1, 2}});
  layer.parameters = {{name + ".weight", width}, {name + ".bias", width}};
  layer.saved_bytes = bytes(rows * width);
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
