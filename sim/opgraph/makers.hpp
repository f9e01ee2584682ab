// How calls become ops that a model prices. A maker returns nothing where the shapes are not those it expects.
#pragma once

#include <optional>
#include <vector>

#include "sim/graph/op.hpp"
#include "sim/opgraph/call.hpp"

namespace distsim::opgraph {

using Ops = std::optional<std::vector<graph::Op>>;
using Maker = Ops (*)(const Call& call, double flops);

// Products. `first` in their names: the operands follow a bias or an accumulator.
Ops make_matmul(const Call& call, double flops);        ///< mm, bmm, matmul of any rank
Ops make_matmul_first(const Call& call, double flops);  ///< addmm, baddbmm
Ops make_linear(const Call& call, double flops);
Ops make_trilinear(const Call& call, double flops);       ///< of nn.Bilinear: two products for each slice
Ops make_euclidean_dist(const Call& call, double flops);  ///< of cdist of many rows: one product
Ops make_attention(const Call& call, double flops);
Ops make_attention_backward(const Call& call, double flops);
Ops make_recurrent(const Call& call, double flops);
Ops make_recurrent_backward(const Call& call, double flops);
/// Why the weights, states and results of a call are not those of the layers that it states; empty where they are.
std::string contradiction_of_recurrent(const Call& call);
/// Tensors of values that are one type in a recurrent layer: not the state of dropout, nor what is kept for the backward pass.
struct RecurrentValues {
  std::vector<std::uint32_t> arguments, results;
};
RecurrentValues values_of_recurrent(const Call& call);

/// Why the dimensions that a call states do not exist or do not give its results; empty where they do.
std::string contradiction_of_dimensions(const Call& call);

Ops make_convolution(const Call& call, double flops);
Ops make_convolution_backward(const Call& call, double flops);
Ops make_convolution_backward_cudnn(const Call& call, double flops);
/// Why the tensors and steps of a call cannot be those of one convolution; empty where they can.
std::string contradiction_of_convolution(const Call& call);

Ops make_layer_norm(const Call& call, double flops);
Ops make_fused_layer_norm(const Call& call, double flops);  ///< of Apex: one pass, rows in registers
Ops make_fused_rms_norm(const Call& call, double flops);
Ops make_layer_norm_backward(const Call& call, double flops);
Ops make_rms_norm(const Call& call, double flops);
Ops make_rms_norm_backward(const Call& call, double flops);
Ops make_batch_norm(const Call& call, double flops);
Ops make_batch_norm_backward(const Call& call, double flops);
Ops make_group_norm(const Call& call, double flops);
Ops make_group_norm_backward(const Call& call, double flops);
Ops make_softmax(const Call& call, double flops);
Ops make_softmax_backward(const Call& call, double flops);

Ops make_embedding(const Call& call, double flops);
Ops make_embedding_backward(const Call& call, double flops);
Ops make_embedding_bag(const Call& call, double flops);
Ops make_embedding_bag_backward(const Call& call, double flops);

// Kernels that stream tensors. `flops` for each element.
Ops make_pointwise(const Call& call, double flops);    ///< arguments once, results once
Ops make_elementwise(const Call& call, double flops);  ///< the same, of results that the arguments are broadcast to
Ops make_reduction(const Call& call, double flops);    ///< arguments once, small results
Ops make_fill(const Call& call, double flops);         ///< results only
Ops make_copy(const Call& call, double flops);         ///< also between host and device
Ops make_concat(const Call& call, double flops);
Ops make_gather(const Call& call, double flops);             ///< as many elements read as results have
Ops make_scatter(const Call& call, double flops);            ///< as many elements read and written as are given
Ops make_index_put(const Call& call, double flops);          ///< a scatter; one that adds sorts first
Ops make_scatter_into_copy(const Call& call, double flops);  ///< the same, into a copy of the first tensor
Ops make_passes(const Call& call, double passes);            ///< `passes` reads and writes of the largest tensor: sorts
Ops make_scalar_read(const Call& call, double flops);        ///< one element to the host
Ops make_foreach(const Call& call, double flops);            ///< lists of tensors in few kernels
Ops make_adam(const Call& call, double flops);
Ops make_sgd(const Call& call, double flops);
Ops make_adagrad(const Call& call, double flops);

}  // namespace distsim::opgraph
