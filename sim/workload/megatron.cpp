// Megatron-style GPT: tensor, sequence, expert and sharded data parallel. Rank r: place r % tensor of its tensor-parallel group, replica r / tensor.
//
// A block on one of t tensor-parallel ranks, T tokens of width h (arXiv 1909.08053, 2205.05198 for sequence parallel):
//   norm, [gather], qkv T x h x 3h/t, attention of heads/t, projection T x h/t x h, reduce, residual,
//   norm, [gather], up T x h x f/t, gelu, down T x f/t x h, reduce, residual
// reduce: all-reduce of T h, or with sequence parallel reduce-scatter, and norms and residuals on T/t tokens. Backward the transposes: as many of each.
// Experts (arXiv 2101.03961): router T x h x E; all-to-all of top_k T h to the experts' owners and back, each way in both passes.
// Sharded data parallel (arXiv 1910.02054): 0 all-reduce of gradients; 1, 2 reduce-scatter, and gather of the updated weights; 3 gathers before each
// block's forward and backward pass, reduce-scatter after.
#include <algorithm>
#include <string>

#include "sim/workload/data_parallel.hpp"
#include "sim/workload/gradient_sync.hpp"
#include "sim/workload/input.hpp"
#include "sim/workload/memory.hpp"
#include "sim/workload/token_layers.hpp"

namespace distsim {
namespace {

/// A collective of a layer, on the tensor-parallel or the expert-parallel group.
struct LayerExchange {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::int64_t bytes = 0;
  bool experts = false;
};

/// Layers of one rank, and what follows them on the wire.
struct SplitLayers {
  std::vector<Layer> layers;
  std::vector<std::vector<LayerExchange>> after_forward, after_backward;  ///< by layer
  std::vector<int> block;                                                 ///< by layer
};

class SplitBuilder {
 public:
  SplitBuilder(const MegatronSpec& spec, std::int64_t samples, const LayerContext& context)
      : s_(spec), stack_(context, true), t_(spec.tensor), h_(spec.hidden), ffn_(spec.ffn_hidden > 0 ? spec.ffn_hidden : 4 * spec.hidden),
        tokens_(samples * spec.sequence), shared_(spec.sequence_parallel ? std::max<std::int64_t>(1, tokens_ / t_) : tokens_), samples_(samples) {}

  SplitLayers build() {
    embeddings();
    for (std::int64_t i = 0; i < s_.layers; ++i) {
      block_ = static_cast<int>(i) + 1;
      block("block" + std::to_string(i));
    }
    ++block_;
    head();
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
    out_.block.resize(n, block_);
  }
  std::int64_t activations() const { return stack_.bytes(tokens_ * h_); }

  /// Entry to matrices that are split by columns: gathered tokens, and backward the sum over the ranks.
  void enter() {
    fill_up();
    if (t_ == 1) return;
    const std::size_t last = out_.after_forward.size() - 1;
    if (s_.sequence_parallel) out_.after_forward[last].push_back({CollectiveKind::all_gather, activations()});
    entered_ = last + 1;
  }
  void entered() {
    fill_up();
    if (t_ == 1) return;
    out_.after_backward[entered_].push_back({s_.sequence_parallel ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce, activations()});
  }
  /// Exit from matrices that are split by rows: the sum over the ranks, and backward its gradient gathered.
  void leave() {
    fill_up();
    if (t_ == 1) return;
    out_.after_forward.back().push_back({s_.sequence_parallel ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce, activations()});
    left_ = out_.after_forward.size();
  }
  /// To be called once the layer behind leave() is there: backward its end is where gradients are gathered.
  void left() {
    fill_up();
    if (t_ > 1 && s_.sequence_parallel) out_.after_backward[left_].push_back({CollectiveKind::all_gather, activations()});
  }

  void embeddings() {
    EmbeddingBag lookup;
    lookup.tables = {{std::max<std::int64_t>(1, s_.vocabulary / t_), h_, 1, 1.0}};
    lookup.batch = tokens_;
    lookup.output = stack_.dtype();
    lookup.optimizer = EmbeddingOptimizer::none;
    lookup.update = SparseUpdate::sort_dedup;
    Layer& layer = stack_.push("embeddings");
    layer.forward.push_back({"embeddings.tokens", lookup, {1, 1}});
    lookup.pass = Pass::backward;
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
    if (s_.experts == 0) feed_forward(name + ".mlp", tokens_);
    else experts(name + ".experts");
    leave();
    stack_.residual(name + ".mlp", shared_ * h_);
    left();
    if (combine_at_ == 0) return;
    out_.after_backward[combine_at_].push_back(exchange_);
    combine_at_ = 0;
  }

