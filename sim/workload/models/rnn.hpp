// Recurrent sequence models: encoder and decoder of LSTM or GRU layers with additive attention between them, as GNMT
// (Wu et al. 2016, arXiv 1609.08144); or a language model of recurrent layers alone.
#pragma once

#include "base/config/schema.hpp"
#include "sim/workload/layers/layer.hpp"

namespace distsim::workload {

struct RnnSpec {
  graph::Cell cell = graph::Cell::lstm;
  graph::RecurrentKernels kernels = graph::RecurrentKernels::any;
  std::int64_t encoder_layers = 4, bidirectional_layers = 1, decoder_layers = 4;
  std::int64_t hidden = 1024;
  std::int64_t vocabulary = 32320;
  std::int64_t source_length = 30, target_length = 30;
  std::int64_t residual_from = 2;
  bool attention = true;
  bool shared_embedding = true;
  bool dropout = true;
};
Schema<RnnSpec> rnn_schema();

/// Forward order: encoder, decoder, classifier. With h hidden units, G gates, v words:
///   a layer          G h (input + h + 2) in each direction; its input is h, 2 h after a bidirectional layer, and 2 h in
///                    decoder layers after the first, which take the attention's context beside the output before
///   attention        2 h h + h: keys once per source word, queries once per target word, scores over h (tanh)
///   embedding v h, once if shared; classifier v h + v
std::vector<Layer> rnn_layers(const RnnSpec& spec, std::int64_t samples, const LayerContext& context);

}  // namespace distsim::workload
