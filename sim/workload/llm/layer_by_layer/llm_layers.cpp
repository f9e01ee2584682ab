#include "sim/workload/llm/layer_by_layer/llm_layers.hpp"

#include "sim/workload/layers/token_layers.hpp"

namespace distsim::workload {
namespace {

class LlmLayerBuilder {
 public:
  LlmLayerBuilder(const LlmSpec& spec, std::int64_t samples, const LayerContext& context, std::int64_t recomputed)
      : s_(spec),
        c_(context),
        stack_(context, spec.dropout),
        n_(samples),
        h_(spec.hidden),
        ffn_(spec.inner()),
        tokens_(samples * spec.sequence),
        recomputed_(recomputed) {}

  std::vector<Layer> build() {
    embeddings();
    for (std::int64_t i = 0; i < s_.layers; ++i) add_block(i);
    if (s_.encoder)
      encoder_heads();
    else
      decoder_head();
    return stack_.take();
  }

 private:
  graph::DType dtype() const { return stack_.dtype(); }
  std::int64_t bytes(std::int64_t elements) const { return stack_.bytes(elements); }

  /// Token, position (and type) lookups and their sum. The token matrix is also the head's, so its two gradients are
  /// added here, where the second is ready.
  void embeddings() {
    graph::EmbeddingBag lookup;
    lookup.tables = {{s_.vocabulary, h_, 1, 1.0}};
    lookup.batch = tokens_;
    lookup.output = dtype();
    lookup.optimizer = graph::EmbeddingOptimizer::none;
    lookup.update = dense_table_update(c_);
    Layer& layer = stack_.push("embeddings");
    const std::int64_t kinds = s_.encoder ? 3 : 2;
    const auto calls = static_cast<std::uint16_t>(kinds);
    layer.forward.push_back({"embeddings.tokens", lookup, {1, 1}});
    layer.forward.push_back(elementwise("embeddings.add", tokens_ * h_, static_cast<double>(kinds), 1, 1, dtype(),
                                        {static_cast<std::uint16_t>(2 * calls - 2), calls}));
    lookup.pass = graph::Pass::backward;
    layer.backward.push_back({"embeddings.tokens.wgrad", lookup, {1, 4}});
    layer.backward.push_back(elementwise("embeddings.tied.wgrad", s_.vocabulary * h_, 2, 1, 1, c_.numerics.gradient,
                                         {static_cast<std::uint16_t>(1 + calls), calls}));
    layer.parameters = {{"embeddings.tokens", s_.vocabulary * h_}, {"embeddings.positions", s_.position_table() * h_}};
    if (s_.encoder) layer.parameters.push_back({"embeddings.types", 2 * h_});
    if (s_.encoder) stack_.layer_norm("embeddings.norm", tokens_, h_);
    stack_.dropout("embeddings.dropout", tokens_ * h_);
  }

  void add_block(std::int64_t index) {
    std::vector<Layer>& layers = stack_.layers();
    const std::size_t first = layers.size();
    const std::string name = "block" + std::to_string(index);
    if (s_.encoder) {
      attention(name);
      stack_.residual(name + ".attention", tokens_ * h_);
      stack_.layer_norm(name + ".attention.norm", tokens_, h_);
      feed_forward(name);
      stack_.residual(name + ".mlp", tokens_ * h_);
      stack_.layer_norm(name + ".mlp.norm", tokens_, h_);
    } else {
      stack_.layer_norm(name + ".attention.norm", tokens_, h_);
      attention(name);
      stack_.residual(name + ".attention", tokens_ * h_);
      stack_.layer_norm(name + ".mlp.norm", tokens_, h_);
      feed_forward(name);
      stack_.residual(name + ".mlp", tokens_ * h_);
    }
    if (index >= recomputed_) return;
    layers[first].input_bytes = bytes(tokens_ * h_);
    for (std::size_t i = first; i < layers.size(); ++i) layers[i].block = static_cast<int>(index);
  }

  void attention(const std::string& name) {
    if (s_.encoder) {
      std::vector<Layer>& layers = stack_.layers();
      for (const char* which : {".query", ".key", ".value"}) stack_.linear(name + which, tokens_, h_, h_);
      layers[layers.size() - 1].saved_bytes = layers[layers.size() - 2].saved_bytes = 0;  // the three share one input
    } else {
      stack_.linear(name + ".qkv", tokens_, h_, 3 * h_);
    }
    scores(name);
    stack_.linear(name + ".projection", tokens_, h_, h_);
  }

  void scores(const std::string& name) {
    graph::Attention op;
    op.batch = n_;
    op.heads = s_.heads;
    op.q_len = op.kv_len = s_.sequence;
    op.head_dim = h_ / s_.heads;
    op.causal = !s_.encoder;
    const AttentionKernels kernels = c_.framework->kernels.attention;
    op.flash = kernels == AttentionKernels::flash && graph::size_of(dtype()) <= 2;  // flash kernels are for 16 bit
    op.dropout = s_.dropout;
    op.dtype = dtype();
    const std::int64_t probabilities = n_ * s_.heads * s_.sequence * s_.sequence;
    Layer& layer = stack_.push(name + ".scores");
    layer.saved_bytes = bytes(3 * tokens_ * h_);
    if (!op.flash) layer.saved_bytes += s_.dropout ? 2 * bytes(probabilities) + probabilities : bytes(probabilities);
    if (kernels == AttentionKernels::fused_softmax)
      fused_scores(layer, probabilities);
    else
      plain_scores(layer, op);
    stack_.add_calls_without_kernels(layer);
  }

