// flops_of: the operations that an op's mathematics needs, a multiply-add counted as two. What an implementation adds
// (recomputed attention scores, the upper triangle of an interaction) is not counted, so that MFU means what it means
// in the PaLM paper (arXiv 2204.02311, appendix B).
#include <algorithm>
#include <cmath>

#include "sim/graph/op.hpp"

namespace distsim::graph {
namespace {

double d(std::int64_t n) { return static_cast<double>(n); }

/// A layer's backward pass has two products (data and weight gradient) where the forward pass has one.
double passes(Pass pass) { return pass == Pass::backward ? 2.0 : 1.0; }

/// Output extent in floating point, so that nonsense shapes give 0 rather than undefined arithmetic.
double out_extent(std::int64_t in, std::int64_t pad, std::int64_t dilation, std::int64_t filter, std::int64_t stride) {
  if (stride <= 0) return 0.0;
  return std::max(0.0, std::floor((d(in) + 2 * d(pad) - d(dilation) * (d(filter) - 1) - 1) / d(stride)) + 1);
}

struct FlopsOf {
  double operator()(const Absent&) const { return 0; }
  double operator()(const Gemm& g) const { return 2 * d(g.batch) * d(g.m) * d(g.n) * d(g.k); }
  double operator()(const Conv2d& c) const {
    if (c.groups <= 0) return 0;
    const double outputs = d(c.n) * d(c.k) * out_extent(c.h, c.pad, c.dilation, c.r, c.stride) *
                           out_extent(c.w, c.pad, c.dilation, c.s, c.stride);
    return passes(c.pass) * 2 * outputs * d(c.c) / d(c.groups) * d(c.r) * d(c.s);
  }
  double operator()(const EmbeddingBag& e) const {
    double sum = 0;  // one addition for each element of each looked-up row
    for (const EmbeddingTable& t : e.tables) sum += d(e.batch) * t.pooling_factor * d(t.dim);
    return sum;
  }
  double operator()(const Interaction& i) const {
    return passes(i.pass) * d(i.batch) * d(i.features) * (d(i.features) - 1) * d(i.dim);
  }
  double operator()(const CrossLayer& c) const {
    const double products = c.rank > 0 ? 4 * d(c.width) * d(c.rank) : 2 * d(c.width) * d(c.width);
    return passes(c.pass) * d(c.batch) * (products + 3 * d(c.width));  // bias, times x0, plus x
  }
  double operator()(const Normalization& n) const { return passes(n.pass) * 8 * d(n.rows) * d(n.cols); }
  double operator()(const Softmax& s) const { return 5 * d(s.rows) * d(s.cols); }  // max, subtract, exp, sum, divide
  double operator()(const Attention& a) const {
    const double scores = d(a.batch) * d(a.heads) * d(a.q_len) * d(a.kv_len) * (a.causal ? 0.5 : 1.0);
    return passes(a.pass) * 4 * scores * d(a.head_dim);
  }
  double operator()(const Elementwise& e) const { return d(e.elements) * e.flops; }
  double operator()(const Loss& l) const { return 5 * d(l.rows) * d(l.classes); }
  double operator()(const Copy&) const { return 0; }
  double operator()(const Concat&) const { return 0; }
  double operator()(const Transpose&) const { return 0; }
  double operator()(const Optimizer& o) const { return d(o.parameters) * per_parameter(o.kind); }
  double operator()(const HostWork&) const { return 0; }
  double operator()(const Measured&) const { return 0; }
  double operator()(const Collective&) const { return 0; }

  static double per_parameter(OptimizerKind kind) {
    switch (kind) {
      case OptimizerKind::sgd:
        return 2;  // w -= lr g
      case OptimizerKind::momentum:
        return 4;  // v = mu v + g; w -= lr v
      case OptimizerKind::adagrad:
        return 6;  // s += g g; w -= lr g / (sqrt s + eps)
      case OptimizerKind::adam:
        return 12;  // both moments, bias corrections, update
      case OptimizerKind::lamb:
        return 18;  // adam, two norms, trust ratio
      case OptimizerKind::lars:
        return 10;  // momentum, two norms, trust ratio
    }
    return 0;
  }
};

}  // namespace

double flops_of(const Op& op) { return std::visit(FlopsOf{}, op); }

}  // namespace distsim::graph
