#include "sim/workload/llm/megatron_layers.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "sim/workload/layers/token_layers.hpp"

namespace distsim::workload {
namespace {

class SplitBuilder {
 public:
  SplitBuilder(const MegatronSpec& spec, std::int64_t samples, const LayerContext& context)
      : s_(spec),
        stack_(context, true),
        t_(spec.tensor),
        h_(spec.hidden),
        ffn_(spec.inner_width()),
        tokens_(samples * spec.sequence),
        shared_(spec.sequence_parallel ? std::max<std::int64_t>(1, tokens_ / t_) : tokens_),
        samples_(samples) {}

  SplitLayers build() {
    embeddings();
    for (std::int64_t i = 0; i < s_.chunk_layers(); ++i) {
      block_ = static_cast<int>(i) + 1;
      block("block" + std::to_string(i));
    }
    ++block_;
    head();
    out_.message_bytes = stack_.bytes(shared_ * h_);
    out_.tied_elements = s_.vocabulary / t_ * h_;
    out_.layers = stack_.take();
    fill_up();
    if (!s_.activation_checkpointing) return std::move(out_);
    for (std::size_t i = 0; i < out_.layers.size(); ++i) {
      if (out_.block[i] > 0 && out_.block[i] < block_) out_.layers[i].block = out_.block[i];
      if (i > 0 && out_.block[i] != out_.block[i - 1]) out_.layers[i].input_bytes = stack_.bytes(shared_ * h_);
    }
    return std::move(out_);
  }

 private:
  /// Lists that name a layer for all layers up to the newest.
  void fill_up() {
    const std::size_t n = out_.layers.empty() ? stack_.layers().size() : out_.layers.size();
    out_.after_forward.resize(n);
    out_.after_backward.resize(n);
    out_.of_expert.resize(n, false);
    out_.block.resize(n, block_);
  }
  std::int64_t activations() const { return stack_.bytes(tokens_ * h_); }

  /// Entry to matrices that are split by columns: gathered tokens, and backward the sum over the ranks.
  void enter() {
    fill_up();
    if (t_ == 1) return;
    const std::size_t last = out_.after_forward.size() - 1;
    if (s_.sequence_parallel) out_.after_forward[last].push_back({graph::CollectiveKind::all_gather, activations()});
    entered_ = last + 1;
  }
  void entered() {
    fill_up();
    if (t_ == 1) return;
    out_.after_backward[entered_].push_back(
        {s_.sequence_parallel ? graph::CollectiveKind::reduce_scatter : graph::CollectiveKind::all_reduce,
         activations()});
  }
  /// Exit from matrices that are split by rows: the sum over the ranks, and backward its gradient gathered.
  void leave() {
    fill_up();
    if (t_ == 1) return;
    out_.after_forward.back().push_back(
        {s_.sequence_parallel ? graph::CollectiveKind::reduce_scatter : graph::CollectiveKind::all_reduce,
         activations()});
    left_ = out_.after_forward.size();
  }
  /// To be called once the layer after leave() is there: backward its end is where gradients are gathered.
  void left() {
    fill_up();
    if (t_ > 1 && s_.sequence_parallel)
      out_.after_backward[left_].push_back({graph::CollectiveKind::all_gather, activations()});
  }

  void embeddings() {
    graph::EmbeddingBag lookup;
    lookup.tables = {{std::max<std::int64_t>(1, s_.vocabulary / t_), h_, 1, 1.0}};
    lookup.batch = tokens_;
    lookup.output = stack_.dtype();
    lookup.optimizer = graph::EmbeddingOptimizer::none;
    lookup.update = dense_table_update(stack_.context());
    Layer& layer = stack_.push("embeddings");
    layer.forward.push_back({"embeddings.tokens", lookup, {1, 1}});
    lookup.pass = graph::Pass::backward;
    layer.backward.push_back({"embeddings.tokens.wgrad", lookup, {1, 4}});
    layer.parameters = {{"embeddings.tokens", s_.vocabulary / t_ * h_}, {"embeddings.positions", s_.sequence * h_}};
    leave();
    stack_.dropout("embeddings.dropout", shared_ * h_);
    left();
  }

  void block(const std::string& name) {
    stack_.layer_norm(name + ".attention.norm", shared_, h_);
    enter();
    stack_.linear(name + ".qkv", tokens_, h_, 3 * h_ / t_);
    entered();
    scores(name);
    stack_.linear(name + ".projection", tokens_, h_ / t_, h_);
    leave();
    stack_.residual(name + ".attention", shared_ * h_);
    left();
    stack_.layer_norm(name + ".mlp.norm", shared_, h_);
    enter();
    if (s_.experts == 0)
      feed_forward(name + ".mlp", tokens_);
    else
      experts(name + ".experts");
    leave();
    stack_.residual(name + ".mlp", shared_ * h_);
    left();
    if (combine_at_ == 0) return;
    out_.after_backward[combine_at_].push_back(exchange_);
    combine_at_ = 0;
  }

