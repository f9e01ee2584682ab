// Attention sublayers: projections, rotary positions, scores, what context parallelism exchanges.
#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "sim/workload/llm/block_builder.hpp"

namespace distsim::workload {
namespace {

using graph::CollectiveKind;

/// Documents of one length, that have a share of the tokens.
struct Documents {
  std::int64_t length;
  double share;
};

/// Those of a sample of `sequence`. A mean is no length of a document, which sizes of tiles would suit or not: tokens and
/// scores are shared among documents of the powers of two around it, so that they add up. Documents that are shorter than a
/// tile share one, where the others of it are masked.
std::vector<Documents> documents(const LlmSpec& m, std::int64_t sequence) {
  constexpr std::int64_t kTile = 128;
  if (m.mean_tokens == 0 || m.mean_tokens >= sequence) return {{sequence, 1}};
  if (m.mean_tokens <= kTile) return {{std::min(kTile, sequence), 1}};
  const auto below = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(m.mean_tokens)));
  const std::int64_t above = std::min(2 * below, sequence);
  const double longer = static_cast<double>(m.mean_tokens - below) / static_cast<double>(above - below);
  if (longer == 0) return {{below, 1}};
  return {{below, 1 - longer}, {above, longer}};
}

}  // namespace

void BlockBuilder::attention(Sublayer kind, bool decoder) {
  const std::int64_t rows = s_.tokens_of(decoder);
  const bool cross = kind == Sublayer::cross_attention;
  sublayer(decoder, [&] {
    enter(rows);
    if (s_.spec.attention == LlmAttention::mla)
      low_rank_projections(rows);
    else
      query_key_value(rows, cross ? s_.tokens() : rows, cross);
    const std::int64_t queries = s_.spec.heads * s_.spec.dim() / s_.tensor,
                       keys = s_.spec.kv() * s_.spec.dim() / s_.tensor;
    const bool rotary = s_.spec.positions == LlmPositions::rope && !cross;
    const std::int64_t turned = s_.spec.attention == LlmAttention::mla
                                    ? (s_.spec.heads / s_.tensor + 1) * s_.spec.rope_head_dim
                                    : queries + keys;
    const bool fused = s_.framework.kernels.fuse_elementwise || s_.framework.kernels.compiled;
    // Unfused: halves are negated and joined, two products, a sum.
    if (rotary) elementwise(Module::rotary, rows * turned, fused ? 1 : 4, fused ? 1 : 4, fused ? 1 : 4, fused ? 1 : 4);
    if (s_.spec.qk_norm) norm(rows * (queries + keys) / s_.spec.dim(), s_.spec.dim());
    scores(kind, decoder);
    context_exchange(cross);
    product({.rows = rows,
             .in = s_.spec.heads * s_.spec.value_dim() / s_.tensor,
             .out = s_.spec.hidden,
             .bias = s_.spec.bias == LlmBias::all,
             .place = Place::attention_output,
             .side = Side::exit});
    leave(rows);
  });
}

void BlockBuilder::query_key_value(std::int64_t rows, std::int64_t key_rows, bool cross) {
  const std::int64_t queries = s_.spec.heads * s_.spec.dim() / s_.tensor,
                     keys = std::max<std::int64_t>(s_.spec.kv() / s_.tensor, 1) * s_.spec.dim();
  const bool bias = s_.spec.bias != LlmBias::none;
  if (s_.spec.q_lora > 0) {
    product({.rows = rows,
             .in = s_.spec.hidden,
             .out = s_.spec.q_lora,
             .input = Input::norm,
             .place = Place::qkv,
             .side = Side::entry});
    norm(rows, s_.spec.q_lora);
    product({.rows = rows, .in = s_.spec.q_lora, .out = queries, .input = Input::norm, .place = Place::qkv});
    product({.rows = key_rows,
             .in = s_.spec.hidden,
             .out = 2 * keys,
             .input = Input::norm,
             .place = Place::qkv,
             .side = Side::entry});
  } else if (cross) {
    product({.rows = rows,
             .in = s_.spec.hidden,
             .out = queries,
             .bias = bias,
             .input = Input::norm,
             .place = Place::qkv,
             .side = Side::entry});
    product({.rows = key_rows,
             .in = s_.spec.hidden,
             .out = 2 * keys,
             .bias = bias,
             .place = Place::qkv,
             .side = Side::entry});
  } else {
    product({.rows = rows,
             .in = s_.spec.hidden,
             .out = queries + 2 * keys,
             .bias = bias,
             .input = Input::norm,
             .place = Place::qkv,
             .side = Side::entry});
  }
  keep(Module::product, bytes(static_cast<double>(rows * queries + 2 * key_rows * keys)));
}

