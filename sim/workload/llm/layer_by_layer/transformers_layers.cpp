#include "sim/workload/llm/layer_by_layer/transformers_layers.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "sim/graph/ops/flops_per_element.hpp"
#include "sim/workload/layers/token_layers.hpp"

namespace distsim::workload {
namespace {

// x/2 and x^3 * 0.044715 + x, times sqrt(2/pi), tanh, plus 1, times x/2; one kernel each (activations.py, NewGELUActivation).
constexpr PointwiseTraffic kGeluNew[] = {{1, 1}, {1, 1}, {1, 1}, {2, 1}, {1, 1}, {1, 1}, {1, 1}, {2, 1}};
// Their gradients: of the last product two; tanh; two factors; of the power x^2, times 3, times the gradient; a factor; and
// two sums of the three uses of x. Sums of forward pass their gradient on.
constexpr PointwiseTraffic kGeluNewGrad[] = {{2, 1}, {2, 1}, {2, 1}, {1, 1}, {1, 1}, {1, 1},
                                             {1, 1}, {2, 1}, {1, 1}, {2, 1}, {2, 1}};
// maximum(x, c): x == c, gradient / 2, the choice between them, x < c, zero there (derivatives.yaml). A bool is a quarter.
constexpr PointwiseTraffic kMaximumGrad[] = {{1, 0.25}, {1, 1}, {2.25, 1}, {1, 0.25}, {1.25, 1}};
// T5LayerNorm: square, mean, times the root of its inverse, times the weight.
constexpr PointwiseTraffic kT5Norm[] = {{1, 1}, {1, 0}, {1, 1}, {1, 1}};
// The weight's gradient (product, sum), the product's two (one of them summed), the mean's, the square's (2 x in two
// kernels, times the gradient), and the sum of the two uses of x.
constexpr PointwiseTraffic kT5NormGrad[] = {{2, 1}, {1, 0}, {1, 1}, {1, 1}, {2, 1}, {1, 0},
                                            {0, 1}, {1, 1}, {1, 1}, {2, 1}, {2, 1}};

/// Calls of a block that launch nothing: forward views, transposes and splits, backward a node of autograd for each of them;
/// those of the weights are counted with their layers. Where a block has two attentions, of each.
struct CallsWithoutKernels {
  std::uint16_t forward, backward;
};

/// What the calls of a block leave when those that launch are taken away. A block of gpt2 makes 51 and 65 in the execution
/// trace of Hugging Face's class (36 blocks); one of bert 29 and 76, of opt 40 and 70, an encoder layer of
/// switch_transformers without experts 39 and 78, as distsim_capture counts them in modules with the calls of these classes.
CallsWithoutKernels calls_without_kernels(LlmClass type) {
  switch (type) {
    case LlmClass::gpt2:
      return {26, 18};
    case LlmClass::opt:
      return {17, 22};
    case LlmClass::switch_transformers:
      return {9, 21};
    case LlmClass::none:
    case LlmClass::bert:
      break;
  }
  return {9, 32};
}

constexpr std::uint16_t kCallsOfExpert = 8;   // forward, of one expert: index, view and module calls
constexpr std::uint16_t kCallsOfRouter = 14;  // softmax, argmax, one-hot, cumulative sum and the mask, of tiny tensors
constexpr std::uint16_t kKernelsOfRouter = 12;

class TransformersLayerBuilder {
 public:
  TransformersLayerBuilder(const LlmSpec& spec, std::int64_t samples, const LayerContext& context,
                           std::int64_t recomputed, bool masked_head)
      : s_(spec),
        c_(context),
        stack_(context, spec.dropout),
        n_(samples),
        h_(spec.hidden),
        tokens_(samples * spec.sequence),
        recomputed_(recomputed),
        masked_head_(masked_head),
        fused_(context.framework->kernels.fuse_elementwise || context.framework->kernels.compiled) {}