  void scores(const std::string& name) {
    Attention op;
    op.batch = samples_;
    op.heads = s_.heads / t_;
    op.q_len = op.kv_len = s_.sequence;
    op.head_dim = h_ / s_.heads;
    op.causal = op.dropout = true;
    op.flash = stack_.context().framework->flash_attention && size_of(stack_.dtype()) <= 2;
    op.dtype = stack_.dtype();
    Layer& layer = stack_.push(name + ".scores");
    layer.saved_bytes = stack_.bytes(3 * tokens_ * h_ / t_);
    if (!op.flash) layer.saved_bytes += stack_.bytes(2 * samples_ * op.heads * s_.sequence * s_.sequence);
    layer.forward.push_back({name + ".scores", op, op.flash ? Dispatch{2, 2} : Dispatch{5, 5}});
    op.pass = Pass::backward;
    layer.backward.push_back({name + ".scores.dgrad", op, op.flash ? Dispatch{2, 3} : Dispatch{5, 7}});
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
    exchange_ = {CollectiveKind::all_to_all, stack_.bytes(routed * h_), true};
    const bool spread = s_.expert > 1;
    if (spread) out_.after_forward.back().push_back(exchange_);
    const std::size_t first = stack_.layers().size();
    for (std::int64_t e = 0; e < own; ++e) {
      stack_.linear(name + ".up", std::max<std::int64_t>(1, routed / own), h_, ffn_ / t_, Activation::gelu);
      stack_.linear(name + ".down", std::max<std::int64_t>(1, routed / own), ffn_ / t_, h_);
    }
    fill_up();
    if (!spread) return;
    out_.after_backward[first].push_back(exchange_);
    out_.after_forward.back().push_back(exchange_);
    combine_at_ = stack_.layers().size();
  }

  void head() {
    stack_.layer_norm("head.norm", shared_, h_);
    enter();
    stack_.linear("head.decoder", tokens_, h_, std::max<std::int64_t>(1, s_.vocabulary / t_), Activation::none, false, false);
    entered();
    stack_.cross_entropy("loss", tokens_, std::max<std::int64_t>(1, s_.vocabulary / t_));
    fill_up();
    if (t_ > 1) out_.after_forward.back().push_back({CollectiveKind::all_reduce, 2 * tokens_ * 4});
  }

  const MegatronSpec& s_;
  TokenStack stack_;
  std::int64_t t_, h_, ffn_, tokens_, shared_, samples_;
  int block_ = 0;
  std::size_t entered_ = 0, left_ = 0;
  std::size_t combine_at_ = 0;  ///< layer whose backward pass yields the gradient that goes back to the experts; 0: none
  LayerExchange exchange_;
  SplitLayers out_;
};

/// With checkpointing a block keeps its input, and one block at a time is whole again.
std::int64_t activation_bytes(const SplitLayers& split, bool checkpointed) {
  std::int64_t kept = 0, whole = 0, largest = 0;
  for (std::size_t i = 0; i < split.layers.size(); ++i) {
    if (i > 0 && split.block[i] != split.block[i - 1]) whole = 0;
    whole += split.layers[i].saved_bytes;
    largest = std::max(largest, whole);
    kept += checkpointed ? split.layers[i].input_bytes : split.layers[i].saved_bytes;
  }
  return checkpointed ? kept + largest : kept;
}

class MegatronIteration {
 public:
  MegatronIteration(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape)
      : model_(model), s_(model.megatron), ranks_(shape.ranks()), tensor_(static_cast<std::uint32_t>(s_.tensor)), replicas_(ranks_ / tensor_),
        expert_(static_cast<std::uint32_t>(s_.expert)), it_(ranks_, framework, numerics_of(model.precision, framework)),
        split_(SplitBuilder(s_, s_.micro_batch, it_context()).build()), samples_{ranks_, ranks_, s_.micro_batch, s_.micro_batch},
        stack_([this](std::int64_t) { return split_.layers; }, samples_) {}

