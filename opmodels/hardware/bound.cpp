#include "opmodels/hardware/bound.hpp"

#include <algorithm>

namespace distsim::opmodels {
namespace {

using graph::real;

/// Operations and compulsory traffic of a matrix kernel.
struct Demand {
  double flops = 0, elements = 0;
  graph::DType dtype = graph::DType::fp32;
};

Demand demand_of(const graph::Gemm& g) {
  const double m = real(g.m), n = real(g.n), k = real(g.k);
  return {g.useful_flops(), real(g.batch) * (m * k + k * n + m * n), g.dtype};
}

Demand demand_of(const graph::Conv2d& c) {
  const double in = real(c.n) * real(c.c) * real(c.h) * real(c.w);
  const double out = real(c.n) * real(c.k) * real(c.out_h()) * real(c.out_w());
  const double weights = real(c.k) * real(c.c) / real(c.groups) * real(c.r) * real(c.s);
  return {c.useful_flops(), graph::products_of(c.pass) * (in + out + weights), c.dtype};
}

/// Scores that are written go to memory and back once each way around the softmax.
Demand demand_of(const graph::Attention& a) {
  const double heads = real(a.batch) * real(a.heads);
  const double scores = a.flash ? 0 : 4 * heads * real(a.q_len) * real(a.kv_len);
  const double operands = 2 * heads * (real(a.q_len) + real(a.kv_len)) * real(a.head_dim);
  return {a.useful_flops(), graph::products_of(a.pass) * (operands + scores), a.dtype};
}

Demand demand_of(const graph::Interaction& i) {
  const double features = real(i.features);
  const double sample = features * real(i.dim) + features * (features - 1) / 2 + real(i.dim);
  return {i.useful_flops(), graph::products_of(i.pass) * real(i.batch) * sample, i.dtype};
}

Demand demand_of(const graph::CrossLayer& c) {
  const double width = real(c.width), weights = c.rank > 0 ? 2 * width * real(c.rank) : width * width;
  return {c.useful_flops(), graph::products_of(c.pass) * (3 * real(c.batch) * width + weights), c.dtype};
}

struct BoundOf {
  const DeviceRates& device;

  graph::Bound longer(double compute_seconds, double memory_seconds) const {
    return memory_seconds > compute_seconds ? graph::Bound::memory : graph::Bound::compute;
  }
  template <class Shape>
  requires requires(const Shape& shape) { demand_of(shape); }
  graph::Bound operator()(const Shape& shape) const {
    const Demand d = demand_of(shape);
    const double matrix = device.matrix[static_cast<std::size_t>(d.dtype)];
    const double rate = matrix > 0 ? matrix : device.vector_fp32;
    return longer(d.flops / rate, d.elements * real(graph::size_of(d.dtype)) / device.streaming_hbm());
  }
  graph::Bound operator()(const graph::Elementwise& e) const {
    const double bytes = real(e.elements) * (e.reads + e.writes) * real(graph::size_of(e.dtype));
    return longer(e.useful_flops() / device.vector_fp32, bytes / device.streaming_hbm());
  }
  /// The other kernels stream tensors or rows.
  template <class Shape>
  graph::Bound operator()(const Shape&) const {
    return Shape::kWork == graph::Work::kernel || Shape::kWork == graph::Work::copy ? graph::Bound::memory
                                                                                    : graph::Bound::compute;
  }
};

}  // namespace

graph::Bound bound_of(const DeviceRates& device, const graph::Op& op) {
  return std::visit([&](const auto& shape) { return BoundOf{device}(shape); }, op);
}

}  // namespace distsim::opmodels
