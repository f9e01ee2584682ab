#include <utility>

#include "sim/graph/ops/flops_per_element.hpp"
#include "sim/workload/layers/layer.hpp"

namespace distsim::workload {
namespace {

/// Operations for each element of an activation, and of its gradient.
struct FlopsPerElement {
  double forward = 0, backward = 0;
};

FlopsPerElement flops_per_element(Activation a) {
  switch (a) {
    case Activation::none:
      return {};
    case Activation::relu:
      return {1, 1};
    case Activation::gelu:
      return {graph::kErfFlops, graph::kErfGradFlops};
    case Activation::sigmoid:
      return {graph::kSpecialFlops, graph::kLogisticGradFlops};
  }
  return {};
}

std::string_view word(Activation a) {
  switch (a) {
    case Activation::none:
      return "none";
    case Activation::relu:
      return "relu";
    case Activation::gelu:
      return "gelu";
    case Activation::sigmoid:
      return "sigmoid";
  }
  return "";
}

graph::Gemm product(std::int64_t m, std::int64_t n, std::int64_t k, graph::Pass pass, bool fused, graph::DType dtype) {
  graph::Gemm g;
  g.m = m;
  g.n = n;
  g.k = k;
  g.pass = pass;
  g.fused_epilogue = fused;
  g.dtype = dtype;
  return g;
}

bool is_matrix_op(const graph::Op& op) {
  return std::holds_alternative<graph::Gemm>(op) || std::holds_alternative<graph::Conv2d>(op) ||
         std::holds_alternative<graph::Attention>(op) || std::holds_alternative<graph::Interaction>(op) ||
         std::holds_alternative<graph::CrossLayer>(op) || std::holds_alternative<graph::Recurrent>(op);
}

void append_forward(Layer& layer, const Linear& s, std::int64_t inner, bool fused, const LayerContext& c) {
  const Numerics& n = c.numerics;
  append_weight_cast(layer.forward, s.name, s.in * s.out + (s.bias ? s.out : 0), s.bias ? 2 : 1, c);
  layer.forward.push_back({s.name, product(s.rows, s.out, inner, graph::Pass::forward, fused, n.matrix), {1, 1}});
  if (s.bias && !s.bias_in_product && !fused &&
      !c.framework->kernels.fuse_elementwise) {  // in place; a compiler merges it with what follows
    layer.forward.push_back(elementwise(s.name + ".bias", s.rows * s.out, 1, 1, 1, n.activation, {0, 1}));
  }
  if (s.activation != Activation::none && !fused) {
    layer.forward.push_back(elementwise(s.name + "." + std::string(word(s.activation)), s.rows * s.out, 1, 1,
                                        flops_per_element(s.activation).forward, n.activation));
  }
}

void append_backward(Layer& layer, const Linear& s, std::int64_t inner, bool fused, const LayerContext& c) {
  const Numerics& n = c.numerics;
  if (s.activation != Activation::none) {  // with a fused epilogue the bias gradient comes out of the same kernel
    layer.backward.push_back(elementwise(s.name + "." + std::string(word(s.activation)) + ".dgrad", s.rows * s.out, 2,
                                         1, flops_per_element(s.activation).backward, n.activation));
  }
  if (s.bias && !(fused && s.activation != Activation::none)) {
    layer.backward.push_back(elementwise(s.name + ".bias.wgrad", s.rows * s.out, 1, 0, 1, n.activation, {0, 1}));
  }
  const int weights = (s.owns_weight ? 1 : 0) + (s.bias ? 1 : 0);
  layer.backward.push_back({s.name + ".wgrad",
                            product(s.out, inner, s.rows, graph::Pass::backward_weight, false, n.matrix),
                            {1u + weight_nodes(c, weights, true), 1}});
  if (s.input_gradient) {
    layer.backward.push_back(
        {s.name + ".dgrad", product(s.rows, inner, s.out, graph::Pass::backward_data, false, n.matrix), {0, 1}});
  }
  append_gradient_cast(layer.backward, s.name, s.in * s.out + (s.bias ? s.out : 0), s.bias ? 2 : 1, c);
}

}  // namespace

LayerOp elementwise(std::string name, std::int64_t elements, double reads, double writes, double flops,
                    graph::DType dtype, graph::Dispatch dispatch) {
  return {std::move(name), graph::Elementwise{elements, reads, writes, flops, dtype}, dispatch};
}

void append_weight_cast(std::vector<LayerOp>& ops, const std::string& name, std::int64_t elements, int tensors,
                        const LayerContext& c) {
  if (!c.numerics.mixed || !c.framework->kernels.cast_weights || elements == 0) return;
  const auto n = static_cast<std::uint16_t>(tensors);  // reads fp32 (two halves), writes one half
  ops.push_back(elementwise(name + ".kernels.cast_weights", elements, 2, 1, 1, c.numerics.activation, {n, n}));
}

void append_gradient_cast(std::vector<LayerOp>& ops, const std::string& name, std::int64_t elements, int tensors,
                          const LayerContext& c) {
  if (!c.numerics.mixed || !c.framework->kernels.cast_weights || elements == 0) return;
  const auto n = static_cast<std::uint16_t>(tensors);
  ops.push_back(elementwise(name + ".cast_gradients", elements, 1, 2, 1, c.numerics.activation, {n, n}));
  ops.back().casts_gradient = true;
}

Layer linear_layer(const Linear& s, const LayerContext& c) {
  Layer layer;
  layer.name = s.name;
  const std::int64_t inner = s.padded_in > 0 ? s.padded_in : s.in;
  // HugeCTR, the one framework that fuses by hand, has the fused layer only in fp16.
  const bool fused =
      c.framework->kernels.fuse_epilogue && c.numerics.mixed && (s.bias || s.activation != Activation::none);
  append_forward(layer, s, inner, fused, c);
  append_backward(layer, s, inner, fused, c);
  for (auto* const ops : {&layer.forward, &layer.backward}) {
    for (LayerOp& op : *ops) {
      if (is_matrix_op(op.op)) op.useful = graph::real(s.in) / graph::real(inner);
    }
  }
  if (s.owns_weight) layer.parameters.push_back({s.name + ".weight", s.in * s.out});
  if (s.bias) layer.parameters.push_back({s.name + ".bias", s.out});
  const bool keeps_output = s.activation == Activation::gelu || s.activation == Activation::sigmoid;
  layer.saved_bytes = s.rows * (s.in + (keeps_output ? s.out : 0)) * graph::size_of(c.numerics.activation);
  return layer;
}

std::vector<Layer> mlp_layers(const std::string& name, std::int64_t rows, std::int64_t inputs,
                              const std::vector<std::int64_t>& widths, Activation last, bool input_gradient,
                              const LayerContext& c) {
  std::vector<Layer> layers;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    Linear s;
    s.name = name + "." + std::to_string(i);
    s.rows = rows;
    s.in = inputs;
    s.out = widths[i];
    s.activation = i + 1 == widths.size() ? last : Activation::relu;
    s.input_gradient = i > 0 || input_gradient;
    if (c.framework->embedding.fused_interaction && c.numerics.mixed)
      s.padded_in = (inputs + 7) / 8 * 8;  // tensor cores want multiples of 8
    layers.push_back(linear_layer(s, c));
    inputs = widths[i];
  }
  return layers;
}

