// Normalisation, softmax, and lookups of rows.
#include <algorithm>

#include "sim/opgraph/makers.hpp"

namespace distsim::opgraph {
namespace {

using graph::Pass;

Ops norm_of(const Dims& x, std::int64_t columns, graph::NormKind kind, graph::DType type, Pass pass) {
  const double elements = product(x);
  if (columns <= 0 || elements < 1) return std::nullopt;
  graph::Normalization op;
  op.kind = kind;
  op.rows = count(elements / static_cast<double>(columns)), op.cols = columns;
  op.dtype = type;
  op.pass = pass;
  return std::vector<graph::Op>{op};
}

/// Elements of a row: the product of the sizes that are normalised, else the last of x.
std::int64_t row_of(const Call& call, std::size_t x, std::size_t place) {
  double row = 1;
  const std::vector<std::int64_t> listed = call.list_at(place);
  for (const std::int64_t n : listed) row *= static_cast<double>(n);
  const Dims dims = call.in(x);
  if (listed.empty()) return dims.empty() ? 0 : dims.back();
  return row >= 1 && row <= product(dims) ? count(row) : 0;
}

Ops rows_of(const Call& call, std::size_t x, std::size_t place, graph::NormKind kind, Pass pass) {
  if (!call.has(x)) return std::nullopt;
  return norm_of(call.in(x), row_of(call, x, place), kind, call.type(x), pass);
}

Ops fused(Ops ops) {
  if (ops) std::get<graph::Normalization>(ops->front()).fused = true;
  return ops;
}

/// x is [images, channels, ...]; the op's columns are the channels.
Ops channels_of(const Call& call, graph::NormKind kind, Pass pass) {
  if (!call.has(0) || call.in(0).size() < 2) return std::nullopt;
  return norm_of(call.in(0), call.in(0)[1], kind, call.type(0), pass);
}

/// Softmax(x, dim): rows along `dim`, counted from the end where it is negative.
Ops softmax_of(const Call& call, std::size_t dim_place, Pass pass) {
  if (!call.has(0)) return std::nullopt;
  const Dims x = call.in(0);
  if (x.empty()) return std::nullopt;
  const auto rank = static_cast<double>(x.size());
  double dim = call.number_at(dim_place, rank - 1);
  if (dim < 0) dim += rank;
  if (!(dim >= 0 && dim < rank)) return std::nullopt;
  const std::int64_t columns = x[static_cast<std::size_t>(dim)];
  if (columns <= 0 || product(x) < 1) return std::nullopt;
  graph::Softmax op;
  op.rows = count(product(x) / static_cast<double>(columns)), op.cols = columns;
  op.dtype = call.type(0);
  op.pass = pass;
  return std::vector<graph::Op>{op};
}

/// Looked up with the skew of words; what is popular is not recorded.
constexpr double kUnknownSkew = 1.0;

Ops lookup_of(const Call& call, std::int64_t rows, std::int64_t width, double bags, double ids, graph::DType type,
              Pass pass) {
  if (rows <= 0 || width <= 0 || ids < 1 || bags < 1) return std::nullopt;
  const bool pooled = ids > bags;
  graph::EmbeddingBag op;
  op.tables = {{rows, width, ids / bags, kUnknownSkew}};
  op.batch = count(bags);
  op.weights = op.output = type;
  op.pass = pass;
  op.optimizer = graph::EmbeddingOptimizer::none;
  op.update = pooled || call.node().op.find("bag") != std::string::npos ? graph::SparseUpdate::fused
                                                                        : graph::SparseUpdate::sort_dedup;
  return std::vector<graph::Op>{op};
}

}  // namespace

Ops make_layer_norm(const Call& call, double) { return rows_of(call, 0, 1, graph::NormKind::layer, Pass::forward); }
Ops make_fused_layer_norm(const Call& call, double) {
  return fused(rows_of(call, 0, 3, graph::NormKind::layer, Pass::forward));
}
Ops make_fused_rms_norm(const Call& call, double) {
  return fused(rows_of(call, 0, 2, graph::NormKind::rms, Pass::forward));
}
Ops make_layer_norm_backward(const Call& call, double) {
  return rows_of(call, 1, 2, graph::NormKind::layer, Pass::backward);
}
Ops make_rms_norm(const Call& call, double) { return rows_of(call, 0, 1, graph::NormKind::rms, Pass::forward); }
Ops make_rms_norm_backward(const Call& call, double) {
  return rows_of(call, 1, 2, graph::NormKind::rms, Pass::backward);
}
Ops make_batch_norm(const Call& call, double) { return channels_of(call, graph::NormKind::batch, Pass::forward); }
Ops make_batch_norm_backward(const Call& call, double) {
  return channels_of(call, graph::NormKind::batch, Pass::backward);
}

/// native_group_norm(x, weight, bias, N, C, HxW, groups, eps): rows are the groups of an image.
Ops make_group_norm(const Call& call, double) {
  const double row = call.number_at(4, 0) * call.number_at(5, 0) / std::max(1.0, call.number_at(6, 1));
  if (!call.has(0) || !(row >= 1)) return std::nullopt;
  return norm_of(call.in(0), count(row), graph::NormKind::layer, call.type(0), Pass::forward);
}
/// native_group_norm_backward(dy, x, mean, rstd, weight, N, C, HxW, groups, mask).
Ops make_group_norm_backward(const Call& call, double) {
  const double row = call.number_at(6, 0) * call.number_at(7, 0) / std::max(1.0, call.number_at(8, 1));
  if (!call.has(1) || !(row >= 1)) return std::nullopt;
  return norm_of(call.in(1), count(row), graph::NormKind::layer, call.type(1), Pass::backward);
}

Ops make_softmax(const Call& call, double) { return softmax_of(call, 1, Pass::forward); }
Ops make_softmax_backward(const Call& call, double) { return softmax_of(call, 2, Pass::backward); }

/// embedding(weight, ids).
Ops make_embedding(const Call& call, double) {
  if (!call.has(1) || call.in(0).size() != 2) return std::nullopt;
  const double ids = product(call.in(1));
  return lookup_of(call, call.in(0)[0], call.in(0)[1], ids, ids, call.type(0), Pass::forward);
}

/// embedding_dense_backward(gradient, ids, rows, ...): a gradient of the whole table, zeroed and added to.
Ops make_embedding_backward(const Call& call, double) {
  if (!call.has(1) || call.in(0).empty()) return std::nullopt;
  const double ids = product(call.in(1));
  return lookup_of(call, count(call.number_at(2, 0)), call.in(0).back(), ids, ids, call.type(0), Pass::backward);
}

/// _embedding_bag(weight, ids, offsets, ...).
Ops make_embedding_bag(const Call& call, double) {
  if (!call.has(2) || call.in(0).size() != 2) return std::nullopt;
  return lookup_of(call, call.in(0)[0], call.in(0)[1], product(call.in(2)), product(call.in(1)), call.type(0),
                   Pass::forward);
}

/// _embedding_bag_dense_backward(gradient, ids, ...): a gradient of the whole table, whose rows its result has; a row of
/// the gradient for every bag.
Ops make_embedding_bag_backward(const Call& call, double) {
  if (!call.has(1) || call.in(0).empty() || call.outputs().empty() || call.out().size() != 2) return std::nullopt;
  return lookup_of(call, call.out()[0], call.out()[1], static_cast<double>(call.in(0)[0]), product(call.in(1)),
                   call.type(0), Pass::backward);
}

}  // namespace distsim::opgraph
