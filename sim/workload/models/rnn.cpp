#include "sim/workload/models/rnn.hpp"

#include <algorithm>

#include "sim/workload/graph/data_parallel.hpp"
#include "sim/workload/layers/token_layers.hpp"
#include "sim/workload/specs/step_mode.hpp"

namespace distsim::workload {
namespace {

constexpr Range kRnnWidth{1, 1 << 20};
constexpr Range kLayers{1, 10'000};
constexpr Range kLength{1, 1 << 24};

class RnnBuilder {
 public:
  RnnBuilder(const RnnSpec& spec, std::int64_t samples, const LayerContext& context)
      : s_(spec), stack_(context, spec.dropout), n_(samples), h_(spec.hidden) {}

  std::vector<Layer> build() {
    if (s_.encoder_layers > 0) encoder();
    decoder();
    stack_.linear("classifier", n_ * s_.target_length, h_, s_.vocabulary);
    stack_.cross_entropy("loss", n_ * s_.target_length, s_.vocabulary);
    return stack_.take();
  }

 private:
  graph::DType dtype() const { return stack_.dtype(); }
  bool attends() const { return s_.attention && s_.encoder_layers > 0; }

  void recurrent(const std::string& name, std::int64_t length, std::int64_t input, std::int64_t directions) {
    stack_.dropout(name + ".dropout", n_ * length * input);
    graph::Recurrent op;
    op.cell = s_.cell;
    op.kernels = s_.kernels;
    op.batch = n_;
    op.length = length;
    op.input = input;
    op.hidden = h_;
    op.directions = directions;
    stack_.recurrent(name, op);
  }

  void skip(const std::string& name, std::int64_t elements) {
    Layer& layer = stack_.push(name + ".residual");
    layer.forward.push_back(elementwise(name + ".residual", elements, 2, 1, 1, dtype()));
    layer.backward.push_back(elementwise(name + ".residual.dgrad", elements, 2, 1, 1, dtype()));
  }

  void encoder() {
    const std::int64_t tokens = n_ * s_.source_length;
    stack_.embedding("encoder.embedding", tokens, s_.vocabulary, h_, true);
    std::int64_t width = h_;
    for (std::int64_t i = 0; i < s_.encoder_layers; ++i) {
      const std::string name = "encoder" + std::to_string(i);
      const std::int64_t directions = i < s_.bidirectional_layers ? 2 : 1;
      recurrent(name, s_.source_length, width, directions);
      if (i >= s_.residual_from && width == directions * h_) skip(name, tokens * width);
      width = directions * h_;
    }
    if (attends()) stack_.linear("attention.keys", tokens, width, h_, Activation::none, true, false);
  }

  void decoder() {
    const std::int64_t tokens = n_ * s_.target_length;
    const bool shared = s_.shared_embedding && s_.encoder_layers > 0;
    stack_.embedding("decoder.embedding", tokens, s_.vocabulary, h_, !shared);
    for (std::int64_t i = 0; i < s_.decoder_layers; ++i) {
      const std::string name = "decoder" + std::to_string(i);
      if (i > 0 && attends()) with_context(name, tokens);
      recurrent(name, s_.target_length, i > 0 && attends() ? 2 * h_ : h_, 1);
      if (i >= s_.residual_from) skip(name, tokens * h_);
      if (i == 0 && attends()) attention(tokens);
    }
  }

  /// The output of the layer before and the context, side by side.
  void with_context(const std::string& name, std::int64_t tokens) {
    const graph::Concat op{stack_.bytes(2 * tokens * h_), 2};
    Layer& layer = stack_.push(name + ".context");
    layer.forward.push_back({name + ".context", op, {1, 1}});
    layer.backward.push_back({name + ".context.dgrad", op, {2, 2}});
  }

  /// score(t, s) = v . tanh(query(t) + key(s)), softmax over s, context(t) = sum of the source's states.
  void attention(std::int64_t tokens) {
    stack_.linear("attention.queries", tokens, h_, h_, Activation::none, true, false);
    const std::int64_t scores = tokens * s_.source_length;
    Layer& layer = stack_.push("attention");
    layer.parameters = {{"attention.score", h_}};
    // One kernel; queries and keys are read from L2 again and again, only the scores go to memory.
    const double once = 1 / static_cast<double>(h_);
    const auto pointwise = [&](const char* name, double tensors) {
      constexpr double kTanh = 20;
      return elementwise(name, scores * h_, tensors * once, once, kTanh, dtype(), {4, 1});
    };
    layer.forward.push_back(pointwise("attention.scores", 1));
    graph::Softmax softmax{tokens, s_.source_length, dtype()};
    layer.forward.push_back({"attention.softmax", softmax, {2, 1}});
    layer.forward.push_back({"attention.context", product(s_.target_length, h_, s_.source_length), {1, 1}});
    layer.backward.push_back({"attention.context.dgrad", product(s_.target_length, s_.source_length, h_), {1, 1}});
    layer.backward.push_back({"attention.context.wgrad", product(s_.source_length, h_, s_.target_length), {0, 1}});
    softmax.pass = graph::Pass::backward;
    layer.backward.push_back({"attention.softmax.dgrad", softmax, {2, 1}});
    layer.backward.push_back(pointwise("attention.scores.dgrad", 2));
    layer.saved_bytes = stack_.bytes(2 * scores);
  }

  graph::Gemm product(std::int64_t m, std::int64_t n, std::int64_t k) const {
    graph::Gemm g{n_, m, n, k};
    g.dtype = stack_.context().numerics.matrix;
    return g;
  }

  const RnnSpec& s_;
  TokenStack stack_;
  std::int64_t n_, h_;
};

}  // namespace

std::vector<Layer> rnn_layers(const RnnSpec& spec, std::int64_t samples, const LayerContext& context) {
  return RnnBuilder(spec, samples, context).build();
}

Schema<RnnSpec> rnn_schema() {
  Schema<RnnSpec> s("rnn", "Encoder and decoder of recurrent layers (GNMT), or a recurrent language model.");
  s.choice("cell", &RnnSpec::cell, {{"lstm", graph::Cell::lstm}, {"gru", graph::Cell::gru}}, "Recurrent unit.");
  s.choice(
      "kernels", &RnnSpec::kernels,
      {{"any", graph::RecurrentKernels::any},
       {"per_step", graph::RecurrentKernels::per_step},
       {"persistent", graph::RecurrentKernels::persistent}},
      "cuDNN's kernels of the steps: a GEMM for each, one persistent kernel, or any: persistent where PyTorch asks "
      "for it and it is faster.");
  s.optional("encoder_layers", &RnnSpec::encoder_layers, {0, 10'000},
             "Layers of the encoder; 0: a language model, without source or attention.");
  s.optional("bidirectional_layers", &RnnSpec::bidirectional_layers, {0, 10'000},
             "How many of them, counted from the first, run in both directions.");
  s.optional("decoder_layers", &RnnSpec::decoder_layers, kLayers, "Layers of the decoder.");
  s.optional("hidden", &RnnSpec::hidden, kRnnWidth, "Units of a layer in one direction, and width of the embedding.");
  s.optional("vocabulary", &RnnSpec::vocabulary, {1, 1 << 26}, "Words.");
  s.optional("source_length", &RnnSpec::source_length, kLength, "Tokens of a source sentence, padding included.");
  s.optional("target_length", &RnnSpec::target_length, kLength, "The same of a target sentence.");
  s.optional("residual_from", &RnnSpec::residual_from, {0, 10'000},
             "First layer, counted from 0, whose input is added to its output.");
  s.optional("attention", &RnnSpec::attention, "Additive attention of the decoder to the encoder.");
  s.optional("shared_embedding", &RnnSpec::shared_embedding, "One embedding table for source and target.");
  s.optional("dropout", &RnnSpec::dropout, "Dropout before every layer.");
  s.rule([](const RnnSpec& r) -> std::optional<std::string> {
    if (r.encoder_layers == 0 || r.bidirectional_layers <= r.encoder_layers) return std::nullopt;
    return "bidirectional_layers: found " + std::to_string(r.bidirectional_layers) +
           ", expected at most encoder_layers, " + std::to_string(r.encoder_layers);
  });
  return s;
}

namespace {

std::int64_t tokens_of(const RnnSpec& s) { return s.target_length + (s.encoder_layers > 0 ? s.source_length : 0); }

/// Neither bytes nor elements overflow.
Result<void> check_rnn_size(const RnnSpec& s, std::int64_t samples, const std::string& key) {
  const double lengths = static_cast<double>(std::max(s.source_length, s.target_length));
  const double widest = static_cast<double>(std::max({s.vocabulary, 16 * s.hidden, s.source_length * s.hidden}));
  if (static_cast<double>(samples) * lengths * widest * 8 <= 4e18) return {};
  return Error{
      key + ": found " + std::to_string(samples) + " samples on a GPU, expected fewer than 4e18 bytes of vectors", "",
      ""};
}

Result<Workload> build_rnn(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape,
                           const SamplePlan& samples) {
  const RnnSpec spec = as_run<RnnSpec>(model);
  TRY(check_rnn_size(spec, samples.micro_step(0).largest(), batch_key(model)));
  const LayerContext context = layer_context(model, framework);
  DataParallelModel parts;
  parts.layers = [&](std::int64_t n) { return rnn_layers(spec, n, context); };
  parts.input_bytes_per_sample = 8.0 * static_cast<double>(tokens_of(spec) + spec.target_length);
  return build_data_parallel(model, framework, shape, samples, parts);
}

constexpr Refusal kRnnRefuses[] = {
    {"{bidirectional_layers: 5}", "model.rnn.bidirectional_layers"},
    {"{cell: ltsm}", "model.rnn.cell"},
    {"{decoder_layers: 0}", "model.rnn.decoder_layers"},
};

}  // namespace

extern const ModelFamily rnn_family;
constinit const ModelFamily rnn_family{
    .name = "rnn",
    .sentence = "LSTM or GRU encoder and decoder with attention (GNMT), or recurrent language model; data parallel",
    .refuses = kRnnRefuses,
    .add_section = [](Schema<ModelSpec>& s) { add_section(s, rnn_schema()); },
    .build = build_rnn,
    .tokens_per_sample = [](const ModelSpec& model) { return tokens_of(model.as<RnnSpec>()); },
};

}  // namespace distsim::workload