std::uint16_t weight_nodes(const LayerContext& context, int weights, bool transposed) {
  return capped(context.framework->host.eager ? weights + (transposed ? 1 : 0) : 0);
}

double matrix_flops(const std::vector<LayerOp>& ops) {
  double sum = 0;
  for (const LayerOp& op : ops) sum += is_matrix_op(op.op) ? op.useful * graph::flops_of(op.op) : 0;
  return sum;
}

double forward_matrix_flops(const std::vector<Layer>& layers) {
  double sum = 0;
  for (const Layer& layer : layers) sum += matrix_flops(layer.forward);
  return sum;
}

std::int64_t parameters_of(const Layer& layer) {
  std::int64_t sum = 0;
  for (const Parameter& p : layer.parameters) sum += p.elements;
  return sum;
}

std::int64_t parameters_of(const std::vector<Layer>& layers) {
  std::int64_t sum = 0;
  for (const Layer& layer : layers) sum += parameters_of(layer);
  return sum;
}

std::int64_t tensors_of(const std::vector<Layer>& layers) {
  std::int64_t sum = 0;
  for (const Layer& layer : layers) sum += static_cast<std::int64_t>(layer.parameters.size());
  return sum;
}

std::int64_t saved_bytes_of(const std::vector<Layer>& layers) {
  std::int64_t sum = 0;
  for (const Layer& layer : layers) sum += layer.saved_bytes;
  return sum;
}

}  // namespace distsim::workload
