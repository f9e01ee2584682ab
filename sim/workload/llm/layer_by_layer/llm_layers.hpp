// The layers of a dense language model that every GPU holds in whole: BERT (arXiv 1810.04805) and GPT-2.
#pragma once

#include <vector>

#include "sim/workload/layers/layer.hpp"
#include "sim/workload/llm/llm_spec.hpp"

namespace distsim::workload {

/// Whether llm_layers can express the architecture: dense, with full attention of as many heads of keys as of queries,
/// layer norms, biases everywhere, a table of positions and tied embeddings; trained in whole, on samples that are not
/// packed.
bool has_plain_layers(const LlmSpec& spec);

/// Forward order: embeddings, blocks, head, loss. An encoder has post-norm blocks, token types, pooler, masked-language
/// head (its matrix is the token embedding) and next-sentence head, as in BertForPreTraining; otherwise blocks are
/// pre-norm, with a final norm and a head tied to the token embedding. Parameters, with V tokens, S positions, h width, f
/// inner width, L blocks:
///   block 4 h^2 + 4 h + 2 h f + f + h + 4 h;  encoder V h + S h + 2 h + 2 h + L block + 2 (h^2 + h) + 2 h + V + 2 h + 2;
///   otherwise V h + S h + L block + 2 h
/// Each of the first `recomputed` blocks is one checkpoint.
std::vector<Layer> llm_layers(const LlmSpec& spec, std::int64_t samples, const LayerContext& context,
                              std::int64_t recomputed = 0);

}  // namespace distsim::workload