  void scores(const std::string& name) {
    graph::Attention op;
    op.batch = samples_;
    op.heads = s_.heads / t_;
    op.q_len = op.kv_len = s_.sequence;
    op.head_dim = h_ / s_.heads;
    op.causal = op.dropout = true;
    op.flash =
        stack_.context().framework->kernels.attention == AttentionKernels::flash && graph::size_of(stack_.dtype()) <= 2;
    op.dtype = stack_.dtype();
    Layer& layer = stack_.push(name + ".scores");
    layer.saved_bytes = stack_.bytes(3 * tokens_ * h_ / t_);
    if (!op.flash) layer.saved_bytes += stack_.bytes(2 * samples_ * op.heads * s_.sequence * s_.sequence);
    layer.forward.push_back({name + ".scores", op, op.flash ? graph::Dispatch{2, 2} : graph::Dispatch{5, 5}});
    op.pass = graph::Pass::backward;
    layer.backward.push_back({name + ".scores.dgrad", op, op.flash ? graph::Dispatch{2, 3} : graph::Dispatch{5, 7}});
    stack_.add_calls_without_kernels(layer);
  }

  void feed_forward(const std::string& name, std::int64_t rows) {
    stack_.linear(name + ".up", rows, h_, ffn_ / t_, Activation::gelu);
    entered();
    stack_.linear(name + ".down", rows, ffn_ / t_, h_);
  }

  /// Tokens are spread evenly over the experts; each rank's own experts see as many as it sends.
  void experts(const std::string& name) {
    stack_.linear(name + ".router", tokens_, h_, s_.experts, Activation::none, true, false);
    entered();
    const std::int64_t routed = tokens_ * s_.top_k, own = s_.experts / s_.expert;
    exchange_ = {graph::CollectiveKind::all_to_all, stack_.bytes(routed * h_), true};
    const bool spread = s_.expert > 1;
    if (spread) out_.after_forward.back().push_back(exchange_);
    const std::size_t first = stack_.layers().size();
    for (std::int64_t e = 0; e < own; ++e) {
      stack_.linear(name + ".up", std::max<std::int64_t>(1, routed / own), h_, ffn_ / t_, Activation::gelu);
      stack_.linear(name + ".down", std::max<std::int64_t>(1, routed / own), ffn_ / t_, h_);
    }
    fill_up();
    for (std::size_t i = first; i < out_.of_expert.size(); ++i) out_.of_expert[i] = true;
    if (!spread) return;
    out_.after_backward[first].push_back(exchange_);
    out_.after_forward.back().push_back(exchange_);
    combine_at_ = stack_.layers().size();
  }

  void head() {
    stack_.layer_norm("head.norm", shared_, h_);
    enter();
    stack_.linear("head.decoder", tokens_, h_, std::max<std::int64_t>(1, s_.vocabulary / t_), Activation::none,
                  s_.pipeline > 1, false);
    entered();
    stack_.cross_entropy("loss", tokens_, std::max<std::int64_t>(1, s_.vocabulary / t_));
    fill_up();
    if (t_ > 1) out_.after_forward.back().push_back({graph::CollectiveKind::all_reduce, 2 * tokens_ * 4});
  }

  const MegatronSpec& s_;
  TokenStack stack_;
  std::int64_t t_, h_, ffn_, tokens_, shared_, samples_;
  int block_ = 0;
  std::size_t entered_ = 0, left_ = 0;
  std::size_t combine_at_ =
      0;  ///< layer whose backward pass yields the gradient that goes back to the experts; 0: none
  LayerExchange exchange_;
  SplitLayers out_;
};

}  // namespace

std::int64_t SplitLayers::parameters(ModelPart part) const {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) sum += part_of(i) == part ? parameters_of(layers[i]) : 0;
  return sum;
}

std::int64_t SplitLayers::tensors(ModelPart part) const {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) sum += part_of(i) == part ? layers[i].parameters.size() : 0;
  return static_cast<std::int64_t>(sum);
}

double SplitLayers::forward_flops(ModelPart part) const {
  double sum = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) sum += part_of(i) == part ? matrix_flops(layers[i].forward) : 0;
  return sum;
}

std::int64_t SplitLayers::kept(ModelPart part, bool checkpointed) const {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (part_of(i) == part) sum += checkpointed ? layers[i].input_bytes : layers[i].saved_bytes;
  }
  return sum;
}

std::int64_t SplitLayers::largest_whole(ModelPart part) const {
  std::int64_t whole = 0, largest = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (i > 0 && block[i] != block[i - 1]) whole = 0;
    whole += layers[i].saved_bytes;
    if (part_of(i) == part) largest = std::max(largest, whole);
  }
  return largest;
}

SplitLayers split_layers(const MegatronSpec& spec, std::int64_t samples, const LayerContext& context) {
  return SplitBuilder(spec, samples, context).build();
}

}  // namespace distsim::workload
