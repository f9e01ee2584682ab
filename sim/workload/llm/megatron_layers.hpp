// Layers of a Megatron-style GPT on one rank: the kernels of its share, and the collectives between them.
//
// A block on one of t tensor-parallel ranks, T tokens of width h (arXiv 1909.08053, 2205.05198 for sequence parallel):
//   norm, [gather], qkv T x h x 3h/t, attention of heads/t, projection T x h/t x h, reduce, residual,
//   norm, [gather], up T x h x f/t, gelu, down T x f/t x h, reduce, residual
// reduce: all-reduce of T h, or with sequence parallel reduce-scatter, and norms and residuals on T/t tokens. Backward
// the transposes: as many of each. Experts (arXiv 2101.03961): router T x h x E; all-to-all of top_k T h to the
// experts' owners and back, each way in both passes.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/workload/layers/layer.hpp"
#include "sim/workload/llm/megatron_spec.hpp"

namespace distsim::workload {

/// A collective of a layer, on the tensor-parallel or the expert-parallel group.
struct LayerExchange {
  graph::CollectiveKind kind = graph::CollectiveKind::all_reduce;
  std::int64_t bytes = 0;
  bool experts = false;
};

/// Parts of a model that a pipeline cuts: the embedding goes to the first stage, the head to the last.
enum class ModelPart : std::uint8_t { embedding, blocks, head };
inline constexpr ModelPart kModelParts[] = {ModelPart::embedding, ModelPart::blocks, ModelPart::head};

/// Embedding, the blocks of one chunk of a pipeline's stage, and head, on one rank; and what follows each layer on the
/// wire.
struct SplitLayers {
  std::vector<Layer> layers;
  std::vector<std::vector<LayerExchange>> after_forward, after_backward;  ///< by layer
  std::vector<bool> of_expert;     ///< by layer: its weights are an expert's, which expert parallelism splits
  std::vector<int> block;          ///< by layer: 0 embedding, 1 .. the blocks, the last one the head
  std::int64_t message_bytes = 0;  ///< what a rank passes on to the next stage, and back
  std::int64_t tied_elements = 0;  ///< of the word embedding, which a last stage of its own holds a copy of

  ModelPart part_of(std::size_t layer) const {
    return block[layer] == 0              ? ModelPart::embedding
           : block[layer] == block.back() ? ModelPart::head
                                          : ModelPart::blocks;
  }
  std::int64_t parameters(ModelPart part) const;
  std::int64_t tensors(ModelPart part) const;
  double forward_flops(ModelPart part) const;  ///< of matrix products
  /// Bytes from forward to backward; with checkpointing the blocks' inputs.
  std::int64_t kept(ModelPart part, bool checkpointed) const;
  std::int64_t largest_whole(ModelPart part) const;  ///< bytes of the largest block, as it is when recomputed
};

/// `samples` sequences at a time. The spec is that of the whole model; its layers are cut into pipeline x
/// virtual_stages chunks.
SplitLayers split_layers(const MegatronSpec& spec, std::int64_t samples, const LayerContext& context);

}  // namespace distsim::workload
