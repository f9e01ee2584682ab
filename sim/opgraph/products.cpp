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
    {"_scaled_dot_product_attention", 6, 4},
    {"_scaled_dot_product_flash_attention_backward", 11, 10},
    {"_scaled_dot_product_efficient_attention_backward", 11, 9},
    {"_scaled_dot_product_cudnn_attention_backward", 14, 13},
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

}  // namespace distsim::opgraph