  std::vector<Layer> build() {
    const bool t5 = type() == LlmClass::switch_transformers;
    embeddings("embeddings", true);
    const std::int64_t encoder = s_.layers - s_.decoder_layers;
    for (std::int64_t i = 0; i < s_.layers; ++i) {
      if (t5 && i == encoder) {
        end_of_stack("encoder");
        tokens_ = n_ * s_.target_sequence();
        embeddings("decoder.embeddings", false);
      }
      if (t5 && (i == 0 || i == encoder)) relative_bias(i == 0 ? "encoder" : "decoder");
      add_block(i, i >= encoder && t5);
    }
    if (t5)
      end_of_stack("decoder");
    else if (!s_.encoder)
      stack_.layer_norm("head.norm", tokens_, h_);
    heads();
    return stack_.take();
  }

 private:
  LlmClass type() const { return s_.model_type; }
  graph::DType dtype() const { return stack_.dtype(); }
  std::int64_t bytes(std::int64_t elements) const { return stack_.bytes(elements); }

  LayerOp pointwise(const std::string& name, std::int64_t elements, PointwiseTraffic t, double flops = 1) const {
    return elementwise(name, std::max<std::int64_t>(1, elements), t.reads, t.writes, flops, dtype());
  }
  void forward(Layer& layer, const std::string& name, std::int64_t elements,
               std::span<const PointwiseTraffic> kernels) const {
    for (const PointwiseTraffic t : kernels) layer.forward.push_back(pointwise(name, elements, t));
  }
  void backward(Layer& layer, const std::string& name, std::int64_t elements,
                std::span<const PointwiseTraffic> kernels) const {
    for (const PointwiseTraffic t : kernels) layer.backward.push_back(pointwise(name + ".dgrad", elements, t));
  }

  void linear(const std::string& name, std::int64_t rows, std::int64_t in, std::int64_t out, bool owns_weight = true,
              bool bias = true) {
    Linear shape;
    shape.name = name;
    shape.rows = rows;
    shape.in = in;
    shape.out = out;
    shape.owns_weight = owns_weight;
    shape.bias = bias && s_.bias != LlmBias::none;
    shape.bias_in_product = true;
    stack_.layers().push_back(linear_layer(shape, c_));
  }

  /// Tokens of one stack; the gradients of shared tables meet in the first one.
  void embeddings(const std::string& name, bool first) {
    graph::EmbeddingBag lookup;
    lookup.tables = {{s_.vocabulary, h_, 1, 1.0}};
    lookup.batch = tokens_;
    lookup.output = dtype();
    lookup.optimizer = graph::EmbeddingOptimizer::none;
    lookup.update = dense_table_update(c_);
    const bool positions = s_.positions == LlmPositions::learned;
    const int sums = (s_.encoder ? 2 : 0) + (positions && !s_.encoder ? 1 : 0);
    Layer& layer = stack_.push(name);
    layer.forward.push_back({name + ".tokens", lookup, {2, 1}});
    for (int i = 0; i < sums; ++i) layer.forward.push_back(pointwise(name + ".add", tokens_ * h_, {2, 1}));
    lookup.pass = graph::Pass::backward;
    layer.backward.push_back({name + ".tokens.wgrad", lookup, {1, 4}});
    if (s_.tied_embeddings || !first)
      layer.backward.push_back(elementwise(name + ".tied.wgrad", s_.vocabulary * h_, 2, 1, 1, c_.numerics.gradient));
    if (first) {
      layer.parameters.push_back({name + ".tokens", s_.vocabulary * h_});
      if (positions) layer.parameters.push_back({name + ".positions", s_.position_table() * h_});
      if (s_.encoder) layer.parameters.push_back({name + ".types", 2 * h_});
    }
    if (s_.encoder) stack_.layer_norm(name + ".norm", tokens_, h_);
    stack_.dropout(name + ".dropout", tokens_ * h_);
  }