  void plain_scores(Layer& layer, graph::Attention op) const {
    if (!op.flash) head_copies(layer);
    // Unfused: product, scale and mask, softmax, dropout, product; backward the same and one product more each.
    layer.forward.push_back({layer.name, op, op.flash ? graph::Dispatch{2, 2} : graph::Dispatch{5, 5}});
    op.pass = graph::Pass::backward;
    layer.backward.push_back({layer.name + ".dgrad", op, op.flash ? graph::Dispatch{2, 3} : graph::Dispatch{5, 7}});
  }

  /// Queries, keys and values are split into heads and the result is merged again: four tensors copied in another
  /// order.
  void head_copies(Layer& layer) const {
    layer.forward.push_back(elementwise(layer.name + ".heads", 4 * tokens_ * h_, 1, 1, 0, dtype(), {4, 4}));
    layer.backward.push_back(elementwise(layer.name + ".heads.dgrad", 4 * tokens_ * h_, 1, 1, 0, dtype(), {4, 4}));
  }

  /// The same with scale, mask and softmax in one kernel: no pass over the scores of their own.
  void fused_scores(Layer& layer, std::int64_t probabilities) const {
    const std::string& name = layer.name;
    const std::int64_t q = s_.sequence, d = h_ / s_.heads;
    const auto product = [&](std::int64_t m, std::int64_t n, std::int64_t k, graph::Pass pass) {
      graph::Gemm g;
      g.batch = n_ * s_.heads;
      g.m = m;
      g.n = n;
      g.k = k;
      g.pass = pass;
      g.dtype = c_.numerics.matrix;
      return g;
    };
    graph::Softmax softmax{n_ * s_.heads * q, q, dtype(), graph::Pass::forward};
    const double mask = 1.0 / static_cast<double>(graph::size_of(dtype()));
    layer.forward.push_back({name + ".qk", product(q, q, d, graph::Pass::forward), {4, 4}});
    layer.forward.push_back({name + ".softmax", softmax, {1, 1}});
    if (s_.dropout) layer.forward.push_back(elementwise(name + ".dropout", probabilities, 1, 1 + mask, 2, dtype()));
    layer.forward.push_back({name + ".pv", product(q, d, q, graph::Pass::forward), {3, 2}});
    layer.backward.push_back({name + ".pv.dgrad", product(q, q, d, graph::Pass::backward_data), {2, 2}});
    layer.backward.push_back({name + ".pv.wgrad", product(q, d, q, graph::Pass::backward_weight), {1, 1}});
    if (s_.dropout)
      layer.backward.push_back(elementwise(name + ".dropout.dgrad", probabilities, 1 + mask, 1, 1, dtype()));
    softmax.pass = graph::Pass::backward;
    layer.backward.push_back({name + ".softmax.dgrad", softmax, {1, 1}});
    layer.backward.push_back({name + ".qk.dgrad", product(q, d, q, graph::Pass::backward_data), {2, 2}});
    layer.backward.push_back({name + ".qk.wgrad", product(q, d, q, graph::Pass::backward_weight), {3, 3}});
  }

  void feed_forward(const std::string& name) {
    stack_.linear(name + ".mlp.up", tokens_, h_, ffn_, Activation::gelu);
    stack_.linear(name + ".mlp.down", tokens_, ffn_, h_);
  }

  void encoder_heads() {
    stack_.linear("pooler", n_, h_, h_, Activation::sigmoid);  // tanh, priced as a sigmoid
    const std::int64_t masked = s_.predictions > 0 ? n_ * s_.predictions : tokens_;
    stack_.linear("head.transform", masked, h_, h_, Activation::gelu);
    stack_.layer_norm("head.norm", masked, h_);
    stack_.linear("head.decoder", masked, h_, s_.vocabulary, Activation::none, false);
    stack_.linear("head.next_sentence", n_, h_, 2);
    stack_.cross_entropy("loss", masked, s_.vocabulary);
  }

  void decoder_head() {
    stack_.layer_norm("head.norm", tokens_, h_);
    stack_.linear("head.decoder", tokens_, h_, s_.vocabulary, Activation::none, false, false);
    stack_.cross_entropy("loss", tokens_, s_.vocabulary);
  }

  const LlmSpec& s_;
  const LayerContext& c_;
  TokenStack stack_;
  std::int64_t n_, h_, ffn_, tokens_, recomputed_;
};

}  // namespace

bool has_plain_layers(const LlmSpec& m) {
  if (m.model_type != LlmClass::none) return m.training != LlmTraining::lora;
  const bool plain_heads = m.attention == LlmAttention::full && m.kv() == m.heads && m.dim() * m.heads == m.hidden &&
                           m.value_dim() == m.dim() && !m.qk_norm;
  const bool plain_blocks = !m.gated && m.norm == LlmNorm::layer && m.bias == LlmBias::all && m.experts == 0 &&
                            m.decoder_layers == 0 && m.mtp_layers == 0 && m.pattern.empty();
  const bool plain_ends = m.positions == LlmPositions::learned && m.tied_embeddings;
  return plain_heads && plain_blocks && plain_ends && m.training != LlmTraining::lora;
}

std::vector<Layer> llm_layers(const LlmSpec& spec, std::int64_t samples, const LayerContext& context,
                              std::int64_t recomputed) {
  return LlmLayerBuilder(spec, samples, context, recomputed).build();
}

}  // namespace distsim::workload
