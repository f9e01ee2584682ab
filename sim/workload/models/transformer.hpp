// BERT (arXiv 1810.04805) and GPT-2 style transformers, layer by layer.
#pragma once

#include <vector>

#include "sim/workload/models/layer.hpp"
#include "sim/workload/specs/model_spec.hpp"

namespace distsim::workload {

/// Forward order: embeddings, blocks, head, loss. bert: post-norm blocks, token types, pooler, masked-language head
/// (its matrix is the token embedding) and next-sentence head, as in BertForPreTraining. gpt: pre-norm blocks, final
/// norm, head tied to the token embedding. Parameters, with V tokens, S positions, h width, f inner width, L blocks:
///   block 4 h^2 + 4 h + 2 h f + f + h + 4 h;  bert V h + S h + 2 h + 2 h + L block + 2 (h^2 + h) + 2 h + V + 2 h + 2;
///   gpt V h + S h + L block + 2 h
/// With activation checkpointing each block is one checkpoint.
std::vector<Layer> transformer_layers(const TransformerSpec& spec, std::int64_t samples, const LayerContext& context);

}  // namespace distsim::workload
