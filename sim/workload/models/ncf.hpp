// NeuMF (He et al. 2017, arXiv 1708.05031): matrix factorisation and an MLP over the same users and items, joined by
// one last layer.
#pragma once

#include <vector>

#include "sim/workload/models/layer.hpp"
#include "sim/workload/specs/model_spec.hpp"

namespace distsim::workload {

/// Forward order: the four embeddings, product of the factors, MLP with ReLU, concat, last layer, loss. Every rank
/// holds all tables; their gradients are dense tensors of the tables' size, as torch.nn.Embedding makes them. With f
/// factors, widths m_0 .. m_k (m_0 is the concatenated pair):
///   (users + items) (f + m_0 / 2) + sum (m_i-1 m_i + m_i) + f + m_k + 1
std::vector<Layer> ncf_layers(const NcfSpec& spec, std::int64_t samples, const LayerContext& context);

}  // namespace distsim::workload