/// DeepSeek-V2's multi-head latent attention (arXiv 2405.04434, section 2.1). The down-projections are not split by
/// tensor parallelism.
void BlockBuilder::low_rank_projections(std::int64_t rows) {
  const LlmSpec& m = s_.spec;
  const std::int64_t heads = m.heads / s_.tensor;
  if (m.q_lora > 0) {
    product({.rows = rows,
             .in = m.hidden,
             .out = m.q_lora,
             .input = Input::norm,
             .place = Place::qkv,
             .side = Side::entry});
    norm(rows, m.q_lora);
    product({.rows = rows,
             .in = m.q_lora,
             .out = heads * m.dim(),
             .input = Input::norm,
             .module = Module::mla_up,
             .place = Place::qkv});
  } else {
    product({.rows = rows,
             .in = m.hidden,
             .out = heads * m.dim(),
             .input = Input::norm,
             .place = Place::qkv,
             .side = Side::entry});
  }
  product({.rows = rows,
           .in = m.hidden,
           .out = m.kv_lora + m.rope_head_dim,
           .input = Input::norm,
           .place = Place::qkv,
           .side = Side::entry});
  norm(rows, m.kv_lora);
  product({.rows = rows,
           .in = m.kv_lora,
           .out = heads * (m.dim() - m.rope_head_dim + m.value_dim()),
           .input = Input::norm,
           .module = Module::mla_up,
           .place = Place::qkv});
  elementwise(Module::mla_up, rows * heads * 2 * m.dim(), 1, 1, 1,
              1);  // keys and queries joined with their rotary parts
  keep(Module::mla_up, bytes(static_cast<double>(rows * heads * (2 * m.dim() + m.value_dim()))));
}

/// Of one document, whose lengths are still to be said.
graph::Attention BlockBuilder::attention_of_document(Sublayer kind, bool decoder) const {
  const LlmSpec& m = s_.spec;
  const bool ulysses = s_.parallel.context_exchange == ContextExchange::ulysses;
  graph::Attention op;
  op.batch = 1;
  op.heads = std::max<std::int64_t>(1, m.heads / (s_.tensor * (ulysses ? s_.context : 1)));
  op.kv_heads = m.kv() == m.heads ? 0 : std::max<std::int64_t>(1, m.kv() * op.heads / m.heads);
  op.head_dim = m.dim();
  op.value_dim = m.value_dim() == m.dim() ? 0 : m.value_dim();
  op.causal = !m.encoder && kind != Sublayer::cross_attention && (m.decoder_layers == 0 || decoder);
  op.dropout = m.dropout;
  op.dtype = dtype();
  op.flash = s_.framework.kernels.attention == AttentionKernels::flash && graph::size_of(dtype()) <= 2;
  op.library = op.flash ? s_.framework.kernels.flash_library : graph::AttentionLibrary::best;
  return op;
}

