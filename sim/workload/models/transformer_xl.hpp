// Transformer-XL (Dai et al. 2019, arXiv 1901.02860): relative attention over the segment and a memory of earlier ones,
// adaptive softmax.
#pragma once

#include <vector>

#include "base/config/schema.hpp"
#include "sim/workload/layers/layer.hpp"

namespace distsim::workload {

struct TransformerXlSpec {
  std::int64_t layers = 16, hidden = 512, heads = 8, head_dim = 64, ffn_hidden = 2048;
  std::int64_t target_length = 192, memory_length = 192;
  std::int64_t vocabulary = 267735;
  std::vector<std::int64_t> cutoffs{20000, 40000, 200000};
  std::int64_t div_value = 1;
  double tail_tokens = 0.065;
  double tail_exponent = 1.8;
  bool dropout = true;
};
Schema<TransformerXlSpec> transformer_xl_schema();

/// A cluster of the adaptive softmax: words [begin, end) by falling frequency, embedded in `width` elements; `share` of
/// the tokens fall into it.
struct VocabularyCluster {
  std::int64_t begin = 0, end = 0, width = 0;
  double share = 0;
  std::int64_t words() const { return end - begin; }
};

/// Widths shrink by `div_value` from cluster to cluster. Tails share `tail_tokens` of all tokens by a power law of rank
/// with exponent `tail_exponent`.
std::vector<VocabularyCluster> vocabulary_clusters(const TransformerXlSpec& spec);

/// Forward order: embedding, blocks, adaptive softmax (logits of the first cluster and of the clusters for every token,
/// tails for their own tokens). Keys and values are computed over memory + segment, queries for the segment. With h
/// width, a = heads x head_dim, f inner width, L blocks:
///   block 5 h a + 2 h f + f + h + 4 h (q, k, v, positions and output without bias, MLP with); position biases 2 a,
///   shared by all blocks; cluster words x width, and h x width where widths differ; softmax bias words, and (clusters
///   - 1) (h + 1) for the clusters' own logits.
/// The softmax is tied to the embedding, and so are the tails' projections.
std::vector<Layer> transformer_xl_layers(const TransformerXlSpec& spec, std::int64_t samples,
                                         const LayerContext& context);

}  // namespace distsim::workload
