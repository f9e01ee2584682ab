// The dense layers of a recommender: bottom MLP, interaction, top MLP.
#pragma once

#include "base/result.hpp"
#include "sim/workload/layers/layer.hpp"
#include "sim/workload/placement/placement.hpp"

namespace distsim::workload {

/// Sizes that follow from a DlrmSpec.
struct DlrmShape {
  std::int64_t vectors = 0;            ///< pooled vectors of a sample, over all tables
  std::int64_t embedding_width = 0;    ///< their elements
  std::int64_t bottom_width = 0;       ///< output of the bottom MLP, or dense_features without one; 0: no such vector
  std::int64_t interaction_width = 0;  ///< input of the top MLP
  /// Vectors that interact: pooled ones and the bottom MLP's.
  std::int64_t inputs() const { return vectors + (bottom_width > 0 ? 1 : 0); }
};

/// Of cross layers that are wider, where no rank is given: that of MLPerf's DLRM-DCNv2.
inline constexpr std::int64_t kUsualCrossRank = 512;

/// Errors: no tables; dot interaction of vectors of different lengths, or of one; a top MLP that is empty; pooling over more
/// elements than there are; a rank above the width of a cross layer; sizes beyond any machine.
Result<DlrmShape> dlrm_shape(const DlrmSpec& spec);

/// Of the two matrices of a cross layer, width x rank; 0: one of width x width, as where no rank is given and the usual one
/// would save nothing.
std::int64_t cross_rank_of(const DlrmSpec& spec, std::int64_t width);

std::vector<Layer> bottom_layers(const DlrmSpec& spec, std::int64_t samples, const LayerContext& context);
std::vector<Layer> interaction_layers(const DlrmSpec& spec, const DlrmShape& shape, std::int64_t samples,
                                      const LayerContext& context);
/// Top MLP and loss.
std::vector<Layer> top_layers(const DlrmSpec& spec, const DlrmShape& shape, std::int64_t samples,
                              const LayerContext& context);

}  // namespace distsim::workload
