#include <algorithm>
#include <cmath>

#include "sim/opgraph/makers.hpp"

namespace distsim::opgraph {
namespace {

using graph::DType;

bool has_matrix_units(DType type) { return type != DType::int64 && type != DType::int32 && type != DType::int8; }

/// a[..., m, k] x b[..., k, n]; a matrix b serves all of a's rows.
Ops product_of(const Call& call, std::size_t first) {
  if (!call.has(first + 1) || call.outputs().empty()) return std::nullopt;
  const Dims a = call.in(first), b = call.in(first + 1);
  const DType type = call.type(first);
  if (a.empty() || b.empty() || !has_matrix_units(type)) return std::nullopt;
  graph::Gemm op;
  op.dtype = type;
  op.k = a.back();
  const std::int64_t inner = b.size() == 1 ? b[0] : b[b.size() - 2];
  if (op.k <= 0 || inner != op.k) return std::nullopt;
  op.n = b.size() == 1 ? 1 : b.back();
  const double rows = product(a) / static_cast<double>(op.k);
  if (b.size() <= 2) {
    op.m = count(rows);
  } else {
    op.m = a.size() == 1 ? 1 : a[a.size() - 2];
    const double results = product(call.out());
    if (op.m <= 0 || op.n <= 0) return std::nullopt;
    op.batch = count(results / (static_cast<double>(op.m) * static_cast<double>(op.n)));
  }
  if (op.n <= 0 || rows < 1) return std::nullopt;
  if (call.node().phase == graph::Phase::backward) op.pass = graph::Pass::backward_data;
  return std::vector<graph::Op>{op};
}

/// Queries, keys and values are [batch, heads, length, width].
Ops attention_of(const Call& call, std::size_t first, graph::Pass pass) {
  if (!call.has(first + 2)) return std::nullopt;
  const Dims q = call.in(first), k = call.in(first + 1), v = call.in(first + 2);
  if (q.size() != 4 || k.size() != 4 || v.size() != 4) return std::nullopt;
  graph::Attention op;
  op.batch = q[0], op.heads = q[1], op.q_len = q[2], op.head_dim = q[3];
  op.kv_heads = k[1] == q[1] ? 0 : k[1];
  op.kv_len = k[2];
  op.value_dim = v[3] == q[3] ? 0 : v[3];
  if (std::min({op.batch, op.heads, op.q_len, op.head_dim, op.kv_len}) <= 0) return std::nullopt;
  op.flash = true;
  op.dtype = call.type(first);
  op.pass = pass;
  return std::vector<graph::Op>{op};
}

/// The bool that asks for a causal mask, where a variant of the op has it; its probability of dropout.
struct AttentionPlaces {
  std::string_view op;
  std::size_t causal, dropout;
};
constexpr AttentionPlaces kAttentionPlaces[] = {
    {"scaled_dot_product_attention", 5, 4},
    {"_scaled_dot_product_flash_attention", 4, 3},
    {"_scaled_dot_product_flash_attention_for_cpu", 4, 3},
    {"_scaled_dot_product_efficient_attention", 6, 5},
    {"_scaled_dot_product_cudnn_attention", 6, 5},
    {"_scaled_dot_product_attention", 5, 4},
    {"_scaled_dot_product_flash_attention_backward", 11, 10},
    {"_scaled_dot_product_efficient_attention_backward", 11, 8},
};

void apply_places(const Call& call, Ops& ops) {
  if (!ops) return;
  auto& op = std::get<graph::Attention>(ops->front());
  for (const AttentionPlaces& p : kAttentionPlaces) {
    if (!call.node().op.ends_with(p.op) || call.node().op.size() != p.op.size() + 6) continue;
    op.causal = call.number_at(p.causal, 0) != 0;
    op.dropout = call.number_at(p.dropout, 0) > 0;
  }
}

/// _cudnn_rnn(input, weights, stride, buffer, hx, cx, mode, hidden, projection, layers, batch_first, dropout, train,
/// bidirectional, ...). Modes of cuDNN: 2 LSTM, 3 GRU.
Ops recurrent_of(const Call& call, std::size_t mode_place, graph::Pass pass) {
  const double mode = call.number_at(mode_place, -1);
  const auto x = call.tensor_at(0);
  if (!x || (mode != 2 && mode != 3)) return std::nullopt;
  const Dims dims = call.sizes().dims(*x);
  if (dims.size() != 3) return std::nullopt;
  const bool batch_first = call.number_at(mode_place + 4, 0) != 0;
  graph::Recurrent op;
  op.cell = mode < 2.5 ? graph::Cell::lstm : graph::Cell::gru;
  op.batch = dims[batch_first ? 0 : 1], op.length = dims[batch_first ? 1 : 0], op.input = dims[2];
  op.hidden = count(call.number_at(mode_place + 1, 0));
  op.directions = call.number_at(mode_place + 7, 0) != 0 ? 2 : 1;
  op.dtype = call.sizes().type(*x).dtype;
  op.pass = pass;
  if (std::min({op.batch, op.length, op.input}) <= 0) return std::nullopt;
  const std::int64_t layers = std::min<std::int64_t>(count(call.number_at(mode_place + 3, 1)), 1000);
  std::vector<graph::Op> out{op};
  op.input = op.hidden * op.directions;
  for (std::int64_t i = 1; i < layers; ++i) out.emplace_back(op);
  return out;
}

}  // namespace

Ops make_matmul(const Call& call, double) { return product_of(call, 0); }
Ops make_matmul_first(const Call& call, double) { return product_of(call, 1); }

Ops make_linear(const Call& call, double) {
  if (!call.has(1)) return std::nullopt;
  const Dims x = call.in(0), w = call.in(1);
  if (x.empty() || w.size() != 2 || w[1] != x.back() || w[0] <= 0 || w[1] <= 0 || !has_matrix_units(call.type()))
    return std::nullopt;
  graph::Gemm op;
  op.m = count(product(x) / static_cast<double>(w[1])), op.n = w[0], op.k = w[1];
  op.dtype = call.type();
  return std::vector<graph::Op>{op};
}

Ops make_attention(const Call& call, double) {
  Ops ops = attention_of(call, 0, graph::Pass::forward);
  apply_places(call, ops);
  return ops;
}

Ops make_attention_backward(const Call& call, double) {
  Ops ops = attention_of(call, 1, graph::Pass::backward);
  apply_places(call, ops);
  return ops;
}

Ops make_recurrent(const Call& call, double) { return recurrent_of(call, 6, graph::Pass::forward); }
/// _cudnn_rnn_backward(input, weights, stride, weight buffer, hx, cx, output, gradients of output, hy and cy, mode, ...).
Ops make_recurrent_backward(const Call& call, double) { return recurrent_of(call, 10, graph::Pass::backward); }

}  // namespace distsim::opgraph
