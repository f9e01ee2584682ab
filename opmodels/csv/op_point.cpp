#include "opmodels/csv/op_point.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "base/fnv.hpp"

namespace distsim::opmodels {
namespace {

/// Attributes and sizes of one op; the kind comes first among the attributes.
OpPoint point(const graph::Op& op, std::initializer_list<std::int64_t> equal, std::initializer_list<double> sizes) {
  OpPoint out;
  Fnv64 group;
  group.add_word(op.index());
  for (const std::int64_t value : equal) group.add_word(static_cast<std::uint64_t>(value));
  out.group = group.value();
  std::size_t i = 0;
  for (const double size : sizes) out.at[i++] = std::log2(static_cast<float>(std::max(size, 1e-6)));
  return out;
}

template <class Enum>
std::int64_t code(Enum value) {
  return static_cast<std::int64_t>(value);
}
double real(std::int64_t n) { return static_cast<double>(n); }

/// Thousandths: enough to tell 1.25 tensors from 1.
std::int64_t milli(double value) { return std::llround(std::clamp(value, -1e12, 1e12) * 1000); }

bool alike(const graph::EmbeddingTable& a, const graph::EmbeddingTable& b) {
  return a.rows == b.rows && a.dim == b.dim && a.pooling_factor == b.pooling_factor && a.alpha == b.alpha;
}

std::optional<OpPoint> bag_point(const graph::Op& op, const graph::EmbeddingBag& bag) {
  if (bag.tables.empty()) return std::nullopt;
  const graph::EmbeddingTable& t = bag.tables.front();
  if (!std::all_of(bag.tables.begin(), bag.tables.end(),
                   [&](const graph::EmbeddingTable& other) { return alike(t, other); }))
    return std::nullopt;
  const std::int64_t optimizer = bag.pass == graph::Pass::forward ? 0 : code(bag.optimizer) * 8 + code(bag.update);
  return point(op, {code(bag.weights), code(bag.output), code(bag.pass), optimizer, bag.table_batched, milli(t.alpha)},
               {real(static_cast<std::int64_t>(bag.tables.size())), real(bag.batch), t.pooling_factor, real(t.rows),
                real(t.dim)});
}

struct Visitor {
  const graph::Op& op;
  std::optional<OpPoint> operator()(const graph::Gemm& g) const {
    return point(op, {code(g.dtype)}, {real(g.batch), real(g.m), real(g.n), real(g.k)});
  }
  std::optional<OpPoint> operator()(const graph::Conv2d& c) const {
    return point(op, {code(c.dtype), code(c.pass), c.channels_last, c.r, c.s, c.stride, c.pad, c.dilation, c.groups},
                 {real(c.n), real(c.c), real(c.h), real(c.w), real(c.k)});
  }
  std::optional<OpPoint> operator()(const graph::EmbeddingBag& bag) const { return bag_point(op, bag); }
  std::optional<OpPoint> operator()(const graph::Interaction& i) const {
    return point(op, {code(i.dtype), code(i.pass), i.fused}, {real(i.batch), real(i.features), real(i.dim)});
  }
  std::optional<OpPoint> operator()(const graph::CrossLayer& c) const {
    return point(op, {code(c.dtype), code(c.pass), c.rank == 0},
                 {real(c.batch), real(c.width), real(std::max<std::int64_t>(c.rank, 1))});
  }
  std::optional<OpPoint> operator()(const graph::Normalization& n) const {
    return point(op, {code(n.kind), code(n.dtype), code(n.pass)}, {real(n.rows), real(n.cols)});
  }
  std::optional<OpPoint> operator()(const graph::Softmax& s) const {
    return point(op, {code(s.dtype), code(s.pass)}, {real(s.rows), real(s.cols)});
  }
  std::optional<OpPoint> operator()(const graph::Attention& a) const {
    return point(op, {code(a.dtype), code(a.pass), a.causal, a.flash, a.dropout},
                 {real(a.batch), real(a.heads), real(a.q_len), real(a.kv_len), real(a.head_dim)});
  }
  std::optional<OpPoint> operator()(const graph::Elementwise& e) const {
    return point(op, {code(e.dtype), milli(e.reads), milli(e.writes), milli(e.flops)}, {real(e.elements)});
  }
  std::optional<OpPoint> operator()(const graph::Copy& c) const { return point(op, {code(c.kind)}, {real(c.bytes)}); }
  std::optional<OpPoint> operator()(const graph::Concat& c) const {
    return point(op, {}, {real(c.bytes), real(c.pieces)});
  }
  std::optional<OpPoint> operator()(const graph::Transpose& t) const {
    return point(op, {code(t.dtype)}, {real(t.batch), real(t.rows), real(t.cols)});
  }
  std::optional<OpPoint> operator()(const graph::Optimizer& o) const {
    return point(op, {code(o.kind), code(o.gradient), o.master_weights}, {real(o.parameters), real(o.tensors)});
  }
  template <class Other>
  std::optional<OpPoint> operator()(const Other&) const {
    return std::nullopt;
  }
};

}  // namespace

std::optional<OpPoint> point_of(const graph::Op& op) { return std::visit(Visitor{op}, op); }

}  // namespace distsim::opmodels
