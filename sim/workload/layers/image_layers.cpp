#include "sim/workload/layers/image_layers.hpp"

#include <utility>

namespace distsim::workload {

Layer& ImageStack::push(std::string name) {
  layers_.emplace_back().name = std::move(name);
  return layers_.back();
}

void ImageStack::return_to(std::int64_t channels, std::int64_t size) {
  channels_ = channels;
  size_ = size;
}

void ImageStack::convolution(const Convolution& s) {
  graph::Conv2d op;
  op.n = n_;
  op.c = channels_;
  op.h = op.w = size_;
  op.k = s.out;
  op.r = op.s = s.filter;
  op.stride = s.stride;
  op.pad = s.pad;
  op.dtype = c_.numerics.matrix;
  op.channels_last = channels_last_;
  const std::int64_t weights = s.out * channels_ * s.filter * s.filter;
  Layer& layer = push(s.name);
  layer.saved_bytes = bytes(elements());
  const std::int64_t outputs = n_ * s.out * op.out_h() * op.out_w();
  append_weight_cast(layer.forward, s.name, weights, 1, c_);
  layer.forward.push_back({s.name, op, {1, 1}});
  if (s.bias) layer.forward.push_back(elementwise(s.name + ".bias", outputs, 1, 1, 1, dtype(), {0, 1}));
  if (s.bias) layer.backward.push_back(elementwise(s.name + ".bias.wgrad", outputs, 1, 0, 1, dtype(), {0, 1}));
  if (s.input_gradient) {
    op.pass = graph::Pass::backward_data;
    layer.backward.push_back({s.name + ".dgrad", op, {1, 1}});
  }
  op.pass = graph::Pass::backward_weight;
  // Both gradients are one node, where there are two; the weight's is added up by another.
  const std::uint16_t nodes = weight_nodes(c_, s.bias ? 2 : 1);
  layer.backward.push_back({s.name + ".wgrad", op, {nodes > 0 && s.input_gradient ? nodes : 1u + nodes, 1}});
  append_gradient_cast(layer.backward, s.name, weights, 1, c_);
  layer.parameters.push_back({s.name + ".weight", weights});
  if (s.bias) layer.parameters.push_back({s.name + ".bias", s.out});
  channels_ = s.out;
  size_ = op.out_h();
}

void ImageStack::batch_norm(const std::string& name, bool relu) {
  const bool fused = c_.framework->kernels.fuse_elementwise;
  graph::Normalization op;
  op.kind = graph::NormKind::batch;
  op.rows = n_ * size_ * size_;
  op.cols = channels_;
  op.dtype = dtype();
  op.fused_activation = relu && fused;
  Layer& layer = push(name);
  layer.saved_bytes = bytes(elements());
  layer.forward.push_back(
      {name, op, fused ? graph::Dispatch{1, 1} : graph::Dispatch{2, 2}});  // eager frameworks also count batches
  if (relu && !fused) layer.forward.push_back(elementwise(name + ".relu", elements(), 1, 1, 1, dtype()));
  if (relu && !fused) layer.backward.push_back(elementwise(name + ".relu.dgrad", elements(), 2, 1, 1, dtype()));
  op.pass = graph::Pass::backward;
  layer.backward.push_back({name + ".grad", op, {1u + weight_nodes(c_, 2), 1}});
  layer.parameters.push_back({name + ".weight", channels_});
  layer.parameters.push_back({name + ".bias", channels_});
}

void ImageStack::add_and_relu(const std::string& name) {
  Layer& layer = push(name + ".add_relu");
  if (c_.framework->kernels.fuse_elementwise) {
    layer.forward.push_back(elementwise(name + ".add_relu", elements(), 2, 1, 2, dtype()));
  } else {
    layer.forward.push_back(elementwise(name + ".add", elements(), 2, 1, 1, dtype()));
    layer.forward.push_back(elementwise(name + ".relu", elements(), 1, 1, 1, dtype()));
  }
  layer.backward.push_back(elementwise(name + ".relu.dgrad", elements(), 2, 1, 1, dtype()));
}

void ImageStack::max_pooling() {
  const double before = static_cast<double>(elements());
  const std::int64_t input_bytes = bytes(elements());
  size_ = (size_ + 2 - 3) / 2 + 1;
  const double ratio = before / static_cast<double>(elements());  // inputs read for each output
  Layer& layer = push("maxpool");
  layer.saved_bytes = input_bytes;
  layer.forward.push_back(elementwise("maxpool", elements(), ratio, 1, 9, dtype()));
  layer.backward.push_back(elementwise("maxpool.dgrad", elements(), 1 + ratio, ratio, 9, dtype()));
}

void ImageStack::average_pooling() {
  const double share = 1.0 / static_cast<double>(size_ * size_);
  Layer& pool = push("avgpool");
  pool.forward.push_back(elementwise("avgpool", elements(), 1, share, 1, dtype()));
  pool.backward.push_back(elementwise("avgpool.dgrad", elements(), share, 1, 1, dtype()));
  size_ = 1;
}

}  // namespace distsim::workload
