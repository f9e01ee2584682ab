#include "sim/workload/transformer.hpp"

#include "sim/workload/data_parallel.hpp"

namespace distsim {
namespace {

class Builder {
 public:
  Builder(const TransformerSpec& spec, std::int64_t samples, const LayerContext& context)
      : s_(spec), c_(context), n_(samples), h_(spec.hidden), ffn_(spec.ffn_hidden > 0 ? spec.ffn_hidden : 4 * spec.hidden), tokens_(samples * spec.sequence) {}

  std::vector<Layer> build() {
    embeddings();
    for (std::int64_t i = 0; i < s_.layers; ++i) add_block(i);
    if (bert()) bert_heads();
    else gpt_head();
    return std::move(layers_);
  }

 private:
  bool bert() const { return s_.family == "bert"; }
  bool fused() const { return c_.framework->fuse_elementwise; }
  DType dtype() const { return c_.numerics.activation; }
  std::int64_t bytes(std::int64_t elements) const { return elements * size_of(dtype()); }
  Layer& push(std::string name) {
    layers_.emplace_back().name = std::move(name);
    return layers_.back();
  }

  /// Token, position (and type) lookups and their sum. The token matrix is also the head's, so its two gradients are added here, where the second is ready.
  void embeddings() {
    EmbeddingBag lookup;
    lookup.tables = {{s_.vocabulary, h_, 1, 1.0}};
    lookup.batch = tokens_;
    lookup.output = dtype();
    lookup.optimizer = EmbeddingOptimizer::none;
    lookup.update = SparseUpdate::sort_dedup;
    Layer& layer = push("embeddings");
    const std::int64_t kinds = bert() ? 3 : 2;
    const auto calls = static_cast<std::uint16_t>(kinds);
    layer.forward.push_back({"embeddings.tokens", lookup, {1, 1}});
    layer.forward.push_back(elementwise("embeddings.add", tokens_ * h_, static_cast<double>(kinds), 1, 1, dtype(), {static_cast<std::uint16_t>(2 * calls - 2), calls}));
    lookup.pass = Pass::backward;
    layer.backward.push_back({"embeddings.tokens.wgrad", lookup, {1, 4}});
    layer.backward.push_back(elementwise("embeddings.tied.wgrad", s_.vocabulary * h_, 2, 1, 1, c_.numerics.gradient, {static_cast<std::uint16_t>(1 + calls), calls}));
    layer.parameters = {{"embeddings.tokens", s_.vocabulary * h_}, {"embeddings.positions", s_.position_rows() * h_}};
    if (bert()) layer.parameters.push_back({"embeddings.types", 2 * h_});
    if (bert()) layer_norm("embeddings.norm", tokens_);
    if (s_.dropout) dropout("embeddings.dropout", tokens_ * h_);
  }

  void add_block(std::int64_t index) {
    const std::size_t first = layers_.size();
    const std::string name = "block" + std::to_string(index);
    if (bert()) {
      attention(name);
      residual(name + ".attention");
      layer_norm(name + ".attention.norm", tokens_);
      feed_forward(name);
      residual(name + ".mlp");
      layer_norm(name + ".mlp.norm", tokens_);
    } else {
      layer_norm(name + ".attention.norm", tokens_);
      attention(name);
      residual(name + ".attention");
      layer_norm(name + ".mlp.norm", tokens_);
      feed_forward(name);
      residual(name + ".mlp");
    }
    if (!s_.activation_checkpointing) return;
    layers_[first].input_bytes = bytes(tokens_ * h_);
    for (std::size_t i = first; i < layers_.size(); ++i) layers_[i].block = static_cast<int>(index);
  }

  void linear(std::string name, std::int64_t rows, std::int64_t in, std::int64_t out, Activation activation = Activation::none, bool owns_weight = true,
              bool bias = true) {
    Linear shape;
    shape.name = std::move(name);
    shape.rows = rows;
    shape.in = in;
    shape.out = out;
    shape.activation = activation;
    shape.owns_weight = owns_weight;
    shape.bias = bias;
    layers_.push_back(linear_layer(shape, c_));
  }

  void attention(const std::string& name) {
    if (bert()) {
      for (const char* which : {".query", ".key", ".value"}) linear(name + which, tokens_, h_, h_);
      layers_[layers_.size() - 1].saved_bytes = layers_[layers_.size() - 2].saved_bytes = 0;  // the three share one input
    } else {
      linear(name + ".qkv", tokens_, h_, 3 * h_);
    }
    scores(name);
    linear(name + ".projection", tokens_, h_, h_);
  }

  void scores(const std::string& name) {
    Attention op;
    op.batch = n_;
    op.heads = s_.heads;
    op.q_len = op.kv_len = s_.sequence;
    op.head_dim = h_ / s_.heads;
    op.causal = !bert();
    op.flash = c_.framework->flash_attention;
    op.dropout = s_.dropout;
    op.dtype = dtype();
    Layer& layer = push(name + ".scores");
    // Unfused: 3 head splits, product, scale and mask, softmax, dropout, product, head merge; backward the same and one product more each.
    layer.forward.push_back({name + ".scores", op, op.flash ? Dispatch{2, 2} : Dispatch{9, 9}});
    op.pass = Pass::backward;
    layer.backward.push_back({name + ".scores.dgrad", op, op.flash ? Dispatch{2, 3} : Dispatch{9, 11}});
    const std::int64_t probabilities = n_ * s_.heads * s_.sequence * s_.sequence;
    layer.saved_bytes = bytes(3 * tokens_ * h_);
    if (!op.flash) layer.saved_bytes += s_.dropout ? 2 * bytes(probabilities) + probabilities : bytes(probabilities);
  }