  /// A table of buckets looked up for every pair of positions; added to the scores of all layers of the stack.
  void relative_bias(const std::string& name) {
    constexpr std::int64_t kBuckets = 32, kKernels = 15;  // of the bucket numbers: comparisons, a logarithm, choices
    const std::int64_t sequence = tokens_ / n_, pairs = sequence * sequence;
    graph::EmbeddingBag lookup;
    lookup.tables = {{kBuckets, s_.heads, 1, 1.0}};
    lookup.batch = pairs;
    lookup.output = dtype();
    lookup.optimizer = graph::EmbeddingOptimizer::none;
    lookup.update = dense_table_update(c_);
    Layer& layer = stack_.push(name + ".positions");
    layer.forward.push_back(
        elementwise(layer.name, pairs * kKernels, 1, 1, 1, graph::DType::fp32, {kKernels, kKernels}));
    layer.forward.push_back({layer.name, lookup, {1, 1}});
    layer.forward.push_back(pointwise(layer.name + ".mask", n_ * s_.heads * pairs, {1, 1}));
    lookup.pass = graph::Pass::backward;
    layer.backward.push_back({layer.name + ".wgrad", lookup, {1, 4}});
    layer.parameters = {{layer.name, kBuckets * s_.heads}};
  }

  void end_of_stack(const std::string& name) {
    t5_norm(name + ".norm");
    stack_.dropout(name + ".dropout", tokens_ * h_);
  }

  void t5_norm(const std::string& name) {
    Layer& layer = stack_.push(name);
    if (fused_) {
      graph::Normalization op;
      op.kind = graph::NormKind::rms;
      op.rows = tokens_;
      op.cols = h_;
      op.dtype = dtype();
      op.fused = true;
      layer.forward.push_back({name, op, {1, 1}});
      op.pass = graph::Pass::backward;
      layer.backward.push_back({name + ".grad", op, {1, 2}});
    } else {
      forward(layer, name, tokens_ * h_, kT5Norm);
      layer.forward.back().dispatch = {3, 3};  // with the two kernels over rows
      backward(layer, name, tokens_ * h_, kT5NormGrad);
      layer.backward.front().dispatch.framework_ops += weight_nodes(c_, 1);
    }
    layer.parameters = {{name + ".weight", h_}};
    layer.saved_bytes = bytes((fused_ ? 1 : 2) * tokens_ * h_);
  }

  void norm(const std::string& name) {
    if (type() == LlmClass::switch_transformers)
      t5_norm(name);
    else
      stack_.layer_norm(name, tokens_, h_);
  }

  void add_block(std::int64_t index, bool decoder) {
    std::vector<Layer>& layers = stack_.layers();
    const std::size_t first = layers.size();
    const std::string name = "block" + std::to_string(index);
    const bool before = !s_.encoder;
    const auto sublayer = [&](const std::string& part, auto inside) {
      if (before) norm(part + ".norm");
      inside();
      residual(part);
      if (!before) norm(part + ".norm");
    };
    sublayer(name + ".attention", [&] { attention(name, false); });
    if (decoder) sublayer(name + ".cross", [&] { attention(name + ".cross", true); });
    const bool sparse = s_.experts > 0 && (index + 1) % s_.expert_every == 0;
    sublayer(name + ".mlp", [&] { sparse ? experts(name) : feed_forward(name, tokens_, s_.inner()); });
    if (index >= recomputed_) return;
    layers[first].input_bytes = bytes(tokens_ * h_);
    for (std::size_t i = first; i < layers.size(); ++i) layers[i].block = static_cast<int>(index);
  }

  void residual(const std::string& part) {
    const double mask = s_.dropout && fused_ ? mask_share() : 0;
    if (!fused_) stack_.dropout(part + ".dropout", tokens_ * h_);
    Layer& sum = stack_.push(part + ".residual");
    sum.forward.push_back(pointwise(sum.name, tokens_ * h_, {2, 1 + mask}));
    sum.backward.push_back(pointwise(sum.name + ".dgrad", tokens_ * h_, {2 + mask, 1}));
    if (mask > 0) sum.saved_bytes = tokens_ * h_;
  }

  /// A byte for each element, in tensors.
  double mask_share() const { return 1.0 / static_cast<double>(graph::size_of(dtype())); }

  /// Cross attention reads keys and values of the encoder's tokens.
  void attention(const std::string& name, bool cross) {
    const std::int64_t wide = s_.heads * s_.dim(), others = cross ? n_ * s_.sequence : tokens_;
    std::vector<Layer>& layers = stack_.layers();
    if (type() == LlmClass::gpt2) {
      linear(name + ".qkv", tokens_, h_, 3 * wide);
    } else {
      linear(name + ".query", tokens_, h_, wide);
      linear(name + ".key", others, h_, wide);
      linear(name + ".value", others, h_, wide);
      layers[layers.size() - 1].saved_bytes = layers[layers.size() - 2].saved_bytes = 0;  // the three share one input
    }
    scores(name, cross);
    linear(name + ".projection", tokens_, wide, h_);
  }

