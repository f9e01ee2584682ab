// What one rank runs of a block of a language model for one micro-batch: kernels, and collectives between the ranks that
// split it.
//
// A block on one of t tensor-parallel and c context-parallel ranks, T = micro_batch x sequence / c tokens of width h
// (arXiv 1909.08053, 2205.05198 for sequence parallel), with q and k the widths of all queries and of all keys:
//   norm, [gather], qkv T x h x (q + 2 k)/t, rotary, attention of heads/t, projection T x q/t x h, reduce, residual,
//   norm, [gather], up T x h x f/t (twice that where gated), activation, down T x f/t x h, reduce, residual
// reduce: all-reduce of T h, or with sequence parallel reduce-scatter, and norms and residuals on T/t tokens. Backward
// each product is two (data and weight gradient), and the collectives are the transposes; with sequence parallel the
// inputs of the first products are gathered again. Experts (arXiv 2101.03961): router T x h x E; all-to-all of top_k T h
// to the experts' owners and back, each way in both passes; the products of a rank's experts as grouped ones.
// Where fewer ranks share an expert than share the other layers (expert_tensor e, 1 < e < t), each has T/t tokens of its own: the e
// ranks gather what was sent to them before the products, and reduce and scatter the results after them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/graph/op.hpp"
#include "sim/workload/llm/llm_spec.hpp"
#include "sim/workload/specs/framework_spec.hpp"
#include "sim/workload/specs/numerics.hpp"

namespace distsim::workload {

/// The ranks that a collective of a block runs over.
enum class Axis : std::uint8_t { tensor, context, expert, expert_tensor };
std::string_view name_of(Axis axis);

/// A collective of a block. `hidden`: kernels of the same pass run meanwhile.
struct Wire {
  Axis axis = Axis::tensor;
  graph::CollectiveKind kind = graph::CollectiveKind::all_reduce;
  std::int64_t bytes = 0;
  bool hidden = false;
  auto operator<=>(const Wire&) const = default;
};

/// A pass of some blocks: ops with how many times they run, collectives likewise, and what the host does for them.
struct PassWork {
  std::vector<std::pair<graph::Op, double>> ops;
  std::vector<std::pair<Wire, double>> wires;
  double calls = 0, kernels = 0;
  void add(const PassWork& other, double times);
  /// What is left without a part of it, whose ops are among its own.
  PassWork without(const PassWork& part) const;
  double matrix_flops() const;  ///< of products and attention
};

/// What a rank holds and does of a part of the model.
struct PartWork {
  PassWork forward, backward;                    ///< backward with what is computed again
  PassWork inputs, weights;                      ///< of backward: what finds the gradients of weights, and the rest
  PassWork repeated;                             ///< of backward: the kernels of the forward pass that it runs again
  double forward_flops = 0;                      ///< useful ones of a forward pass
  double repeated_flops = 0;                     ///< of these, what the backward pass computes again
  double dense = 0, expert = 0;                  ///< weights; of experts
  double trained_dense = 0, trained_expert = 0;  ///< of them, those that have gradients
  double tensors = 0;                            ///< of what is trained
  double kept = 0;                               ///< bytes from forward to backward
  double movable = 0;  ///< of these, what blocks keep, which offload moves; what both ends of a model keep stays
  double working = 0;  ///< bytes that are there besides while it runs: what is computed again
  double trained() const { return trained_dense + trained_expert; }
};

/// Sizes that all blocks share.
struct LlmShape {
  const LlmSpec& spec;
  const ParallelSpec& parallel;  ///< with nothing left automatic
  const FrameworkSpec& framework;
  Numerics numerics;
  std::int64_t tensor = 1, context = 1, expert = 1, expert_tensor = 1;
  std::int64_t samples = 1;         ///< of a micro-batch
  std::int64_t micro_steps = 1;     ///< that use weights which are cast to 8 bits once
  bool sums_gradients = false;      ///< whole ones, over micro-steps
  std::int64_t expert_domains = 1;  ///< NVLink domains that the experts of a layer are spread over
  bool infers = false;              ///< a forward pass without loss

  std::int64_t tokens() const;                 ///< of a rank's context
  std::int64_t shared() const;                 ///< of norms and residuals: with sequence parallel 1/t of them
  std::int64_t tokens_of(bool decoder) const;  ///< of a block of the decoder; without one all are as `tokens`
};

PartWork embedding_work(const LlmShape& shape);
/// `recompute`: none, or what is computed again in this block.
PartWork block_work(const LlmShape& shape, const BlockKind& kind, const Recompute& recompute, bool decoder);
PartWork head_work(const LlmShape& shape);
/// Multi-token prediction: a product that joins two streams, a block and the head once more.
PartWork mtp_work(const LlmShape& shape, const Recompute& recompute);

/// Kernels of an optimizer step on a rank that updates so many parameters in so many tensors: the norm of the gradients, and
/// the update, of the 16-bit weights themselves where there are no fp32 copies.
struct UpdateKernels {
  graph::Elementwise norm;
  graph::Optimizer step;
};
UpdateKernels update_kernels(const ModelSpec& model, const FrameworkSpec& framework, std::int64_t parameters,
                             std::int64_t tensors);

/// Bytes that go from a stage of a pipeline to the next, of one rank.
std::int64_t message_bytes(const LlmShape& shape);

/// Of a collective, what nothing hides. Of a hidden one in chunks that is its last chunk; gathers for tensor parallelism hide
/// all of it: the first product needs none of what is gathered, and the last chunk arrives before the last product begins.
double exposed_share(const Wire& wire, std::int64_t tensor, std::int64_t context, std::int64_t micro_steps);

}  // namespace distsim::workload