  void feed_forward(const std::string& name) {
    linear(name + ".mlp.up", tokens_, h_, ffn_, Activation::gelu);
    linear(name + ".mlp.down", tokens_, ffn_, h_);
  }

  /// x + dropout(y): one kernel where elementwise chains are fused. Backward the gradient also meets that of the branch.
  void residual(const std::string& name) {
    const std::int64_t elements = tokens_ * h_;
    if (s_.dropout && !fused()) dropout(name + ".dropout", elements);
    Layer& layer = push(name + ".residual");
    layer.forward.push_back(elementwise(name + ".residual", elements, 2, 1, 2, dtype()));
    layer.backward.push_back(elementwise(name + ".residual.dgrad", elements, 2, 1, 1, dtype()));
    if (s_.dropout && fused()) layer.saved_bytes = elements;
  }

  void dropout(const std::string& name, std::int64_t elements) {
    const double mask = 1.0 / static_cast<double>(size_of(dtype()));
    Layer& layer = push(name);
    layer.forward.push_back(elementwise(name, elements, 1, 1 + mask, 2, dtype()));
    layer.backward.push_back(elementwise(name + ".dgrad", elements, 1 + mask, 1, 1, dtype()));
    layer.saved_bytes = elements;
  }

  void layer_norm(const std::string& name, std::int64_t rows) {
    Normalization op;
    op.kind = NormKind::layer;
    op.rows = rows;
    op.cols = h_;
    op.dtype = dtype();
    Layer& layer = push(name);
    layer.forward.push_back({name, op, {1, 1}});
    op.pass = Pass::backward;
    layer.backward.push_back({name + ".grad", op, {1, 2}});
    layer.parameters = {{name + ".weight", h_}, {name + ".bias", h_}};
    layer.saved_bytes = bytes(rows * h_);
  }

  void cross_entropy(const std::string& name, std::int64_t rows, std::int64_t classes) {
    Loss op;
    op.kind = LossKind::cross_entropy;
    op.rows = rows;
    op.classes = classes;
    op.dtype = c_.numerics.mixed ? DType::fp32 : dtype();
    Layer& layer = push(name);
    layer.forward.push_back({name, op, {2, 2}});
    op.pass = Pass::backward;
    layer.backward.push_back({name + ".dgrad", op, {2, 2}});
    layer.saved_bytes = rows * classes * 4;  // log-probabilities
  }

  void bert_heads() {
    linear("pooler", n_, h_, h_, Activation::sigmoid);  // tanh, priced as a sigmoid
    const std::int64_t masked = s_.predictions > 0 ? n_ * s_.predictions : tokens_;
    linear("head.transform", masked, h_, h_, Activation::gelu);
    layer_norm("head.norm", masked);
    linear("head.decoder", masked, h_, s_.vocabulary, Activation::none, false);
    linear("head.next_sentence", n_, h_, 2);
    cross_entropy("loss", masked, s_.vocabulary);
  }

  void gpt_head() {
    layer_norm("head.norm", tokens_);
    linear("head.decoder", tokens_, h_, s_.vocabulary, Activation::none, false, false);
    cross_entropy("loss", tokens_, s_.vocabulary);
  }

  const TransformerSpec& s_;
  const LayerContext& c_;
  std::int64_t n_, h_, ffn_, tokens_;
  std::vector<Layer> layers_;
};

}  // namespace

std::vector<Layer> transformer_layers(const TransformerSpec& spec, std::int64_t samples, const LayerContext& context) {
  return Builder(spec, samples, context).build();
}

Result<Workload> build_transformer(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape, const SamplePlan& samples) {
  const TransformerSpec& spec = model.transformer;
  if (spec.heads < 1 || spec.hidden % spec.heads != 0) {
    return Error{"model.transformer.hidden: found " + std::to_string(spec.hidden) + ", expected a multiple of heads (" + std::to_string(spec.heads) + ")", "", ""};
  }
  if (spec.predictions > spec.sequence) {
    return Error{"model.transformer.predictions: found " + std::to_string(spec.predictions) + ", expected at most sequence (" + std::to_string(spec.sequence) + ")", "", ""};
  }
  const LayerContext context = layer_context(model, framework);
  DataParallelModel parts;
  parts.layers = [&](std::int64_t n) { return transformer_layers(spec, n, context); };
  // Token ids, and for bert types, mask and labels, as int64.
  parts.input_bytes_per_sample = static_cast<double>(spec.sequence) * 8 * (spec.family == "bert" ? 4 : 2);
  return build_data_parallel(model, framework, shape, samples, parts);
}

}  // namespace distsim