  LayerOp product(const std::string& name, std::int64_t m, std::int64_t n, std::int64_t k, graph::Pass pass) const {
    graph::Gemm g;
    g.batch = n_ * s_.heads;
    g.m = m;
    g.n = n;
    g.k = k;
    g.pass = pass;
    g.dtype = c_.numerics.matrix;
    // The two products of a product's gradient are one node of autograd.
    return {name, g, pass == graph::Pass::backward_weight ? graph::Dispatch{0, 1} : graph::Dispatch{1, 1}};
  }

  /// What is done to scores between their product and the softmax: of each kernel its tensors.
  std::span<const PointwiseTraffic> on_scores() const {
    // A mask of all pairs takes as long as a tensor of scores, on 8 GPUs (NeuSight's times of these kernels, MIT), though
    // its heads share it; one of a byte, a quarter; one of a row, next to nothing.
    static constexpr PointwiseTraffic kScaleAndRowMask[] = {{1, 1}, {1.2, 1}};  // bert
    static constexpr PointwiseTraffic kScaleAndWhere[] = {{1, 1}, {1.25, 1}};   // gpt2
    static constexpr PointwiseTraffic kMaskAndMaximum[] = {{2, 1}, {1, 1}};     // opt
    static constexpr PointwiseTraffic kBias[] = {{2, 1}};  // switch_transformers, of cross attention zeroes
    if (fused_) return {};
    switch (type()) {
      case LlmClass::gpt2:
        return kScaleAndWhere;
      case LlmClass::opt:
        return kMaskAndMaximum;
      case LlmClass::switch_transformers:
        return kBias;
      case LlmClass::none:
      case LlmClass::bert:
        break;
    }
    return kScaleAndRowMask;
  }
  std::span<const PointwiseTraffic> on_score_gradients(bool cross) const {
    static constexpr PointwiseTraffic kScale[] = {{1, 1}}, kScaleAndWhere[] = {{1, 1}, {1, 1}};
    static constexpr PointwiseTraffic kBias[] = {{2, 1}};  // added to that of the layers after it
    if (type() == LlmClass::switch_transformers) return cross ? std::span<const PointwiseTraffic>() : kBias;
    if (fused_) return {};
    if (type() == LlmClass::opt) return kMaximumGrad;
    return type() == LlmClass::gpt2 ? std::span<const PointwiseTraffic>(kScaleAndWhere) : kScale;
  }

  /// Of queries, keys and values, forward and backward; backward with the result's gradient.
  void copies(Layer& layer, std::int64_t others) const {
    const std::int64_t wide = s_.heads * s_.dim(), all = (tokens_ + 2 * others) * wide;
    // opt asks for them, matmul makes them itself.
    const graph::Dispatch forward = type() == LlmClass::opt ? graph::Dispatch{3, 3} : graph::Dispatch{0, 3};
    if (n_ > 1 || type() == LlmClass::opt)
      layer.forward.push_back(elementwise(layer.name + ".heads", all, 1, 1, 0, dtype(), forward));
    layer.backward.push_back(elementwise(layer.name + ".heads.dgrad", all + tokens_ * wide, 1, 1, 0, dtype(), {4, 4}));
  }

