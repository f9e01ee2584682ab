#include "sim/workload/models/transformer.hpp"

#include <algorithm>

#include "sim/workload/graph/data_parallel.hpp"
#include "sim/workload/layers/token_layers.hpp"

namespace distsim::workload {
namespace {

constexpr Range kTransformerWidth{1, 1 << 24};
constexpr Range kTransformerLayers{1, 10'000};

class TransformerBuilder {
 public:
  TransformerBuilder(const TransformerSpec& spec, std::int64_t samples, const LayerContext& context)
      : s_(spec),
        c_(context),
        stack_(context, spec.dropout),
        n_(samples),
        h_(spec.hidden),
        ffn_(spec.ffn_hidden > 0 ? spec.ffn_hidden : 4 * spec.hidden),
        tokens_(samples * spec.sequence) {}

  std::vector<Layer> build() {
    embeddings();
    for (std::int64_t i = 0; i < s_.layers; ++i) add_block(i);
    if (bert())
      bert_heads();
    else
      gpt_head();
    return stack_.take();
  }

 private:
  bool bert() const { return s_.family == TransformerKind::bert; }
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
    const std::int64_t kinds = bert() ? 3 : 2;
    const auto calls = static_cast<std::uint16_t>(kinds);
    layer.forward.push_back({"embeddings.tokens", lookup, {1, 1}});
    layer.forward.push_back(elementwise("embeddings.add", tokens_ * h_, static_cast<double>(kinds), 1, 1, dtype(),
                                        {static_cast<std::uint16_t>(2 * calls - 2), calls}));
    lookup.pass = graph::Pass::backward;
    layer.backward.push_back({"embeddings.tokens.wgrad", lookup, {1, 4}});
    layer.backward.push_back(elementwise("embeddings.tied.wgrad", s_.vocabulary * h_, 2, 1, 1, c_.numerics.gradient,
                                         {static_cast<std::uint16_t>(1 + calls), calls}));
    layer.parameters = {{"embeddings.tokens", s_.vocabulary * h_}, {"embeddings.positions", s_.position_rows() * h_}};
    if (bert()) layer.parameters.push_back({"embeddings.types", 2 * h_});
    if (bert()) stack_.layer_norm("embeddings.norm", tokens_, h_);
    stack_.dropout("embeddings.dropout", tokens_ * h_);
  }

  void add_block(std::int64_t index) {
    std::vector<Layer>& layers = stack_.layers();
    const std::size_t first = layers.size();
    const std::string name = "block" + std::to_string(index);
    if (bert()) {
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
    if (!s_.activation_checkpointing) return;
    layers[first].input_bytes = bytes(tokens_ * h_);
    for (std::size_t i = first; i < layers.size(); ++i) layers[i].block = static_cast<int>(index);
  }

  void attention(const std::string& name) {
    if (bert()) {
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
    op.causal = !bert();
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

  void bert_heads() {
    stack_.linear("pooler", n_, h_, h_, Activation::sigmoid);  // tanh, priced as a sigmoid
    const std::int64_t masked = s_.predictions > 0 ? n_ * s_.predictions : tokens_;
    stack_.linear("head.transform", masked, h_, h_, Activation::gelu);
    stack_.layer_norm("head.norm", masked, h_);
    stack_.linear("head.decoder", masked, h_, s_.vocabulary, Activation::none, false);
    stack_.linear("head.next_sentence", n_, h_, 2);
    stack_.cross_entropy("loss", masked, s_.vocabulary);
  }

  void gpt_head() {
    stack_.layer_norm("head.norm", tokens_, h_);
    stack_.linear("head.decoder", tokens_, h_, s_.vocabulary, Activation::none, false, false);
    stack_.cross_entropy("loss", tokens_, s_.vocabulary);
  }

  const TransformerSpec& s_;
  const LayerContext& c_;
  TokenStack stack_;
  std::int64_t n_, h_, ffn_, tokens_;
};

/// With bins of b tokens a sample of n is padded by b / 2 on average, and never beyond the full sequence.
TransformerSpec as_batched(TransformerSpec spec, const FrameworkSpec& framework) {
  if (framework.input.sequence_bin == 0 || spec.mean_tokens == 0) return spec;
  const std::int64_t positions = spec.position_rows();
  spec.sequence = std::min(spec.sequence, spec.mean_tokens + framework.input.sequence_bin / 2);
  spec.positions = positions;
  return spec;
}

}  // namespace

std::vector<Layer> transformer_layers(const TransformerSpec& spec, std::int64_t samples, const LayerContext& context) {
  return TransformerBuilder(spec, samples, context).build();
}

Schema<TransformerSpec> transformer_schema() {
  Schema<TransformerSpec> s("transformer", "A BERT or GPT-2 style transformer.");
  s.choice("family", &TransformerSpec::family, {{"bert", TransformerKind::bert}, {"gpt", TransformerKind::gpt}},
           "Encoder with masked positions, or causal decoder.");
  s.optional("layers", &TransformerSpec::layers, kTransformerLayers, "Transformer blocks.");
  s.optional("hidden", &TransformerSpec::hidden, kTransformerWidth, "Width of the residual stream.");
  s.optional("heads", &TransformerSpec::heads, {1, 65536}, "Attention heads; divides hidden.");
  s.optional("ffn_hidden", &TransformerSpec::ffn_hidden, {0, 1 << 24}, "Width inside the MLP; 0: 4 x hidden.");
  s.optional("sequence", &TransformerSpec::sequence, {1, 1 << 24}, "Tokens per sample.");
  s.optional("mean_tokens", &TransformerSpec::mean_tokens, {0, 1 << 24},
             "Mean tokens per sample before padding, for frameworks that batch by length; 0: the full sequence.");
  s.optional("vocabulary", &TransformerSpec::vocabulary, {1, 1 << 26}, "Rows of the token embedding.");
  s.optional("positions", &TransformerSpec::positions, {0, 1 << 24},
             "Rows of the position embedding; 0: at least 512 for bert, otherwise sequence.");
  s.optional("predictions", &TransformerSpec::predictions, {0, 1 << 24},
             "bert: masked positions per sample whose logits are computed; 0: all.");
  s.optional("activation_checkpointing", &TransformerSpec::activation_checkpointing,
             "Activation checkpointing: blocks keep only their input and are recomputed in the backward pass.");
  s.optional("dropout", &TransformerSpec::dropout, "Dropout after attention and MLP.");
  s.rule([](const TransformerSpec& t) -> std::optional<std::string> {
    if (t.hidden % t.heads == 0) return {};
    return "hidden: found " + std::to_string(t.hidden) + ", expected a multiple of heads (" + std::to_string(t.heads) +
           ")";
  });
  s.rule([](const TransformerSpec& t) -> std::optional<std::string> {
    if (t.predictions <= t.sequence) return {};
    return "predictions: found " + std::to_string(t.predictions) + ", expected at most sequence (" +
           std::to_string(t.sequence) + ")";
  });
  return s;
}

namespace {

Result<Workload> build_transformer(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape,
                                   const SamplePlan& samples) {
  const TransformerSpec spec = as_batched(model.as<TransformerSpec>(), framework);
  if (spec.predictions > spec.sequence) {
    return Error{"model.transformer.predictions: found " + std::to_string(spec.predictions) +
                     ", expected at most sequence (" + std::to_string(spec.sequence) + ")",
                 "", ""};
  }
  const LayerContext context = layer_context(model, framework);
  DataParallelModel parts;
  parts.layers = [&](std::int64_t n) { return transformer_layers(spec, n, context); };
  // Token ids, and for bert types, mask and labels, as int64.
  parts.input_bytes_per_sample =
      static_cast<double>(spec.sequence) * 8 * (spec.family == TransformerKind::bert ? 4 : 2);
  TRY_ASSIGN(Workload out, build_data_parallel(model, framework, shape, samples, parts));
  const TransformerSpec& given = model.as<TransformerSpec>();
  if (given.mean_tokens > given.sequence) {
    out.assumptions.push_back(
        {graph::AssumptionKind::workload, "model.transformer.mean_tokens of " + std::to_string(given.mean_tokens) +
                                              " is above the sequence of " + std::to_string(given.sequence) +
                                              ": samples are taken as full"});
  }
  return out;
}

constexpr Refusal kTransformerRefuses[] = {
    {"{hidden: 100, heads: 7}", "model.transformer.hidden"},
    {"{sequence: 128, predictions: 200}", "model.transformer.predictions"},
    {"{family: t5}", "model.transformer.family"},
};

}  // namespace

extern const ModelFamily transformer_family;
constinit const ModelFamily transformer_family{
    .name = "transformer",
    .sentence = "BERT or GPT-2 style transformer; data parallel",
    .refuses = kTransformerRefuses,
    .add_section = [](Schema<ModelSpec>& s) { add_section(s, transformer_schema()); },
    .build = build_transformer,
    .tokens_per_sample = [](const ModelSpec& model) { return model.as<TransformerSpec>().sequence; },
};

}  // namespace distsim::workload