  Result<Workload> build(const ClusterShape& shape, std::int64_t batch) {
    const std::int64_t round = std::int64_t{replicas_} * s_.micro_batch;
    if (batch % round != 0) {
      return Error{"model.global_batch: found " + std::to_string(batch) + ", expected a multiple of " + std::to_string(round) + ": " + std::to_string(replicas_) +
                       " replicas x micro_batch " + std::to_string(s_.micro_batch), "", ""};
    }
    micro_steps_ = batch / round;
    constexpr std::int64_t kMostTasks = 4'000'000;
    if (micro_steps_ * static_cast<std::int64_t>(split_.layers.size()) > kMostTasks / 8) {
      return Error{"model.megatron.micro_batch: found " + std::to_string(s_.micro_batch) + ", which makes " + std::to_string(micro_steps_) + " micro-steps, expected fewer", "", ""};
    }
    out_.memory = {memory()};
    TRY(check_memory(out_.memory, ranks_, shape.memory_per_gpu));
    describe(batch);
    run();
    TRY_ASSIGN(out_.graph, std::move(it_).finish());
    return std::move(out_);
  }

 private:
  LayerContext it_context() const { return it_.context(); }
  std::size_t layers() const { return split_.layers.size(); }
  bool sharded(int stage) const { return s_.zero >= stage && replicas_ > 1; }
  static bool of_experts(const Layer& layer) { return layer.name.find(".experts.up") != std::string::npos || layer.name.find(".experts.down") != std::string::npos; }

  RankMemory memory() const {
    const std::int64_t parameters = parameters_of(split_.layers);
    RankMemory m = dense_memory(parameters, model_.optimizer, it_);
    const std::int64_t masters = it_.numerics().mixed ? parameters * 4 : 0, weights = m.weights - masters;
    m.weights = (sharded(3) ? weights / replicas_ : weights) + (sharded(1) ? masters / replicas_ : masters);
    if (sharded(1)) m.optimizer /= replicas_;
    if (sharded(2)) m.gradients /= replicas_;
    m.buffers = 0;
    m.activations = activation_bytes(split_, s_.activation_checkpointing);
    return m;
  }

  void describe(std::int64_t batch) {
    out_.samples = static_cast<double>(batch);
    out_.model_flops = 3 * forward_matrix_flops(split_.layers) * static_cast<double>(micro_steps_) * ranks_;
    out_.precision = name_of(it_.numerics().matrix);
    out_.dense_parameters = parameters_of(split_.layers) * s_.tensor;
    out_.assumptions.push_back("batch " + std::to_string(batch) + ": " + std::to_string(replicas_) + " replicas take " + std::to_string(micro_steps_) + " micro-steps of " +
                               std::to_string(s_.micro_batch));
    if (s_.experts > 0) out_.assumptions.push_back("tokens spread evenly over experts");
    out_.placement = "tensor parallel " + std::to_string(tensor_) + (s_.sequence_parallel ? " with sequence parallel" : "") + ", expert parallel " + std::to_string(expert_) +
                     ", data parallel " + std::to_string(replicas_) + ", ZeRO stage " + std::to_string(s_.zero) + "\n";
  }

  void run() {
    if (sharded(1) && !sharded(3)) it_.compute_waits_for(gather(0, layers(), "weights.gather"));  // those that the step before has updated
    TaskId begin;
    for (std::int64_t step = 0; step < micro_steps_; ++step) {
      const TaskId next = it_.end_id();
      if (step >= 2 && step + 1 < micro_steps_) it_.repeat_since(begin);
      else micro_step(step);
      begin = next;
    }
    for (const TaskId task : synced_) it_.compute_waits_for(task);
    const std::int64_t parameters = parameters_of(split_.layers), share = sharded(1) ? replicas_ : 1;
    add_optimizer(it_, model_.optimizer, (parameters + share - 1) / share, tensors_of(split_.layers), model_.precision == Precision::fp16);
  }

  void micro_step(std::int64_t step) {
    add_input(it_, samples_, static_cast<double>(s_.sequence) * 16 / static_cast<double>(s_.tensor));
    for (std::size_t first = 0; first < layers(); first = block_end(first)) {
      fetch(first, block_end(first));
      forward(first, Phase::forward);
    }
    for (std::size_t end = layers(); end > 0;) {
      const std::size_t first = block_begin(end - 1);
      fetch(first, first > 0 ? block_begin(first - 1) : layers());
      if (split_.layers[first].block != Layer::kNoBlock) forward(first, Phase::backward);
      while (end > first) backward(--end, step > 0);
      if (step + 1 == micro_steps_) sync(first, block_end(first));
    }
  }

  std::size_t block_end(std::size_t i) const {
    std::size_t end = i;
    while (end < layers() && split_.block[end] == split_.block[i]) ++end;
    return end;
  }
  std::size_t block_begin(std::size_t i) const {
    std::size_t first = i;
    while (first > 0 && split_.block[first - 1] == split_.block[i]) --first;
    return first;
  }