  void scores(const std::string& name, bool cross) {
    const std::int64_t q = tokens_ / n_, kv = cross ? s_.sequence : q, d = s_.dim(), wide = s_.heads * d;
    const std::int64_t all = n_ * s_.heads * q * kv;
    const bool drops = s_.dropout && type() != LlmClass::opt, scales = type() == LlmClass::opt;
    const double mask = mask_share();
    Layer& layer = stack_.push(name + ".scores");
    const std::string& at = layer.name;
    if (scales) layer.forward.push_back(pointwise(at + ".scale", tokens_ * wide, {1, 1}));
    copies(layer, n_ * kv);
    const std::vector<LayerOp> copied = std::exchange(layer.backward, {});
    layer.forward.push_back(product(at + ".qk", q, kv, d, graph::Pass::forward));
    forward(layer, at + ".mask", all, on_scores());
    graph::Softmax softmax{n_ * s_.heads * q, kv, dtype(), graph::Pass::forward};
    layer.forward.push_back({at + ".softmax", softmax, {1, 1}});
    if (drops)
      layer.forward.push_back(pointwise(at + ".dropout", all, {fused_ ? 0.0 : 1.0, fused_ ? mask : 1 + mask}, 2));
    layer.forward.push_back(product(at + ".pv", q, d, kv, graph::Pass::forward));
    layer.forward.push_back(pointwise(at + ".merge", tokens_ * wide, {1, 1}));

    layer.backward.push_back(product(at + ".pv.dgrad", q, kv, d, graph::Pass::backward_data));
    layer.backward.push_back(product(at + ".pv.wgrad", kv, d, q, graph::Pass::backward_weight));
    if (drops)
      layer.backward.push_back(pointwise(at + ".dropout.dgrad", all, {fused_ ? mask : 1 + mask, fused_ ? 0.0 : 1.0}));
    softmax.pass = graph::Pass::backward;
    layer.backward.push_back({at + ".softmax.dgrad", softmax, {1, 1}});
    backward(layer, at + ".mask", all, on_score_gradients(cross));
    layer.backward.push_back(product(at + ".qk.dgrad", q, d, kv, graph::Pass::backward_data));
    layer.backward.push_back(product(at + ".qk.wgrad", kv, d, q, graph::Pass::backward_weight));
    if (scales) layer.backward.push_back(pointwise(at + ".scale.dgrad", tokens_ * wide, {1, 1}));
    layer.backward.insert(layer.backward.end(), copied.begin(), copied.end());
    sum_input_gradients(layer, cross ? n_ * kv : tokens_, cross);
    const std::int64_t kept = scales && !fused_ ? 2 : 1;  // maximum keeps what it compared
    layer.saved_bytes = bytes((tokens_ + 2 * n_ * kv) * wide) + kept * bytes(all) + (drops ? bytes(all) + all : 0);
    if (!c_.framework->host.eager) return;
    const CallsWithoutKernels calls = calls_without_kernels(type());
    layer.forward.front().dispatch.framework_ops += calls.forward;
    layer.backward.front().dispatch.framework_ops += calls.backward;
  }

  /// Of one input's two or three products, where they are not one. Autograd adds them by itself: no call.
  void sum_input_gradients(Layer& layer, std::int64_t rows, bool cross) const {
    if (type() == LlmClass::gpt2 || type() == LlmClass::none) return;
    for (int i = 0; i < (cross ? 1 : 2); ++i)
      layer.backward.push_back(elementwise(layer.name + ".input.dgrad", rows * h_, 2, 1, 1, dtype(), {0, 1}));
  }

  void feed_forward(const std::string& name, std::int64_t rows, std::int64_t inner) {
    linear(name + ".mlp.up", rows, h_, inner);
    activation(name + ".mlp.activation", rows * inner);
    if (type() == LlmClass::switch_transformers) stack_.dropout(name + ".mlp.inner_dropout", rows * inner);
    linear(name + ".mlp.down", rows, inner, h_);
  }

  void activation(const std::string& name, std::int64_t elements) {
    Layer& layer = stack_.push(name);
    layer.saved_bytes = bytes(elements);
    switch (type()) {
      case LlmClass::none:
      case LlmClass::bert:
        layer.forward.push_back(pointwise(name, elements, {1, 1}, graph::kErfFlops));
        layer.backward.push_back(pointwise(name + ".dgrad", elements, {2, 1}, graph::kErfGradFlops));
        return;
      case LlmClass::gpt2:
        if (fused_) {
          layer.forward.push_back(pointwise(name, elements, {1, 1}, graph::kErfFlops));
          layer.backward.push_back(pointwise(name + ".dgrad", elements, {2, 1}, graph::kErfGradFlops));
          return;
        }
        forward(layer, name, elements, kGeluNew);
        backward(layer, name, elements, kGeluNewGrad);
        layer.saved_bytes = bytes(4 * elements);  // x for the power, x/2, tanh, tanh + 1
        return;
      case LlmClass::opt:
      case LlmClass::switch_transformers:
        layer.forward.push_back(pointwise(name, elements, {1, 1}));
        layer.backward.push_back(pointwise(name + ".dgrad", elements, {2, 1}));
        return;
    }
  }

