#include "sim/workload/dlrm/dlrm_layers.hpp"

namespace distsim::workload {
namespace {

Error wrong(const std::string& key, const std::string& found, const std::string& expected,
            const std::string& hint = "") {
  return Error{"model.dlrm." + key + ": found " + found + ", expected " + expected, "", hint};
}

Result<void> check_sizes(const DlrmSpec& spec) {
  double elements = 0, tables = 0;
  for (std::size_t i = 0; i < spec.tables.size(); ++i) {
    const TableSpec& t = spec.tables[i];
    const std::string key = "tables[" + std::to_string(i) + "]";
    if (t.rows < 1) return wrong(key + ".rows", std::to_string(t.rows), "1 or more");
    if (t.count < 1 || t.features < 1)
      return wrong(key + ".count", std::to_string(t.count) + " of " + std::to_string(t.features) + " features",
                   "1 or more");
    if (!(t.pooling_factor > 0)) return wrong(key + ".pooling_factor", std::to_string(t.pooling_factor), "more than 0");
    tables += static_cast<double>(t.count);
    elements += static_cast<double>(t.count) * static_cast<double>(t.rows) *
                static_cast<double>(t.dim > 0 ? t.dim : spec.embedding_dim);
  }
  if (tables > 200'000)
    return wrong("tables", std::to_string(static_cast<std::int64_t>(tables)) + " tables", "at most 200000");
  if (elements > 1e17) return wrong("tables", std::to_string(elements) + " elements in total", "at most 1e17");
  return {};
}

Result<void> check_dot(const DlrmSpec& spec, const DlrmShape& shape) {
  for (std::size_t i = 0; i < spec.tables.size(); ++i) {
    const std::int64_t dim = spec.tables[i].dim;
    if (dim != 0 && dim != spec.embedding_dim) {
      return wrong("tables[" + std::to_string(i) + "].dim", std::to_string(dim),
                   std::to_string(spec.embedding_dim) + " like embedding_dim: dot needs vectors of equal length",
                   "interaction: concat accepts any length");
    }
  }
  if (shape.inputs() < 2)
    return wrong("dense_features", "0 beside a single vector", "1 or more: dot needs two vectors of a sample");
  if (shape.bottom_width == 0 || shape.bottom_width == spec.embedding_dim) return {};
  return wrong("bottom_mlp", "an output of " + std::to_string(shape.bottom_width),
               std::to_string(spec.embedding_dim) + " like embedding_dim: dot needs vectors of equal length");
}

std::int64_t output_width(const DlrmSpec& spec, const DlrmShape& s) {
  switch (spec.interaction) {
    case InteractionKind::dot:
      return s.inputs() * (s.inputs() - 1) / 2 + s.bottom_width;
    case InteractionKind::dcn_v2:
      return s.embedding_width + s.bottom_width;
    case InteractionKind::concat:
      return s.embedding_width / spec.concat_stride + s.bottom_width;
  }
  CHECK(false) << "interaction " << static_cast<int>(spec.interaction);
  return 0;
}

Layer dot_layer(const DlrmSpec& spec, const DlrmShape& shape, std::int64_t samples, const LayerContext& c) {
  graph::Interaction op;
  op.batch = samples;
  op.features = shape.inputs();
  op.dim = spec.embedding_dim;
  op.dtype = c.numerics.activation;
  op.fused = c.framework->embedding.fused_interaction;
  Layer layer;
  layer.name = "interaction";
  // Unfused in PyTorch: cat, transpose, bmm, index, cat; backward: two slices, index (11 launches), two bmm, adds.
  layer.forward.push_back({"interaction", op, op.fused ? graph::Dispatch{1, 1} : graph::Dispatch{5, 5}});
  op.pass = graph::Pass::backward;
  layer.backward.push_back({"interaction.dgrad", op, op.fused ? graph::Dispatch{1, 1} : graph::Dispatch{6, 18}});
  layer.saved_bytes = samples * op.features * op.dim * graph::size_of(op.dtype);
  return layer;
}

Layer concat_layer(std::int64_t width, std::int64_t pieces, std::int64_t samples, const LayerContext& c) {
  graph::Concat op;
  op.bytes = samples * width * graph::size_of(c.numerics.activation);
  op.pieces = pieces;
  Layer layer;
  layer.name = "concat";
  layer.forward.push_back({"concat", op, {1, 1}});
  layer.backward.push_back({"concat.dgrad", op, {1, 1}});
  return layer;
}

Layer pooling_layer(std::int64_t width, std::int64_t stride, std::int64_t samples, const LayerContext& c) {
  Layer layer;
  layer.name = "average_pooling";
  const std::int64_t elements = samples * width;
  const double share = 1.0 / static_cast<double>(stride);
  layer.forward.push_back(elementwise("average_pooling", elements, 1, share, 1, c.numerics.activation, {2, 1}));
  layer.backward.push_back(elementwise("average_pooling.dgrad", elements, share, 1, 1, c.numerics.activation, {2, 1}));
  return layer;
}

/// A call for each product and pointwise kernel, or one where the layer is the framework's own.
graph::Dispatch cross_dispatch(const graph::CrossLayer& op, std::uint16_t products) {
  const auto kernels = capped(products + static_cast<std::int64_t>(op.pointwise_kernels()));
  return {op.fusion == graph::CrossFusion::epilogues ? std::uint16_t{1} : kernels, kernels};
}

Layer cross_layer(std::int64_t index, std::int64_t width, std::int64_t rank, std::int64_t samples,
                  const LayerContext& c) {
  graph::CrossLayer op;
  op.batch = samples;
  op.width = width;
  op.rank = rank;
  op.dtype = c.numerics.matrix;
  op.fusion = c.framework->kernels.fuse_epilogue      ? graph::CrossFusion::epilogues
              : c.framework->kernels.fuse_elementwise ? graph::CrossFusion::chains
                                                      : graph::CrossFusion::unfused;
  Layer layer;
  layer.name = "cross." + std::to_string(index);
  const std::int64_t weights = rank > 0 ? 2 * width * rank : width * width;
  append_weight_cast(layer.forward, layer.name, weights, rank > 0 ? 2 : 1, c);
  const std::uint16_t products = rank > 0 ? 2 : 1;
  layer.forward.push_back({layer.name, op, cross_dispatch(op, products)});
  op.pass = graph::Pass::backward;
  layer.backward.push_back({layer.name + ".grad", op, cross_dispatch(op, capped(2 * products))});
  append_gradient_cast(layer.backward, layer.name, weights, rank > 0 ? 2 : 1, c);
  if (rank > 0) layer.parameters.push_back({layer.name + ".u", width * rank});
  layer.parameters.push_back({layer.name + ".v", rank > 0 ? rank * width : width * width});
  layer.parameters.push_back({layer.name + ".bias", width});
  layer.saved_bytes = samples * (2 * width + rank) * graph::size_of(c.numerics.activation);
  return layer;
}

/// Forward: reads, writes and stores the mask (kept as numbers of the same type); backward: gradient times mask.
void append_dropout(Layer& layer, std::int64_t elements, const LayerContext& c) {
  layer.forward.push_back(elementwise(layer.name + ".dropout", elements, 1, 2, 8, c.numerics.activation));
  layer.backward.insert(layer.backward.begin(),
                        elementwise(layer.name + ".dropout.dgrad", elements, 2, 1, 1, c.numerics.activation));
  layer.saved_bytes += elements * graph::size_of(c.numerics.activation);
}

Layer loss_layer(std::int64_t samples, const LayerContext& c) {
  graph::Loss op;
  op.kind = graph::LossKind::binary_cross_entropy;
  op.rows = samples;
  op.dtype = c.numerics.mixed ? graph::DType::fp32 : c.numerics.activation;
  Layer layer;
  layer.name = "loss";
  layer.forward.push_back({"loss", op, {2, 2}});
  op.pass = graph::Pass::backward;
  layer.backward.push_back({"loss.dgrad", op, {2, 2}});
  return layer;
}

}  // namespace

Result<DlrmShape> dlrm_shape(const DlrmSpec& spec) {
  if (spec.tables.empty()) return wrong("tables", "none", "at least one table");
  if (spec.top_mlp.empty()) return wrong("top_mlp", "no layers", "at least one");
  TRY(check_sizes(spec));
  DlrmShape shape;
  for (const TableSpec& t : spec.tables) {
    shape.vectors += t.count * t.features;
    shape.embedding_width += t.count * t.features * (t.dim > 0 ? t.dim : spec.embedding_dim);
  }
  const bool has_mlp = spec.dense_features > 0 && !spec.bottom_mlp.empty();
  shape.bottom_width = has_mlp ? spec.bottom_mlp.back() : spec.dense_features;
  if (spec.interaction == InteractionKind::dot) TRY(check_dot(spec, shape));
  if (spec.interaction == InteractionKind::concat && spec.concat_stride > shape.embedding_width)
    return wrong("concat_stride", std::to_string(spec.concat_stride),
                 "at most " + std::to_string(shape.embedding_width) + ", the elements of the concatenated vectors");
  shape.interaction_width = output_width(spec, shape);
  if (spec.interaction == InteractionKind::dcn_v2 && spec.cross_rank > shape.interaction_width)
    return wrong("cross_rank", std::to_string(spec.cross_rank),
                 "0 .. " + std::to_string(shape.interaction_width) + ", the width of a cross layer");
  return shape;
}

std::int64_t cross_rank_of(const DlrmSpec& spec, std::int64_t width) {
  if (spec.cross_rank >= 0) return spec.cross_rank;
  return width > kUsualCrossRank ? kUsualCrossRank : 0;
}

std::vector<Layer> bottom_layers(const DlrmSpec& spec, std::int64_t samples, const LayerContext& c) {
  if (spec.dense_features == 0) return {};
  return mlp_layers("bottom", samples, spec.dense_features, spec.bottom_mlp, Activation::relu, false, c);
}

std::vector<Layer> interaction_layers(const DlrmSpec& spec, const DlrmShape& shape, std::int64_t samples,
                                      const LayerContext& c) {
  if (spec.interaction == InteractionKind::dot) return {dot_layer(spec, shape, samples, c)};
  std::vector<Layer> layers{concat_layer(shape.embedding_width + shape.bottom_width, shape.inputs(), samples, c)};
  if (spec.interaction == InteractionKind::concat && spec.concat_stride > 1) {
    layers.push_back(pooling_layer(shape.embedding_width, spec.concat_stride, samples, c));
  }
  for (std::int64_t i = 0; spec.interaction == InteractionKind::dcn_v2 && i < spec.cross_layers; ++i) {
    layers.push_back(cross_layer(i, shape.interaction_width, cross_rank_of(spec, shape.interaction_width), samples, c));
  }
  return layers;
}

std::vector<Layer> top_layers(const DlrmSpec& spec, const DlrmShape& shape, std::int64_t samples,
                              const LayerContext& c) {
  std::vector<Layer> layers =
      mlp_layers("top", samples, shape.interaction_width, spec.top_mlp, Activation::none, true, c);
  for (std::size_t i = 0; spec.top_dropout && i + 1 < layers.size(); ++i)
    append_dropout(layers[i], samples * spec.top_mlp[i], c);
  layers.push_back(loss_layer(samples, c));
  return layers;
}

}  // namespace distsim::workload
