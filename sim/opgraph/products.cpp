#include <algorithm>
#include <array>
#include <cmath>

#include "sim/opgraph/kernels.hpp"
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
  if (b.size() <= 2 && product(call.out()) != rows * static_cast<double>(op.n)) return std::nullopt;
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
  if (std::min({op.batch, op.heads, op.q_len, op.head_dim, op.kv_len, k[1]}) <= 0) return std::nullopt;
  if (op.heads % k[1] != 0) return std::nullopt;  // no groups of heads share these
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

const AttentionPlaces* attention_places(std::string_view op) {
  constexpr std::string_view kSpace = "aten::";
  if (!op.starts_with(kSpace)) return nullptr;
  const auto* const at = std::ranges::find(kAttentionPlaces, op.substr(kSpace.size()), &AttentionPlaces::op);
  return at == std::end(kAttentionPlaces) ? nullptr : at;
}

void apply_places(const Call& call, Ops& ops) {
  const AttentionPlaces* const places = attention_places(call.node().op);
  if (!ops || places == nullptr) return;
  auto& op = std::get<graph::Attention>(ops->front());
  op.causal = call.number_at(places->causal, 0) != 0;
  op.dropout = call.number_at(places->dropout, 0) > 0;
}

/// Arguments of _cudnn_rnn(input, weights, stride, buffer, hx, cx, mode, hidden, projection, layers, batch_first, dropout,
/// train, bidirectional, ...) from the mode on.
struct RecurrentCall {
  int gates = 0;  ///< 4: LSTM, 3: GRU, 1: a plain recurrence
  std::int64_t batch = 0, length = 0, input = 0, hidden = 0, projection = 0, layers = 1, directions = 1;
  std::int64_t state() const { return projection > 0 ? projection : hidden; }
};

std::optional<RecurrentCall> recurrent_call(const Call& call, std::size_t mode_place) {
  constexpr int kGates[] = {1, 1, 4, 3};  // by cuDNN's modes: ReLU, tanh, LSTM, GRU
  constexpr std::int64_t kMostLayers = 1000;
  const double mode = call.number_at(mode_place, -1);
  const auto x = call.tensor_at(0);
  if (!x || !(mode >= 0 && mode <= 3)) return std::nullopt;
  const Dims dims = call.sizes().dims(*x);
  if (dims.size() != 3 || *std::ranges::min_element(dims) <= 0) return std::nullopt;
  const bool batch_first = call.number_at(mode_place + 4, 0) != 0;
  const auto size = [&](std::size_t place) { return std::max(0.0, call.number_at(mode_place + place, 0)); };
  RecurrentCall out;
  out.gates = kGates[static_cast<std::size_t>(mode)];
  out.batch = dims[batch_first ? 0 : 1], out.length = dims[batch_first ? 1 : 0], out.input = dims[2];
  out.hidden = count(size(1));
  out.projection = size(2) >= 1 ? count(size(2)) : 0;
  out.layers = std::min(count(size(3)), kMostLayers);
  out.directions = size(7) != 0 ? 2 : 1;
  return out;
}

/// Layers that no op of the models is: plain recurrences, and LSTMs whose state is projected. The kernels that cuDNN's
/// standard algorithm runs: a product over all steps, then for each step that of the state, what the gates do, and the
/// projection; backward the same in reverse, and two products for the weights.
Ops layers_by_step(const RecurrentCall& c, graph::DType dtype, bool backward) {
  constexpr std::int64_t kMostKernels = 200'000;
  constexpr double kGateFlops = 20;  // a special function, as of tanh
  if (c.layers * c.length > kMostKernels / (3 * c.directions)) return std::nullopt;
  std::vector<graph::Op> out;
  const auto product = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    graph::Gemm op;
    op.m = m, op.n = n, op.k = k, op.dtype = dtype;
    op.pass = backward ? graph::Pass::backward_data : graph::Pass::forward;
    out.emplace_back(op);
  };
  const std::int64_t width = c.gates * c.hidden, rows = c.batch * c.length;
  graph::Elementwise gates;
  gates.elements = c.batch * width, gates.dtype = dtype, gates.reads = 2, gates.writes = 1, gates.flops = kGateFlops;
  for (std::int64_t layer = 0; layer < c.layers; ++layer) {
    const std::int64_t input = layer == 0 ? c.input : c.state() * c.directions;
    for (std::int64_t d = 0; d < c.directions; ++d) {
      if (!backward) product(rows, width, input);
      for (std::int64_t step = 0; step < c.length; ++step) {
        if (backward && c.projection > 0) product(c.batch, c.hidden, c.projection);
        if (!backward) product(c.batch, width, c.state());
        out.emplace_back(gates);
        if (backward) product(c.batch, c.state(), width);
        if (!backward && c.projection > 0) product(c.batch, c.projection, c.hidden);
      }
      if (!backward) continue;
      product(rows, input, width);
      product(width, input, rows);
      product(width, c.state(), rows);
      if (c.projection > 0) product(c.projection, c.hidden, rows);
    }
  }
  return out;
}

