// BERT (arXiv 1810.04805) and GPT-2 style transformers, layer by layer.
#pragma once

#include <vector>

#include "base/config/schema.hpp"
#include "sim/workload/layers/layer.hpp"

namespace distsim::workload {

enum class TransformerKind : std::uint8_t { bert, gpt };

struct TransformerSpec {
  TransformerKind family = TransformerKind::bert;
  std::int64_t layers = 24, hidden = 1024, heads = 16, ffn_hidden = 0;
  std::int64_t sequence = 512, vocabulary = 30522;
  std::int64_t mean_tokens = 0;
  std::int64_t positions = 0;
  std::int64_t predictions = 0;
  bool activation_checkpointing = false;
  bool dropout = true;
  std::int64_t position_rows() const {
    return positions > 0 ? positions : family == TransformerKind::bert && sequence < 512 ? 512 : sequence;
  }
};
Schema<TransformerSpec> transformer_schema();

/// Forward order: embeddings, blocks, head, loss. bert: post-norm blocks, token types, pooler, masked-language head
/// (its matrix is the token embedding) and next-sentence head, as in BertForPreTraining. gpt: pre-norm blocks, final
/// norm, head tied to the token embedding. Parameters, with V tokens, S positions, h width, f inner width, L blocks:
///   block 4 h^2 + 4 h + 2 h f + f + h + 4 h;  bert V h + S h + 2 h + 2 h + L block + 2 (h^2 + h) + 2 h + V + 2 h + 2;
///   gpt V h + S h + L block + 2 h
/// With activation checkpointing each block is one checkpoint.
std::vector<Layer> transformer_layers(const TransformerSpec& spec, std::int64_t samples, const LayerContext& context);

}  // namespace distsim::workload