  /// Every expert in turn takes the tokens that its column of the mask names: their number is read back twice.
  void experts(const std::string& name) {
    const std::int64_t rows = std::max<std::int64_t>(1, tokens_ / s_.experts);
    if (s_.dropout) {  // noise on the router's input
      Layer& noise = stack_.push(name + ".router.noise");
      forward(noise, noise.name, tokens_ * h_, std::array<PointwiseTraffic, 2>{{{0, 1}, {2, 1}}});
      backward(noise, noise.name, tokens_ * h_, std::array<PointwiseTraffic, 1>{{{2, 1}}});
    }
    linear(name + ".router", tokens_, h_, s_.experts, true, false);
    Layer& choice = stack_.push(name + ".routing");
    choice.forward.push_back(elementwise(choice.name, tokens_ * s_.experts * kKernelsOfRouter, 1, 1, 4,
                                         graph::DType::fp32, {kCallsOfRouter, kKernelsOfRouter}));
    choice.backward.push_back(
        elementwise(choice.name + ".dgrad", tokens_ * s_.experts * 4, 1, 1, 4, graph::DType::fp32, {4, 4}));
    choice.forward.push_back(pointwise(choice.name + ".clone", tokens_ * h_, {1, 1}));
    choice.backward.push_back(pointwise(choice.name + ".sum.dgrad", tokens_ * h_, {2, 1}));
    for (std::int64_t e = 0; e < s_.experts; ++e) {
      const std::string expert = name + ".expert" + std::to_string(e);
      Layer& pick = stack_.push(expert + ".pick");
      pick.forward.push_back(
          waiting(elementwise(pick.name, tokens_, 2, 2, 1, graph::DType::fp32, {kCallsOfExpert, 3})));
      pick.forward.push_back(pointwise(pick.name + ".gather", rows * h_, {1, 1}));
      // Backward: zeros of all tokens, the rows added to them, and their sum with what other experts left.
      backward(pick, pick.name, tokens_ * h_, std::array<PointwiseTraffic, 2>{{{0, 1}, {2, 1}}});
      pick.backward.push_back(pointwise(pick.name + ".put.dgrad", rows * h_, {2, 1}));
      feed_forward(expert, rows, s_.expert_inner());
      Layer& put = stack_.push(expert + ".put");
      put.forward.push_back(waiting(elementwise(put.name, tokens_, 1, 2, 1, graph::DType::fp32, {kCallsOfExpert, 2})));
      put.forward.push_back(pointwise(put.name + ".rows", rows * h_, {1, 1}));
      // Backward: a copy of the gradient with zeroes where the expert wrote, and the rows that it wrote.
      backward(put, put.name, tokens_ * h_, std::array<PointwiseTraffic, 1>{{{1, 1}}});
      backward(put, put.name + ".rows", rows * h_, std::array<PointwiseTraffic, 2>{{{0, 1}, {1, 1}}});
    }
    Layer& weigh = stack_.push(name + ".weigh");
    forward(weigh, weigh.name, tokens_ * h_, std::array<PointwiseTraffic, 1>{{{1, 1}}});
    backward(weigh, weigh.name, tokens_ * h_, std::array<PointwiseTraffic, 3>{{{1, 1}, {2, 1}, {1, 0}}});
    weigh.saved_bytes = bytes(tokens_ * h_);
  }

  static LayerOp waiting(LayerOp op) {
    op.blocks_host = true;
    return op;
  }

