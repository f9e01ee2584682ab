// The layers of a language model as Hugging Face's transformers runs them in eager mode (version 4.x on torch 2.x), kernel
// by kernel.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/workload/layers/layer.hpp"
#include "sim/workload/llm/llm_spec.hpp"

namespace distsim::workload {

/// What of the architecture the class of `model_type` does not have: "positions: found rope, expected learned for
/// model_type: gpt2"; nothing where it has all.
std::optional<std::string> unlike_its_class(const LlmSpec& spec);

/// Tensors that a pointwise kernel reads and writes, in tensors of its elements.
struct PointwiseTraffic {
  double reads, writes;
};
/// Of gpt2's activation, in eager mode.
std::span<const PointwiseTraffic> gelu_new_kernels();
std::span<const PointwiseTraffic> gelu_new_gradient_kernels();

/// Forward order, without a loss of which the class knows nothing but cross entropy over all logits.
///
///   bert     post-norm; scores divided by sqrt(d), mask added, softmax, dropout; gelu in one kernel; BertForPreTraining,
///            with head and next-sentence head over all tokens where `masked_head`, else a classifier
///   gpt2     pre-norm; joint qkv; scores divided, causal mask by `where`; gelu_new, of 8 kernels
///   opt      pre-norm; queries scaled, mask added, scores kept above the least number by `max` (whose gradient is 5
///            kernels); no dropout on them; relu
///   switch_transformers   T5's blocks: norms of 4 kernels over the tokens, a bias of relative positions added to scores;
///            relu; in each sparse layer a loop over the experts, which picks tokens by a mask and waits for their number
///
/// Biases are added inside the product (cuBLASLt, from torch 1.13 on). Queries, keys and values are copied where batches have
/// several samples (torch.matmul makes batches of matrices contiguous), the result always.
std::vector<Layer> transformers_layers(const LlmSpec& spec, std::int64_t samples, const LayerContext& context,
                                       std::int64_t recomputed, bool masked_head);

}  // namespace distsim::workload
