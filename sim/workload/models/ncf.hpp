// NeuMF (He et al. 2017, arXiv 1708.05031): matrix factorisation and an MLP over the same users and items, joined by
// one last layer.
#pragma once

#include <vector>

#include "base/config/schema.hpp"
#include "sim/workload/layers/layer.hpp"

namespace distsim::workload {

struct NcfSpec {
  std::int64_t users = 138493, items = 26744;
  std::int64_t factors = 64;
  std::vector<std::int64_t> mlp{256, 256, 128,
                                64};  ///< the first is the width of the concatenated user and item vectors
  double index_skew = 0.5;
  bool dropout = true;
};
Schema<NcfSpec> ncf_schema();

/// Forward order: the four embeddings, product of the factors, MLP with ReLU, concat, last layer, loss. Every rank
/// holds all tables; their gradients are dense tensors of the tables' size, as torch.nn.Embedding makes them. With f
/// factors, widths m_0 .. m_k (m_0 is the concatenated pair):
///   (users + items) (f + m_0 / 2) + sum (m_i-1 m_i + m_i) + f + m_k + 1
std::vector<Layer> ncf_layers(const NcfSpec& spec, std::int64_t samples, const LayerContext& context);

}  // namespace distsim::workload