  void heads() {
    if (s_.encoder) return encoder_heads();
    const bool scaled = type() == LlmClass::switch_transformers && s_.tied_embeddings;
    if (scaled) {
      Layer& layer = stack_.push("head.scale");
      layer.forward.push_back(pointwise(layer.name, tokens_ * h_, {1, 1}));
      layer.backward.push_back(pointwise(layer.name + ".dgrad", tokens_ * h_, {1, 1}));
    }
    linear("head.decoder", tokens_, h_, s_.vocabulary, !s_.tied_embeddings, false);
    stack_.cross_entropy("loss", tokens_, s_.vocabulary);
  }

  void encoder_heads() {
    linear("pooler", n_, h_, h_);
    Layer& tanh = stack_.push("pooler.tanh");
    tanh.forward.push_back(pointwise(tanh.name, n_ * h_, {1, 1}));
    tanh.backward.push_back(pointwise(tanh.name + ".dgrad", n_ * h_, {2, 1}));
    if (!masked_head_) return linear("head.classes", n_, h_, 2);
    const std::int64_t masked = s_.predictions > 0 ? n_ * s_.predictions : tokens_;
    linear("head.transform", masked, h_, h_);
    activation("head.gelu", masked * h_);
    stack_.layer_norm("head.norm", masked, h_);
    linear("head.decoder", masked, h_, s_.vocabulary, false);
    linear("head.next_sentence", n_, h_, 2);
    stack_.cross_entropy("loss", masked, s_.vocabulary);
  }

  const LlmSpec& s_;
  const LayerContext& c_;
  TokenStack stack_;
  std::int64_t n_, h_, tokens_, recomputed_;
  bool masked_head_;
  bool fused_;  ///< pointwise chains are one kernel, with the softmax or norm that they meet
};

}  // namespace

std::optional<std::string> unlike_its_class(const LlmSpec& m) {
  if (m.model_type == LlmClass::none) return {};
  const bool t5 = m.model_type == LlmClass::switch_transformers, bert = m.model_type == LlmClass::bert;
  const auto unlike = [&](bool wrong, const char* key, const char* found, const char* expected) {
    return wrong ? std::optional(std::string(key) + ": found " + found + ", expected " + expected +
                                 " for model_type: " + std::string(name_of(m.model_type)))
                 : std::nullopt;
  };
  for (const auto& broken :
       {unlike(m.encoder != bert, "encoder", m.encoder ? "true" : "false", bert ? "true" : "false"),
        unlike((m.norm == LlmNorm::rms) != t5, "norm", m.norm == LlmNorm::rms ? "rms" : "layer", t5 ? "rms" : "layer"),
        unlike((m.positions == LlmPositions::relative) != t5 || (!t5 && m.positions != LlmPositions::learned),
               "positions", "others", t5 ? "relative" : "learned"),
        unlike((m.bias == LlmBias::none) != t5 || (!t5 && m.bias != LlmBias::all), "bias", "another",
               t5 ? "none" : "all"),
        unlike((m.decoder_layers > 0) != t5, "decoder_layers", m.decoder_layers > 0 ? "some" : "0", t5 ? "some" : "0"),
        unlike(m.experts > 0 && !t5, "experts", "some", "0"),
        unlike(m.experts > 0 && (m.top_k != 1 || m.dense_layers > 0), "top_k", "another or dense_layers", "1"),
        unlike(m.gated, "gated", "true", "false"), unlike(m.kv() != m.heads, "kv_heads", "fewer", "as many as heads"),
        unlike(m.attention != LlmAttention::full, "attention", "another", "full"),
        unlike(m.qk_norm, "qk_norm", "true", "false"), unlike(m.mtp_layers > 0, "mtp_layers", "some", "0"),
        unlike(!m.pattern.empty(), "pattern", "one", "none"),
        unlike(m.shared_expert_ffn_hidden > 0, "shared_expert_ffn_hidden", "some", "0")}) {
    if (broken) return broken;
  }
  return {};
}

std::span<const PointwiseTraffic> gelu_new_kernels() { return kGeluNew; }
std::span<const PointwiseTraffic> gelu_new_gradient_kernels() { return kGeluNewGrad; }

std::vector<Layer> transformers_layers(const LlmSpec& spec, std::int64_t samples, const LayerContext& context,
                                       std::int64_t recomputed, bool masked_head) {
  return TransformersLayerBuilder(spec, samples, context, recomputed, masked_head).build();
}

}  // namespace distsim::workload
