// Feed-forward sublayers: MLP and experts; and the two ends of a model.
#include <algorithm>
#include <cmath>

#include "sim/workload/llm/block_builder.hpp"
#include "sim/workload/llm/layer_by_layer/transformers_layers.hpp"

namespace distsim::workload {
namespace {

using graph::CollectiveKind;
using Side = BlockBuilder::Side;

/// The largest of the parts, which the other GPUs wait for.
std::int64_t split(std::int64_t width, std::int64_t by) { return (width + by - 1) / by; }

/// Reads and writes of an activation over `inner` elements a token, forward and backward, in tensors of that width.
struct ActivationTraffic {
  double reads, writes, back_reads, back_writes;
};
ActivationTraffic activation_traffic(const LlmShape& s) {
  const bool fused = s.framework.kernels.fuse_elementwise || s.framework.kernels.compiled;
  if (!s.spec.gated) return {1, 1, 2, 1};
  return fused ? ActivationTraffic{2, 1, 3, 2} : ActivationTraffic{3, 2, 5, 3};
}

/// Bytes that leave an NVLink domain, as a share of a copy for each of the k experts of a token: of D domains with equal
/// parts of the experts, k (1 - 1/D) copies go to others; at one for each domain that has any of them,
/// (D - 1) (1 - (1 - 1/D)^k). The links between domains are the slow ones, so the whole exchange is taken to shrink by it.
double copies_between_domains(const LlmShape& s) {
  const auto domains = static_cast<double>(s.expert_domains), top_k = static_cast<double>(s.spec.top_k);
  if (s.framework.parallel.expert_dispatch == ExpertDispatch::all_to_all || domains < 2) return 1;
  return domains * (1 - std::pow(1 - 1 / domains, top_k)) / top_k;
}

/// Rows that go to the experts for a rank's tokens. With a capacity each expert takes that many, padded to them:
/// ceil(capacity * tokens * top_k / experts), as Megatron Core's get_capacity and DeepSpeed's _capacity round it.
std::int64_t routed_rows(const LlmSpec& m, std::int64_t tokens) {
  const double chosen = static_cast<double>(tokens * m.top_k);
  if (m.router != LlmRouter::capacity) return static_cast<std::int64_t>(chosen);
  return m.experts * static_cast<std::int64_t>(std::ceil(chosen / static_cast<double>(m.experts) * m.capacity));
}

}  // namespace

void BlockBuilder::mlp(std::int64_t inner, bool decoder) {
  const std::int64_t rows = s_.tokens_of(decoder), own = split(inner, s_.tensor);
  const bool bias = s_.spec.bias == LlmBias::all;
  const ActivationTraffic t = activation_traffic(s_);
  product({.rows = rows,
           .in = s_.spec.hidden,
           .out = (s_.spec.gated ? 2 : 1) * own,
           .bias = bias,
           .input = Input::norm,
           .first = true,
           .side = Side::entry});
  keep(Module::activation, bytes(static_cast<double>(rows * own * (s_.spec.gated ? 2 : 1))));
  const bool fused = s_.framework.kernels.fuse_elementwise || s_.framework.kernels.compiled;
  if (s_.spec.model_type == LlmClass::gpt2 && !fused) {
    for (const PointwiseTraffic k : gelu_new_kernels())
      elementwise(Module::activation, rows * own, k.reads, k.writes, 0, 0, 1);
    for (const PointwiseTraffic k : gelu_new_gradient_kernels())
      backward_op(graph::Elementwise{std::max<std::int64_t>(1, rows * own), k.reads, k.writes, 1, dtype()}, 1, 1, 1);
  } else {
    elementwise(Module::activation, rows * own, t.reads, t.writes, t.back_reads, t.back_writes, 20);
  }
  product(
      {.rows = rows, .in = own, .out = s_.spec.hidden, .bias = bias, .input = Input::activation, .side = Side::exit});
}

/// What the framework's host costs in a layer of experts whose numbers of tokens it has to know.
void BlockBuilder::host_wait() {
  const Duration wait = s_.framework.parallel.expert_host_wait;
  if (wait == Duration() || s_.spec.router == LlmRouter::capacity || s_.framework.host.cuda_graph) return;
  forward_op(Module::routing, graph::HostWork{wait}, 1, 0, 0);
  backward_op(graph::HostWork{wait}, 1, 0, 0);
}

/// Products of a rank's experts, `average_rows` tokens in all where every expert has as many. `useful_rows`: those that
/// the model asks for and that are not dropped.
void BlockBuilder::expert_products(std::int64_t average_rows, double useful_rows, std::int64_t width) {
  const std::int64_t own = split(s_.spec.experts, s_.expert);
  // All wait for the GPU that has the most loaded expert, beside others of the average load.
  const auto rows =
      static_cast<std::int64_t>(static_cast<double>(average_rows) * (1 + s_.spec.imbalance / static_cast<double>(own)));
  const std::int64_t inner = split(s_.spec.expert_inner(), s_.expert_tensor);
  const bool bias = s_.spec.bias == LlmBias::all;
  const ActivationTraffic t = activation_traffic(s_);
  product({.rows = rows,
           .in = width,
           .out = (s_.spec.gated ? 2 : 1) * inner,
           .bias = bias,
           .expert = true,
           .groups = own,
           .useful_rows = useful_rows});
  keep(Module::activation, bytes(static_cast<double>(rows * inner * (s_.spec.gated ? 2 : 1))));
  elementwise(Module::activation, rows * inner, t.reads, t.writes, t.back_reads, t.back_writes, 20);
  product({.rows = rows,
           .in = inner,
           .out = width,
           .bias = bias,
           .input = Input::activation,
           .expert = true,
           .groups = own,
           .useful_rows = useful_rows});
}

/// Which all tokens of the tensor-parallel ranks pass, split as a dense layer is. `inside`: of a part that has gathered them.
void BlockBuilder::shared_experts(bool inside, bool decoder) {
  if (!inside) enter(s_.tokens_of(decoder));
  mlp(s_.spec.shared_expert_ffn_hidden, decoder);
  if (!inside) leave(s_.tokens_of(decoder));
}

/// Without sequence parallel all tensor-parallel ranks have all tokens. Where each sends its own part to the experts, it takes
/// that from them: back, they gather the parts' gradients. Results are gathered; of their gradients each takes its part.
/// (Megatron Core's scatter_to_ and gather_from_sequence_parallel_region.)
void BlockBuilder::take_own_tokens(std::int64_t tokens) {
  if (s_.tensor > 1 && !s_.parallel.sequence_parallel)
    wire_backward(Axis::tensor, CollectiveKind::all_gather, bytes_of_whole(tokens), false);
}

void BlockBuilder::give_own_tokens(std::int64_t tokens) {
  if (s_.tensor == 1 || s_.parallel.sequence_parallel) return;
  out_.forward.wires.emplace_back(Wire{Axis::tensor, CollectiveKind::all_gather, bytes_of_whole(tokens), false}, 1);
  if (repeats_wires()) wire_backward(Axis::tensor, CollectiveKind::all_gather, bytes_of_whole(tokens), false);
}

void BlockBuilder::experts(bool decoder) {
  const LlmSpec& m = s_.spec;
  const bool whole = s_.expert_tensor == s_.tensor;  // experts are split as the other layers are
  const std::int64_t all = s_.tokens_of(decoder), tokens = whole ? all : split(all, s_.tensor);
  const std::int64_t sharers = whole ? 1 : s_.expert_tensor;  // of an expert, each with tokens of its own
  const std::int64_t routed = routed_rows(m, tokens);
  const std::int64_t width = m.expert_latent > 0 ? m.expert_latent : m.hidden;
  const auto sent = static_cast<std::int64_t>(bytes(static_cast<double>(routed * width)) * copies_between_domains(s_));
  const auto gathered = static_cast<std::int64_t>(bytes(static_cast<double>(routed * sharers * width)));
  const bool hidden = s_.framework.parallel.overlap_expert == ExpertOverlap::always;
  const auto layer = [&] {
    whole ? enter(all) : take_own_tokens(all);
    product({.rows = tokens,
             .in = m.hidden,
             .out = m.experts,
             .bias = m.bias == LlmBias::all,
             .narrow = false,
             .first = true,
             .side = whole ? Side::entry : Side::inside});
    elementwise(Module::routing, tokens * m.experts, 4, 3, 3, 2, 10);  // softmax, choice, map of tokens, in fp32
    host_wait();
    if (m.expert_latent > 0)
      product({.rows = tokens, .in = m.hidden, .out = width, .side = whole ? Side::entry : Side::inside});
    elementwise(Module::routing, routed * width, 1, 1, 1, 1);
    if (s_.expert > 1) wire(Axis::expert, CollectiveKind::all_to_all, CollectiveKind::all_to_all, sent, hidden, hidden);
    if (sharers > 1) wire(Axis::expert_tensor, CollectiveKind::all_gather, CollectiveKind::reduce_scatter, gathered);
    const bool sorts = s_.expert > 1 || sharers > 1;
    if (sorts) elementwise(Module::routing, routed * sharers * width, 1, 1, 1, 1);  // in the order of own experts
    expert_products(routed * sharers, static_cast<double>(std::min(routed, tokens * m.top_k) * sharers), width);
    if (sorts) elementwise(Module::routing, routed * sharers * width, 1, 1, 1, 1);
    if (sharers > 1) wire(Axis::expert_tensor, CollectiveKind::reduce_scatter, CollectiveKind::all_gather, gathered);
    if (s_.expert > 1) wire(Axis::expert, CollectiveKind::all_to_all, CollectiveKind::all_to_all, sent, hidden, hidden);
    const double top = static_cast<double>(routed) / static_cast<double>(tokens);
    elementwise(Module::routing, tokens * width, top, 1, 1 + top, top);  // weighted sum
    if (m.expert_latent > 0)
      product({.rows = tokens, .in = width, .out = m.hidden, .side = whole ? Side::exit : Side::inside});
    if (m.shared_expert_ffn_hidden > 0) within(Part::shared_experts, [&] { shared_experts(whole, decoder); });
    whole ? leave(all) : give_own_tokens(all);
  };
  sublayer(decoder, [&] { within(Part::experts, layer); });
}

PartWork embedding_work(const LlmShape& s) {
  static const Recompute kKept{RecomputeKind::none, 0, {}};
  BlockBuilder b(s, kKept);
  const LlmSpec& m = s.spec;
  graph::EmbeddingBag lookup;
  lookup.tables = {{split(m.vocabulary, s.tensor), m.hidden, 1, 1.0}};
  lookup.batch = s.tokens();
  lookup.output = s.numerics.activation;
  lookup.optimizer = graph::EmbeddingOptimizer::none;
  lookup.update = graph::SparseUpdate::fused;
  b.forward_op(Module::residual, lookup, 1, 3, 1);
  lookup.pass = graph::Pass::backward;
  if (m.training != LlmTraining::lora) b.backward_op(lookup, 1, 2, 4);
  b.weights(static_cast<double>(split(m.vocabulary, s.tensor)) * static_cast<double>(m.hidden), 1);
  b.leave(s.tokens());
  if (m.positions == LlmPositions::learned) {
    b.elementwise(Module::residual, s.shared() * m.hidden, 2, 1, 1, 1);
    b.weights(static_cast<double>(m.position_table()) * static_cast<double>(m.hidden), 1);
  }
  if (m.dropout) {
    b.elementwise(Module::residual, s.shared() * m.hidden, 1, 1.5, 1.5, 1);
    b.keep(Module::residual, static_cast<double>(s.shared() * m.hidden));
  }
  return b.take();
}

namespace {

/// Of a logit: kept until the loss runs backward (the logit in 16 bits, or its softmax in fp32), and there besides while it
/// does. Nothing of either where logits are made chunk by chunk. Not fused, as in PyTorch's cross_entropy of logits in
/// fp32 (ATen/native/LossNLL.cpp, SoftMax.cpp): log-softmax, its gradient and that of what was picked, each of its size.
struct LogitBytes {
  double kept = 0, meanwhile = 0;
};
LogitBytes logit_bytes(const LlmShape& s, bool fused) {
  if (s.framework.kernels.chunked_loss) return {};
  double all = static_cast<double>(s.framework.memory.logit_bytes);
  if (all == 0) all = !fused ? 12 : s.numerics.mixed ? 4 : 8;
  const double kept = all > 4 ? 4 : all / 2;
  return {kept, all - kept};
}

}  // namespace

namespace {

/// Rows that logits are made of: all tokens, or an encoder's masked ones.
std::int64_t rows_of_logits(const LlmShape& s, std::int64_t rows) {
  if (!s.spec.encoder || s.spec.predictions == 0) return rows;
  return std::min(rows, split(s.samples * s.spec.predictions, s.context));
}

/// Of an encoder: a pooler of each sample's first token, and two classes.
void sentence_heads(BlockBuilder& b) {
  const std::int64_t samples = b.shape().samples, width = b.shape().spec.hidden;
  b.product({.rows = samples, .in = width, .out = width, .bias = true, .narrow = false});
  b.elementwise(Module::residual, samples * width, 1, 1, 2, 1);
  b.product({.rows = samples, .in = width, .out = 2, .bias = true, .narrow = false});
}

}  // namespace

PartWork head_work(const LlmShape& s) {
  static const Recompute kKept{RecomputeKind::none, 0, {}};
  BlockBuilder b(s, kKept);
  const LlmSpec& m = s.spec;
  const bool decoder = m.decoder_layers > 0;
  const std::int64_t tokens = s.tokens_of(decoder), classes = split(m.vocabulary, s.tensor);
  const std::int64_t rows = rows_of_logits(s, tokens);
  b.norm(b.rows_of(tokens), m.hidden);
  b.enter(tokens);
  if (m.encoder) {
    sentence_heads(b);
    if (s.infers && m.model_type == LlmClass::bert)
      return b.take();  // a classifier: masked tokens have no meaning to it
    b.product({.rows = rows, .in = m.hidden, .out = m.hidden, .bias = true, .narrow = false, .side = Side::entry});
    b.elementwise(Module::residual, rows * m.hidden, 1, 1, 2, 1, 20);
    b.norm(rows, m.hidden);
  }
  const bool own = !m.tied_embeddings || s.parallel.pipeline > 1;
  b.product({.rows = rows, .in = m.hidden, .out = classes, .narrow = false, .owns_weight = own, .side = Side::entry});
  if (s.infers) return b.take();
  graph::Loss loss;
  loss.rows = rows;
  loss.classes = classes;
  const bool fused = s.framework.kernels.fuse_loss || s.framework.kernels.compiled;
  loss.fused = fused;
  loss.dtype = fused ? s.numerics.activation : graph::DType::fp32;
  // To fp32 and back, and of a split vocabulary maximum, sum and the label's logit.
  if (!fused && s.numerics.mixed) b.elementwise(Module::residual, rows * classes, 1, 2, 2, 1, 1);
  b.forward_op(Module::residual, loss, 1, fused ? 2 : 6, fused ? 1 : 6);
  loss.pass = graph::Pass::backward;
  b.backward_op(loss, 1, 2, 2);
  const auto [kept, meanwhile] = logit_bytes(s, fused);
  b.keep(Module::residual, static_cast<double>(rows * classes) * kept);
  if (s.tensor > 1) b.wire(Axis::tensor, CollectiveKind::all_reduce, CollectiveKind::all_reduce, 3 * rows * 4);
  PartWork out = b.take();
  out.working += static_cast<double>(rows * classes) * meanwhile;
  return out;
}

PartWork block_work(const LlmShape& shape, const BlockKind& kind, const Recompute& recompute, bool decoder) {
  BlockBuilder b(shape, recompute);
  for (const Sublayer part : kind) {
    switch (part) {
      case Sublayer::attention:
      case Sublayer::window_attention:
      case Sublayer::cross_attention:
        b.attention(part, decoder);
        break;
      case Sublayer::mlp: {
        const std::int64_t rows = shape.tokens_of(decoder);
        b.sublayer(decoder, [&] {
          b.within(Part::mlp, [&] {
            b.enter(rows);
            b.mlp(shape.spec.inner(), decoder);
            b.leave(rows);
          });
        });
        break;
      }
      case Sublayer::experts:
        b.experts(decoder);
        break;
      case Sublayer::mamba:
        b.mamba();
        break;
    }
  }
  PartWork out = b.take();
  out.movable = out.kept;
  return out;
}

PartWork mtp_work(const LlmShape& shape, const Recompute& recompute) {
  BlockBuilder b(shape, recompute);
  b.norm(shape.shared(), shape.spec.hidden);
  b.norm(shape.shared(), shape.spec.hidden);
  b.product({.rows = shape.tokens(), .in = 2 * shape.spec.hidden, .out = split(shape.spec.hidden, shape.tensor)});
  PartWork out = b.take();
  const PartWork block = block_work(shape, mtp_kind(shape.spec), recompute, false);
  PartWork head = head_work(shape);
  head.dense = head.trained_dense = head.tensors = 0;  // shared with the main head
  for (const PartWork* part : {&block, static_cast<const PartWork*>(&head)}) {
    out.forward.add(part->forward, 1);
    out.backward.add(part->backward, 1);
    out.repeated.add(part->repeated, 1);
    out.forward_flops += part->forward_flops;
    out.repeated_flops += part->repeated_flops;
    out.dense += part->dense;
    out.expert += part->expert;
    out.trained_dense += part->trained_dense;
    out.trained_expert += part->trained_expert;
    out.tensors += part->tensors;
    out.kept += part->kept;
    out.movable += part->movable;
    out.working = std::max(out.working, part->working);
  }
  return out;
}

}  // namespace distsim::workload
