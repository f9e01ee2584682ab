#include "opmodels/limits.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "opmodels/analytic/flash_attention.hpp"
#include "opmodels/analytic/kernels.hpp"
#include "opmodels/op_time.hpp"

namespace distsim::opmodels {
namespace {

constexpr double kWinogradSaving = 1.6;  // conv2d.cpp: what cuDNN saves at most with 3x3 filters on plain lanes
constexpr double kLatencyFloors = 2;     // a kernel shorter than this many empty ones is bound by latency

/// Seconds of the parts, on perfect kernels.
struct Parts {
  double matrix = 0, vector = 0, memory = 0;
  double compulsory = 0;  ///< bytes of operands and results
  bool lanes = false;     ///< its products run on the plain lanes
  bool wide = false;      ///< its products are of fp32, tf32 or fp64
  double least = 0;       ///< of the products
  double at_most = 0;     ///< of the products at the rate that none passes
};

double width(graph::DType dtype) { return operand_bytes(dtype); }

double matrix_seconds(const DeviceRates& d, double flops, graph::DType dtype) {
  const double rate = d.matrix[static_cast<std::size_t>(dtype)];
  return rate > 0 ? flops / rate : 0;
}

/// A kernel that moves `bytes`, all of them operands or results.
Parts streaming_parts(const DeviceRates& d, double bytes, double flops) {
  return {0, flops / d.vector_fp32, memory_seconds(d, bytes), bytes, true};
}

/// Products of `flops` between operands and results of `bytes`; `between` bytes more travel from kernel to kernel.
Parts product_parts(const DeviceRates& d, double flops, graph::DType dtype, double bytes, double between = 0) {
  const double seconds = matrix_seconds(d, flops, dtype), most = d.most[static_cast<std::size_t>(dtype)];
  return {.matrix = seconds,
          .memory = memory_seconds(d, bytes + between),
          .compulsory = bytes,
          .lanes = uses_vector_lanes(d, dtype),
          .wide = graph::size_of(dtype) >= 4,
          .least = seconds,
          .at_most = most > 0 ? flops / most : 0};
}

double passes(graph::Pass pass) { return pass == graph::Pass::backward ? 2 : 1; }

Parts parts_of(const DeviceRates& d, const graph::Gemm& g) {
  const double b = graph::real(g.batch), m = graph::real(g.m), n = graph::real(g.n), k = graph::real(g.k);
  const double bytes = b * ((m * k + k * n) * width(g.dtype) + m * n * std::max(2.0, width(g.dtype)));
  return product_parts(d, g.useful_flops(), g.dtype, bytes);
}

Parts parts_of(const DeviceRates& d, const graph::Conv2d& c) {
  const double input = graph::real(c.n) * graph::real(c.c) * graph::real(c.h) * graph::real(c.w);
  const double output = graph::real(c.n) * graph::real(c.k) * graph::real(c.out_h()) * graph::real(c.out_w());
  const bool winograd = c.r == 3 && c.s == 3 && c.stride == 1 && uses_vector_lanes(d, c.dtype);
  const double flops = c.useful_flops() / (winograd ? kWinogradSaving : 1);
  return product_parts(d, flops, c.dtype, passes(c.pass) * (input + output) * width(c.dtype));
}

/// Unfused, the scores pass through memory: written and read by product, mask, softmax and product, and as often
/// backward.
Parts parts_of(const DeviceRates& d, const graph::Attention& a) {
  constexpr double kScorePasses = 7, kDropoutPasses = 2.25;
  const double heads = graph::real(a.batch) * graph::real(a.heads), element = width(a.dtype);
  const double keys = graph::real(a.batch) * graph::real(a.kv_heads > 0 ? a.kv_heads : a.heads);
  const double rows = heads * graph::real(a.q_len) + keys * graph::real(a.kv_len);
  const double vectors = rows * (graph::real(a.head_dim) + a.values()) * element;
  const double scores = heads * graph::real(a.q_len) * graph::real(a.kv_len) * element;
  const double between = a.flash ? 0 : (kScorePasses + (a.dropout ? kDropoutPasses : 0)) * scores * passes(a.pass);
  Parts parts = product_parts(d, a.useful_flops(), a.dtype, passes(a.pass) * vectors, between);
  if (a.flash) parts.matrix = std::max(parts.matrix, flash_compute_seconds(d, a));
  return parts;
}

Parts parts_of(const DeviceRates& d, const graph::Interaction& i) {
  const double b = graph::real(i.batch), f = graph::real(i.features), dim = graph::real(i.dim);
  const double outputs = b * (dim + f * (f - 1) / 2) * width(i.dtype), product = b * f * f * width(i.dtype);
  const double bytes = passes(i.pass) * b * f * dim * width(i.dtype) + outputs;
  return product_parts(d, i.useful_flops(), i.dtype, bytes, i.fused ? 0 : passes(i.pass) * (3 * product + 2 * outputs));
}

Parts parts_of(const DeviceRates& d, const graph::CrossLayer& c) {
  const double tensor = graph::real(c.batch) * graph::real(c.width) * width(c.dtype);
  return product_parts(d, c.useful_flops(), c.dtype, 3 * tensor, c.pointwise_tensors() * tensor);
}

/// Weights once, inputs and outputs of all steps.
Parts parts_of(const DeviceRates& d, const graph::Recurrent& r) {
  const double both = graph::real(r.directions), h = graph::real(r.hidden), i = graph::real(r.input);
  const double weights = both * graph::real(graph::gates_of(r.cell)) * h * (i + h);
  const double states = graph::real(r.batch) * graph::real(r.length) * (i + both * h);
  return product_parts(d, r.useful_flops(), r.dtype, (weights + states) * width(r.dtype));
}

/// x, y, B, C and the decays once.
Parts parts_of(const DeviceRates& d, const graph::StateSpaceScan& s) {
  const double inner = graph::real(s.heads) * graph::real(s.head_dim),
               shared = graph::real(s.groups) * graph::real(s.state);
  return product_parts(d, s.useful_flops(), s.dtype,
                       passes(s.pass) * s.tokens() * 2 * (inner + shared) * width(s.dtype));
}

Parts parts_of(const DeviceRates& d, const graph::EmbeddingBag& e) {
  double ids = 0, vectors = 0;
  for (const graph::EmbeddingTable& t : e.tables) {
    ids += graph::real(e.batch) * t.pooling_factor;
    vectors += graph::real(e.batch) * graph::real(t.dim);
  }
  return streaming_parts(d, ids * width(e.index) + vectors * width(e.output), 0);
}

Parts parts_of(const DeviceRates& d, const graph::Normalization& n) {
  const double tensors = n.pass == graph::Pass::forward ? 2 : 3;
  return streaming_parts(d, tensors * graph::real(n.rows) * graph::real(n.cols) * width(n.dtype), n.useful_flops());
}

Parts parts_of(const DeviceRates& d, const graph::Softmax& s) {
  const double tensors = s.pass == graph::Pass::forward ? 2 : 3;
  return streaming_parts(d, tensors * graph::real(s.rows) * graph::real(s.cols) * width(s.dtype), s.useful_flops());
}

Parts parts_of(const DeviceRates& d, const graph::Elementwise& e) {
  return streaming_parts(d, graph::real(e.elements) * (e.reads + e.writes) * width(e.dtype), e.useful_flops());
}

Parts parts_of(const DeviceRates& d, const graph::Loss& l) {
  const double tensors = l.fused && l.pass == graph::Pass::forward ? 1 : 2;
  return streaming_parts(d, tensors * graph::real(l.rows) * graph::real(l.classes) * width(l.dtype), l.useful_flops());
}

Parts parts_of(const DeviceRates& d, const graph::Concat& c) { return streaming_parts(d, 2 * graph::real(c.bytes), 0); }

Parts parts_of(const DeviceRates& d, const graph::Transpose& t) {
  const double elements = graph::real(t.batch) * graph::real(t.rows) * graph::real(t.cols);
  return streaming_parts(d, 2 * elements * width(t.dtype), 0);
}

/// Gradient in, weight in and out; moments come on top.
Parts parts_of(const DeviceRates& d, const graph::Optimizer& o) {
  return streaming_parts(d, 3 * graph::real(o.parameters) * width(o.gradient), o.useful_flops());
}

Parts parts_of(const DeviceRates& d, const graph::Copy& c) {
  return c.kind == graph::CopyKind::d2d ? streaming_parts(d, 2 * graph::real(c.bytes), 0) : Parts{};
}

Parts parts_of(const DeviceRates& d, const graph::Unlisted& u) {
  return streaming_parts(d, graph::real(u.read_bytes) + graph::real(u.written_bytes), graph::real(u.flops));
}

Parts parts_of(const DeviceRates&, const graph::Absent&) { return {}; }
Parts parts_of(const DeviceRates&, const graph::HostWork&) { return {}; }
Parts parts_of(const DeviceRates&, const graph::Measured&) { return {}; }
Parts parts_of(const DeviceRates&, const graph::Collective&) { return {}; }
Parts parts_of(const DeviceRates&, const graph::Sequence&) { return {}; }

struct HasNoShortcut {
  bool operator()(const graph::Gemm&) const { return true; }
  bool operator()(const graph::Attention&) const { return true; }
  bool operator()(const graph::Interaction&) const { return true; }
  bool operator()(const graph::CrossLayer&) const { return true; }
  bool operator()(const graph::Recurrent&) const { return true; }
  bool operator()(const graph::Conv2d& c) const { return c.r == 1 && c.s == 1; }
  template <class Other>
  bool operator()(const Other&) const {
    return false;
  }
};

double fourth_power(double x) { return x * x * x * x; }

Parts parts_on(const DeviceRates& d, const graph::Op& op) {
  return std::visit([&](const auto& shape) { return parts_of(d, shape); }, op);
}

double longest(const Parts& p) { return std::max({p.matrix, p.vector, p.memory}); }

/// `busy` divided between the parts by their fourth powers; at least one part is more than nothing.
graph::BoundShares shares_of(const Parts& p, double busy) {
  const double most = longest(p);
  const double a = fourth_power(p.matrix / most), b = fourth_power(p.vector / most), c = fourth_power(p.memory / most);
  return {busy * a / (a + b + c), busy * b / (a + b + c), busy * c / (a + b + c)};
}

graph::Bound larger_bound(const Parts& p) {
  if (p.matrix >= p.vector && p.matrix >= p.memory) return graph::Bound::matrix;
  return p.vector >= p.memory ? graph::Bound::vector : graph::Bound::memory;
}

}  // namespace

double operand_and_result_bytes(const DeviceRates& device, const graph::Op& op) {
  return parts_on(device, op).compulsory;
}

double memory_takes(const DeviceRates& device, const graph::Op& op) {
  if (const auto* step = std::get_if<graph::Optimizer>(&op)) return optimizer_bytes(*step) / device.hbm;  // never in L2
  const auto* bag = std::get_if<graph::EmbeddingBag>(&op);
  return least_memory_seconds(device, bag ? embedding_bytes(device, *bag) : operand_and_result_bytes(device, op));
}

bool has_no_shortcut(const graph::Op& op) { return std::visit(HasNoShortcut{}, op); }

double products_take(const DeviceRates& device, const graph::Op& op) {
  const Parts parts = parts_on(device, op);
  return has_no_shortcut(op) ? parts.at_most : parts.least / kFasterThanRates;
}

graph::Cost with_limits(const DeviceRates& d, const graph::Op& op, graph::Cost cost) {
  const Parts p = parts_on(d, op);
  const double seconds = cost.mean.seconds();
  if (longest(p) <= 0 || seconds <= 0) return cost;
  cost.bound = seconds < kLatencyFloors * d.floor ? graph::Bound::latency : larger_bound(p);
  const double busy = std::max(0.0, 1 - d.floor / seconds);
  cost.wide_products = p.wide;
  cost.shares = cost.described_shares = shares_of(p, busy);
  if (d.described) cost.described_shares = shares_of(parts_on(*d.described, op), busy);
  // What memory or L2 take less than on the device as its file describes it, matrix units are not busier for.
  const Parts described = d.described ? parts_on(*d.described, op) : p;
  const double matrix = busy * described.matrix / longest(described);
  const double vector = busy * described.vector / longest(described);
  cost.busy = {p.lanes ? 0 : matrix, p.lanes ? std::max(matrix, vector) : vector, std::min(1.0, p.memory / seconds)};
  const double beyond_l2 = std::max(0.0, p.compulsory - 2 * d.l2_bytes);
  const auto least = Duration::from_seconds(std::max(p.least, beyond_l2 / d.streaming_hbm()));
  if (least.ok()) cost.least = *least;
  return cost;
}

}  // namespace distsim::opmodels