void BlockBuilder::scores(Sublayer kind, bool decoder) {
  const LlmSpec& m = s_.spec;
  const std::int64_t own = decoder ? m.target_sequence() : m.sequence;
  const std::int64_t keys = kind == Sublayer::cross_attention ? m.sequence : own, longest = std::max(own, keys);
  const std::int64_t splits = s_.parallel.context_exchange == ContextExchange::ulysses ? 1 : s_.context;
  graph::Attention op = attention_of_document(kind, decoder);
  const auto set_lengths = [&](std::int64_t document) {
    op.q_len = std::min(document, own);
    op.kv_len = std::min(document, keys);
    op.window = kind == Sublayer::window_attention && m.window < op.kv_len ? m.window : 0;
  };
  const double tokens = static_cast<double>(s_.samples * own) / static_cast<double>(splits);
  set_lengths(m.packs_documents() ? m.mean_tokens : longest);
  count_useful(Module::core_attention, graph::flops_of(op) * tokens / static_cast<double>(op.q_len));
  double seen = 0, launched = 1;  // keys of a query
  for (const Documents& d : documents(m, longest)) {
    set_lengths(d.length);
    op.batch = std::max<std::int64_t>(1, (s_.samples * own + op.q_len / 2) / op.q_len);
    op.q_len = std::max<std::int64_t>(1, op.q_len / splits);
    seen += d.share * static_cast<double>(op.kv_len);
    const double of_kernel = static_cast<double>(op.batch) * static_cast<double>(op.q_len);
    attention_kernels(op, d.share * tokens / of_kernel, std::exchange(launched, 0));
  }
  const double rows = tokens * static_cast<double>(op.heads);
  if (op.flash) keep(Module::core_attention, 4 * rows);  // the logarithms of the sums
  // Softmax, dropout's mask and its result: 5 a s / h of Korthikanti et al.'s 34 + 5 a s / h bytes a token and width.
  else
    keep(Module::core_attention, rows * seen * (m.dropout ? 2 * bytes(1) + 1 : bytes(1)));
}

/// An op that runs so many `times` of its work, in as many launches as one op has, or in those of another (0).
void BlockBuilder::attention_kernels(const graph::Attention& op, double times, double launched) {
  if (s_.framework.kernels.attention == AttentionKernels::fused_softmax)
    return fused_softmax_scores(op, times, launched);
  // Not fused: the calls of fused_softmax_scores, and one each way for the scale and for the mask.
  const double unfused_calls = op.dropout ? 11 : 10;
  forward_op(Module::core_attention, op, times, launched * (op.flash ? 3 : unfused_calls),
             launched * (op.flash ? 1 : 5));
  graph::Attention gradient = op;
  gradient.pass = graph::Pass::backward;
  backward_op(gradient, times, launched * (op.flash ? 2 : unfused_calls), launched * (op.flash ? 2 : 7));
}

/// Batched products around one kernel for scale, mask and softmax: no pass over the scores of their own.
void BlockBuilder::fused_softmax_scores(const graph::Attention& op, double times, double launched) {
  const std::int64_t heads = op.batch * op.heads, values = op.value_dim > 0 ? op.value_dim : op.head_dim;
  const auto batched = [&](std::int64_t m, std::int64_t n, std::int64_t k, graph::Pass pass) {
    graph::Gemm g;
    g.batch = heads;
    g.m = m;
    g.n = n;
    g.k = k;
    g.pass = pass;
    g.dtype = dtype();
    return g;
  };
  const std::int64_t q = op.q_len, kv = op.kv_len, d = op.head_dim, scores = heads * q * kv;
  graph::Softmax softmax{heads * q, kv, dtype(), graph::Pass::forward};
  const double mask = 1.0 / static_cast<double>(graph::size_of(dtype()));
  const auto forward = [&](graph::Op work, double calls, double kernels) {
    forward_op(Module::core_attention, std::move(work), times, launched * calls, launched * kernels);
  };
  const auto backward = [&](graph::Op work, double calls, double kernels) {
    backward_op(std::move(work), times, launched * calls, launched * kernels);
  };
  forward(batched(q, kv, d, graph::Pass::forward), 4, 2);
  forward(softmax, 1, 1);
  if (op.dropout) forward(graph::Elementwise{scores, 1, 1 + mask, 2, dtype()}, 1, 1);
  forward(batched(q, values, kv, graph::Pass::forward), 3, 2);
  backward(batched(q, kv, values, graph::Pass::backward_data), 2, 2);
  backward(batched(kv, values, q, graph::Pass::backward_weight), 1, 1);
  if (op.dropout) backward(graph::Elementwise{scores, 1 + mask, 1, 1, dtype()}, 1, 1);
  softmax.pass = graph::Pass::backward;
  backward(softmax, 1, 1);
  backward(batched(q, d, kv, graph::Pass::backward_data), 2, 1);
  backward(batched(kv, d, q, graph::Pass::backward_weight), 2, 1);
}

