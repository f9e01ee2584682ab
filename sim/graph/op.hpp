// Op: the shapes of what a GPU, a link or a host does. Shapes and bytes, no times.
//
// Conventions. `pass` says which kernel of a layer is meant; the shape is always that of the forward pass, except for
// Gemm, whose gradients are given as the products they are. Sizes are in elements unless the name says bytes.
//
// A new op is a struct in ops/ that describes its fields (ops/field.hpp), its place in the variant below, and its model
// (opmodels/registry.hpp).
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "sim/graph/ops/attention.hpp"
#include "sim/graph/ops/collective.hpp"
#include "sim/graph/ops/conv2d.hpp"
#include "sim/graph/ops/embedding_bag.hpp"
#include "sim/graph/ops/gemm.hpp"
#include "sim/graph/ops/given.hpp"
#include "sim/graph/ops/optimizer.hpp"
#include "sim/graph/ops/recommender_layers.hpp"
#include "sim/graph/ops/recurrent.hpp"
#include "sim/graph/ops/row_ops.hpp"
#include "sim/graph/ops/scan.hpp"
#include "sim/graph/ops/streaming.hpp"
#include "sim/graph/ops/unlisted.hpp"

namespace distsim::graph {

/// A new op goes to the end: tables of measured ops name an op by its place (opmodels/measured/op_point.hpp).
using Op = std::variant<Absent, Gemm, Conv2d, EmbeddingBag, Interaction, CrossLayer, Normalization, Softmax, Attention,
                        Elementwise, Loss, Copy, Concat, Transpose, Optimizer, HostWork, Measured, Collective,
                        Recurrent, StateSpaceScan, Sequence, Unlisted>;

inline constexpr std::size_t kOpKinds = std::variant_size_v<Op>;
/// The default of the alternative at `index`. Precondition: index < kOpKinds.
Op default_op(std::size_t index);

/// "gemm", "conv2d", "embedding_bag", ... the word used in reports, CSV files and `distsim list ops`.
std::string_view kind_of(const Op& op);
/// One line for people: "gemm 2048x1024x480 fp16".
std::string describe(const Op& op);
/// Who works it out, and whether a model predicts its time.
Work work_of(const Op& op);
/// Whether it runs as kernels on one GPU, of a predicted or a given time.
bool has_kernels(const Op& op);
/// Useful floating-point operations, for TFLOP/s and MFU: what the mathematics needs, a multiply-add counted as two.
/// What an implementation adds (recomputed attention scores, the upper triangle of an interaction) is not counted, so
/// that MFU means what it means in the PaLM paper (arXiv 2204.02311, appendix B). 0 for copies and collectives.
double flops_of(const Op& op);

}  // namespace distsim::graph
