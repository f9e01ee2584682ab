// DlrmSpec: a recommender, as in the section `dlrm` of configs/models. What each key means is said in dlrm_schema.cpp;
// how its tables are split, in sim/workload/specs/table_split.hpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/config/schema.hpp"
#include "sim/graph/op.hpp"

namespace distsim::workload {

struct TableSpec {
  std::int64_t rows = 0;
  std::int64_t dim = 0;
  double pooling_factor = 1;
  double alpha = -1;
  std::int64_t features = 1;
  std::int64_t count = 1;
};

enum class InteractionKind : std::uint8_t { dot, dcn_v2, concat };

struct DlrmSpec {
  std::int64_t dense_features = 13;
  std::int64_t embedding_dim = 128;
  std::vector<std::int64_t> bottom_mlp{512, 256, 128};
  std::vector<std::int64_t> top_mlp{1024, 1024, 512, 256, 1};
  InteractionKind interaction = InteractionKind::dot;
  std::int64_t cross_layers = 3, cross_rank = -1;  ///< rank -1: not given, see cross_rank_of
  std::int64_t concat_stride = 1;
  bool top_dropout = false;

  std::vector<TableSpec> tables;
  double index_skew = 1.05;
  graph::DType embedding_dtype = graph::DType::fp32;
  std::optional<graph::DType> exchange_dtype;  ///< none: that of the activations
  graph::EmbeddingOptimizer embedding_optimizer = graph::EmbeddingOptimizer::sgd;

  std::int64_t swept_parameters = 0;
};

Schema<DlrmSpec> dlrm_schema();
/// Popularity, types and optimizer of tables alone: index_skew, embedding_dtype, exchange_dtype, embedding_optimizer.
Schema<DlrmSpec> lookup_schema(const std::string& section);

}  // namespace distsim::workload