/// A ring sends keys and values past every rank, and back their gradients with them; as many bytes as an all-gather.
void BlockBuilder::context_exchange(bool cross) {
  if (s_.context == 1 || cross) return;
  const LlmSpec& m = s_.spec;
  const std::int64_t own = std::max<std::int64_t>(1, m.kv() / s_.tensor);
  const auto width_of = [&](std::int64_t heads) {
    return static_cast<double>(heads) * static_cast<double>(m.dim() + m.value_dim());
  };
  const double all = static_cast<double>(s_.tokens()) * static_cast<double>(s_.context);
  const auto gathered = static_cast<std::int64_t>(bytes(all * width_of(own)));
  switch (s_.parallel.context_exchange) {
    case ContextExchange::ring:
      out_.forward.wires.emplace_back(Wire{Axis::context, CollectiveKind::all_gather, gathered, true}, 1);
      return wire_backward(Axis::context, CollectiveKind::all_gather, 2 * gathered, true);
    case ContextExchange::all_gather:
      return wire(Axis::context, CollectiveKind::all_gather, CollectiveKind::reduce_scatter, gathered);
    case ContextExchange::ulysses:
      break;
  }
  // Each rank needs whole heads: with fewer of keys than ranks, a head is sent to several.
  const double width =
      static_cast<double>(2 * m.heads * m.dim()) / static_cast<double>(s_.tensor) + width_of(std::max(own, s_.context));
  wire(Axis::context, CollectiveKind::all_to_all, CollectiveKind::all_to_all,
       static_cast<std::int64_t>(bytes(static_cast<double>(s_.tokens()) * width)));
}

/// Mamba-2 (arXiv 2405.21060): projections, a convolution over 4 tokens, the scan, a gate and a norm. The scan goes through
/// whole sequences: ranks that split them exchange tokens for heads before it and heads for tokens after it, as
/// Megatron Core's MambaContextParallel does.
void BlockBuilder::mamba() {
  const LlmSpec& m = s_.spec;
  const std::int64_t rows = s_.tokens(), heads = std::max<std::int64_t>(1, m.mamba_heads / s_.tensor);
  const std::int64_t groups = std::max<std::int64_t>(1, m.mamba_groups / s_.tensor), inner = heads * m.mamba_head_dim;
  // Inputs of the state are sent to several ranks where there are fewer groups than ranks.
  const std::int64_t states = groups * m.mamba_state, scanned_states = std::max(groups, s_.context) * m.mamba_state;
  const auto exchange = [&](std::int64_t width) {
    if (s_.context > 1)
      wire(Axis::context, CollectiveKind::all_to_all, CollectiveKind::all_to_all,
           static_cast<std::int64_t>(bytes(static_cast<double>(rows * width))));
  };
  graph::StateSpaceScan scan;
  scan.batch = s_.samples;
  scan.length = m.sequence;
  scan.heads = std::max<std::int64_t>(1, heads / s_.context);
  scan.head_dim = m.mamba_head_dim;
  scan.state = m.mamba_state;
  scan.groups = std::max<std::int64_t>(1, groups / s_.context);
  scan.dtype = dtype();
  sublayer(false, [&] {
    enter(rows);
    product({.rows = rows,
             .in = m.hidden,
             .out = 2 * inner + 2 * states + heads,
             .input = Input::norm,
             .side = Side::entry});
    exchange(2 * inner + 2 * scanned_states + heads);
    elementwise(Module::core_attention, rows * (inner + 2 * scanned_states), 1, 1, 2, 1, 20);
    forward_op(Module::core_attention, scan, 1, 5, 5);
    count_useful(Module::core_attention, graph::flops_of(scan));
    scan.pass = graph::Pass::backward;
    backward_op(scan, 1, 5, 8);
    elementwise(Module::core_attention, rows * inner, 2, 1, 4, 2, 10);
    keep(Module::product, bytes(static_cast<double>(rows * (3 * inner + 2 * scanned_states))));
    exchange(inner);
    norm(rows, inner);
    product({.rows = rows, .in = inner, .out = m.hidden, .side = Side::exit});
    weights(5.0 * static_cast<double>(inner + 2 * states) + 3.0 * static_cast<double>(heads), 5);
    leave(rows);
  });
}

}  // namespace distsim::workload
