// Layer: the kernels that a layer runs forward and backward on one rank, the weights it owns and the activations it
// keeps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/graph/task_graph.hpp"
#include "sim/workload/specs/framework_spec.hpp"
#include "sim/workload/specs/numerics.hpp"

namespace distsim::workload {

/// A count of calls or kernels, as Dispatch holds it.
inline std::uint16_t capped(std::int64_t n) { return static_cast<std::uint16_t>(std::min<std::int64_t>(n, 0xFFFF)); }

/// One op of a layer, with what the host does to launch it.
struct LayerOp {
  std::string name;
  graph::Op op;
  graph::Dispatch dispatch;
  bool casts_gradient = false;  ///< of a weight: it goes where the weight gradient goes
  bool blocks_host = false;     ///< the host waits for it, to read a number
  double useful = 1;            ///< of its operations: the rest is of zeros that fill up its sizes
};

/// One weight tensor.
struct Parameter {
  std::string name;
  std::int64_t elements = 0;
};

struct Layer {
  std::string name;
  std::vector<LayerOp> forward;
  std::vector<LayerOp> backward;      ///< in launch order
  std::vector<Parameter> parameters;  ///< in order of registration
  std::int64_t saved_bytes = 0;       ///< activations of a rank kept from forward to backward
  std::int64_t input_bytes = 0;       ///< of the layer's input; needed where a block starts
  int block = kNoBlock;               ///< layers of one checkpointed block have the same number
  static constexpr int kNoBlock = -1;
};

/// The layers of a stack in forward order, for one number of samples. Shapes depend on the samples, weights do not.
using LayerFactory = std::function<std::vector<Layer>(std::int64_t samples)>;

/// What every layer needs to know.
struct LayerContext {
  Numerics numerics;
  const FrameworkSpec* framework = nullptr;
};

/// Useful operations, without those of padding, of the matrix products, convolutions, attention and interactions of a forward pass. A multiply-add
/// counts 2.
double matrix_flops(const std::vector<LayerOp>& ops);
double forward_matrix_flops(const std::vector<Layer>& layers);

/// Nodes of autograd that an eager framework runs for a layer's weights, beside those of its kernels: one that adds up each
/// gradient, and one for the view of a weight that is transposed.
std::uint16_t weight_nodes(const LayerContext& context, int weights, bool transposed = false);

std::int64_t parameters_of(const Layer& layer);
std::int64_t parameters_of(const std::vector<Layer>& layers);
std::int64_t tensors_of(const std::vector<Layer>& layers);
std::int64_t saved_bytes_of(const std::vector<Layer>& layers);

// The common layers. `rows` is samples, or tokens. Names of ops are "<layer>.<what>", with ".dgrad" and ".wgrad" for
// the gradients.

enum class Activation : std::uint8_t { none, relu, gelu, sigmoid };

struct Linear {
  std::string name;
  std::int64_t rows = 0, in = 0, out = 0;
  bool bias = true;
  bool bias_in_product = false;  ///< added by the product's kernel, in any precision
  Activation activation = Activation::none;
  bool input_gradient = true;  ///< false for the first layer of a network
  bool owns_weight = true;     ///< false where the weight is tied to another layer's
  std::int64_t padded_in = 0;  ///< inner size of the product where the framework pads it; 0: in
};

/// Forward: product, bias, activation. Backward: activation, bias gradient, weight gradient, data gradient.
Layer linear_layer(const Linear& shape, const LayerContext& context);

/// A stack of linear layers with ReLU between them; the last has `last`.
std::vector<Layer> mlp_layers(const std::string& name, std::int64_t rows, std::int64_t inputs,
                              const std::vector<std::int64_t>& widths, Activation last, bool input_gradient,
                              const LayerContext& context);

/// One elementwise kernel each way: `reads` and `writes` in tensors of `elements`.
LayerOp elementwise(std::string name, std::int64_t elements, double reads, double writes, double flops,
                    graph::DType dtype, graph::Dispatch dispatch = {1, 1});

/// The cast of fp32 weights before use, where the framework does it; appended to `ops`.
void append_weight_cast(std::vector<LayerOp>& ops, const std::string& name, std::int64_t elements, int tensors,
                        const LayerContext& context);
/// The cast of 16-bit weight gradients to fp32 after them.
void append_gradient_cast(std::vector<LayerOp>& ops, const std::string& name, std::int64_t elements, int tensors,
                          const LayerContext& context);

}  // namespace distsim::workload