  /// Where weights are split over the replicas: waits for those of this block, and asks for the next one's, which arrive while this one computes.
  void fetch(std::size_t first, std::size_t next) {
    if (!sharded(3)) return;
    if (fetched_ != first) ahead_ = gather(first, block_end(first), "weights.gather");
    it_.compute_waits_for(ahead_);
    fetched_ = next;
    ahead_ = next < layers() ? gather(next, block_end(next), "weights.gather") : TaskId();
  }

  void forward(std::size_t first, Phase phase) {
    for (std::size_t i = first, end = block_end(first); i < end; ++i) {
      it_.add_forward(stack_, i, samples_, phase);
      for (const LayerExchange& e : split_.after_forward[i]) exchange(e, split_.layers[i].name, phase);
    }
  }
  void backward(std::size_t i, bool accumulate) {
    add_backward_of(it_, stack_, i, samples_, accumulate, nullptr);
    for (const LayerExchange& e : split_.after_backward[i]) exchange(e, split_.layers[i].name + ".dgrad", Phase::backward);
  }
  void exchange(const LayerExchange& e, const std::string& layer, Phase phase) {
    const Partition groups = e.experts ? Partition::strided(expert_, tensor_) : Partition::strided(tensor_, 1);
    const Collective op{e.kind, e.bytes, it_.numerics().activation, {}, {}};
    it_.compute_waits_for(it_.add_collective(layer + "." + std::string(name_of(e.kind)), Stream::comm, phase, op, groups));
  }

  /// Bytes of the weights, or gradients, of layers [first, end): those of experts, or of all else.
  std::int64_t bytes_of(std::size_t first, std::size_t end, bool experts, DType dtype) const {
    std::int64_t sum = 0;
    for (std::size_t i = first; i < end; ++i) sum += of_experts(split_.layers[i]) == experts ? parameters_of(split_.layers[i]) : 0;
    return sum * size_of(dtype);
  }
  /// Replicas of a weight: experts are held by one in `expert` of them.
  Partition replicas_of(bool experts) const {
    return experts ? Partition::strided(replicas_ / expert_, tensor_ * expert_) : Partition::strided(replicas_, tensor_);
  }
  TaskId over_replicas(CollectiveKind kind, std::size_t first, std::size_t end, bool experts, DType dtype, const std::string& name, Phase phase) {
    const std::int64_t bytes = bytes_of(first, end, experts, dtype);
    const Partition groups = replicas_of(experts);
    if (bytes == 0 || groups.size < 2) return TaskId();
    return it_.add_collective(name, it_.gradient_stream(), phase, {kind, bytes, dtype, {}, {}}, groups);
  }
  TaskId gather(std::size_t first, std::size_t end, const std::string& name) {
    const DType dtype = it_.numerics().mixed ? it_.numerics().activation : DType::fp32;
    it_.compute_waits_for(over_replicas(CollectiveKind::all_gather, first, end, true, dtype, name + ".experts", Phase::exchange));
    return over_replicas(CollectiveKind::all_gather, first, end, false, dtype, name, Phase::exchange);
  }
  void sync(std::size_t first, std::size_t end) {
    const CollectiveKind kind = sharded(1) ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce;
    for (const bool experts : {false, true}) {
      synced_.push_back(over_replicas(kind, first, end, experts, it_.numerics().gradient, experts ? "gradients.experts" : "gradients", Phase::gradient_sync));
    }
  }

  const ModelSpec& model_;
  const MegatronSpec& s_;
  std::uint32_t ranks_, tensor_, replicas_, expert_;
  Iteration it_;
  SplitLayers split_;
  SampleSplit samples_;
  LayerStack stack_;
  std::int64_t micro_steps_ = 1;
  std::size_t fetched_ = ~std::size_t{0};  ///< block whose weights are on their way
  TaskId ahead_;
  std::vector<TaskId> synced_;
  Workload out_;
};

}  // namespace

Result<Workload> build_megatron(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape, const SamplePlan& samples) {
  const MegatronSpec& m = model.megatron;
  if (shape.ranks() % (m.tensor * m.expert) != 0) {
    return Error{"model.megatron.tensor: found " + std::to_string(m.tensor) + (m.expert > 1 ? " x expert " + std::to_string(m.expert) : "") +
                     ", expected a divisor of " + std::to_string(shape.ranks()) + " GPUs", "", ""};
  }
  return MegatronIteration(model, framework, shape).build(shape, samples.total);
}

}  // namespace distsim