Ops recurrent_of(const Call& call, std::size_t mode_place, graph::Pass pass) {
  const std::optional<RecurrentCall> c = recurrent_call(call, mode_place);
  if (!c) return std::nullopt;
  const graph::DType dtype = call.type();
  if (c->gates == 1 || c->projection > 0) return layers_by_step(*c, dtype, pass != graph::Pass::forward);
  graph::Recurrent op;
  op.cell = c->gates == 4 ? graph::Cell::lstm : graph::Cell::gru;
  op.batch = c->batch, op.length = c->length, op.input = c->input, op.hidden = c->hidden;
  op.directions = c->directions;
  op.dtype = dtype;
  op.pass = pass;
  std::vector<graph::Op> out{op};
  op.input = op.hidden * op.directions;
  for (std::int64_t i = 1; i < c->layers; ++i) out.emplace_back(op);
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
  if (!call.outputs().empty() && product(call.out()) != graph::real(op.m) * graph::real(op.n)) return std::nullopt;
  op.dtype = call.type();
  return std::vector<graph::Op>{op};
}

/// nn.Bilinear calls _trilinear(a, b, c, expanded of a, of b, of c, summed, unrolled): all are broadcast to one shape, and the
/// product of the three is summed over dimensions. ATen does it for each place of the unrolled dimension: a by b, then that by
/// c. A product of as many operations stands for those of all places; both read and make what these do.
Ops make_trilinear(const Call& call, double) {
  if (!call.has(2) || call.outputs().empty()) return std::nullopt;
  const std::size_t rank = call.in(0).size() + call.list_at(3).size();
  double whole = 1;  // places of the broadcast shape
  std::array<std::size_t, 3> next{};
  for (std::size_t d = 0; d < rank; ++d) {
    std::int64_t size = 1;
    for (std::size_t i = 0; i < 3; ++i) {
      const std::vector<std::int64_t> expanded = call.list_at(3 + i);
      const Dims own = call.in(i);
      if (std::ranges::find(expanded, static_cast<std::int64_t>(d)) != expanded.end()) continue;
      if (next[i] >= own.size()) return std::nullopt;
      size = std::max(size, own[next[i]++]);
    }
    whole *= static_cast<double>(size);
  }
  const double results = product(call.out());
  if (whole < 1 || results < 1) return std::nullopt;
  graph::Gemm op;
  op.dtype = call.type();
  op.n = call.out().empty() ? 1 : std::max<std::int64_t>(1, call.out().back());
  op.m = count(results / static_cast<double>(op.n)), op.k = count(whole / results);
  if (call.node().phase == graph::Phase::backward) op.pass = graph::Pass::backward_data;
  return std::vector<graph::Op>{op};
}

/// _euclidean_dist(a, b): the squares of both, a product of [-2a, |a|^2, 1] and [b, 1, |b|^2], and the root of the sums.
Ops make_euclidean_dist(const Call& call, double) {
  if (!call.has(1) || call.outputs().empty()) return std::nullopt;
  const Dims a = call.in(0), b = call.in(1), out = call.out();
  if (a.size() < 2 || b.size() < 2 || out.size() < 2 || a.back() != b.back() || a.back() <= 0) return std::nullopt;
  constexpr double kRootFlops = 5;  // clamped, then a root
  std::vector<graph::Op> ops;
  for (const Dims* x : {&a, &b}) {
    const std::int64_t elements = count(product(*x));
    ops.emplace_back(graph::Elementwise{elements, 1, 1, 1, call.type()});  // squares
    ops.emplace_back(graph::Elementwise{elements, 1, 0, 1, call.type()});  // their sums
    ops.emplace_back(graph::Concat{count(product(*x) * static_cast<double>(graph::size_of(call.type()))), 3});
  }
  graph::Gemm op;
  op.dtype = call.type();
  op.m = out[out.size() - 2], op.n = out.back(), op.k = a.back() + 2;
  if (op.m <= 0 || op.n <= 0) return std::nullopt;
  op.batch = count(product(out) / (static_cast<double>(op.m) * static_cast<double>(op.n)));
  ops.emplace_back(op);
  ops.emplace_back(graph::Elementwise{count(product(out)), 1, 1, kRootFlops, call.type()});
  return ops;
}

void leave_out_dropout(Node& node) {
  const AttentionPlaces* const places = attention_places(node.op);
  if (places == nullptr || places->dropout >= node.inputs.size()) return;
  std::ranges::fill(node.inputs[places->dropout].numbers, 0);
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
