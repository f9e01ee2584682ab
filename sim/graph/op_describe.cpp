// describe: one line for people, "gemm 2048x1024x480 fp16".
#include <cstdio>
#include <initializer_list>

#include "sim/graph/op.hpp"

namespace distsim::graph {
namespace {

std::string by(std::initializer_list<std::int64_t> sizes) {
  std::string text;
  for (const std::int64_t size : sizes) text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

std::string dtype(DType type) { return " " + std::string(name_of(type)); }
/// The forward pass goes without saying.
std::string pass(Pass p) { return p == Pass::forward ? "" : " " + std::string(name_of(p)); }
std::string flag(bool on, const char* word) { return on ? std::string(" ") + word : ""; }

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

std::string microseconds(Duration duration) { return " " + number(duration.us()) + " us"; }

const char* word(EmbeddingOptimizer o) {
  switch (o) {
    case EmbeddingOptimizer::none:
      return "no optimizer";
    case EmbeddingOptimizer::sgd:
      return "sgd";
    case EmbeddingOptimizer::rowwise_adagrad:
      return "rowwise_adagrad";
    case EmbeddingOptimizer::adagrad:
      return "adagrad";
    case EmbeddingOptimizer::adam:
      return "adam";
  }
  return "?";
}
const char* word(SparseUpdate u) {
  switch (u) {
    case SparseUpdate::fused:
      return "fused";
    case SparseUpdate::sort_dedup:
      return "sort_dedup";
    case SparseUpdate::atomic:
      return "atomic";
  }
  return "?";
}
const char* word(NormKind k) {
  switch (k) {
    case NormKind::layer:
      return "layer ";
    case NormKind::batch:
      return "batch ";
    case NormKind::rms:
      return "rms ";
  }
  return "?";
}
const char* word(LossKind k) {
  switch (k) {
    case LossKind::binary_cross_entropy:
      return "binary_cross_entropy ";
    case LossKind::cross_entropy:
      return "cross_entropy ";
    case LossKind::mean_squared_error:
      return "mean_squared_error ";
  }
  return "?";
}
const char* word(CopyKind k) {
  switch (k) {
    case CopyKind::h2d:
      return "h2d ";
    case CopyKind::d2h:
      return "d2h ";
    case CopyKind::d2d:
      return "d2d ";
    case CopyKind::p2p:
      return "p2p ";
  }
  return "?";
}
const char* word(OptimizerKind k) {
  switch (k) {
    case OptimizerKind::sgd:
      return "sgd ";
    case OptimizerKind::momentum:
      return "momentum ";
    case OptimizerKind::adagrad:
      return "adagrad ";
    case OptimizerKind::adam:
      return "adam ";
    case OptimizerKind::lamb:
      return "lamb ";
    case OptimizerKind::lars:
      return "lars ";
  }
  return "?";
}

/// The shape part of the line, after the kind.
struct Shape {
  std::string operator()(const Absent&) const { return ""; }
  std::string operator()(const Gemm& g) const {
    const std::string batch = g.batch == 1 ? "" : std::to_string(g.batch) + " of ";
    return batch + by({g.m, g.n, g.k}) + dtype(g.dtype) + pass(g.pass) + flag(g.fused_epilogue, "fused epilogue");
  }
  std::string operator()(const Conv2d& c) const {
    std::string text =
        by({c.n, c.c, c.h, c.w}) + " filters " + by({c.k, c.r, c.s}) + " stride " + std::to_string(c.stride);
    if (c.groups != 1) text += " groups " + std::to_string(c.groups);
    if (c.dilation != 1) text += " dilation " + std::to_string(c.dilation);
    return text + (c.channels_last ? " nhwc" : " nchw") + dtype(c.dtype) + pass(c.pass);
  }
  std::string operator()(const EmbeddingBag& e) const {
    double indices = 0;
    for (const EmbeddingTable& t : e.tables) indices += t.pooling_factor;
    std::string text = std::to_string(e.tables.size()) + (e.tables.size() == 1 ? " table" : " tables") + " batch " +
                       std::to_string(e.batch) + " indices/sample " + number(indices) + dtype(e.weights) + pass(e.pass);
    if (e.pass != Pass::forward) text += std::string(" ") + word(e.update) + " " + word(e.optimizer);
    return text + flag(!e.table_batched, "kernel per table");
  }
  std::string operator()(const Interaction& i) const {
    return by({i.batch, i.features, i.dim}) + dtype(i.dtype) + pass(i.pass) + flag(i.fused, "fused");
  }
  std::string operator()(const CrossLayer& c) const {
    return by({c.batch, c.width}) + (c.rank > 0 ? " rank " + std::to_string(c.rank) : " full rank") + dtype(c.dtype) +
           pass(c.pass);
  }
  std::string operator()(const Normalization& n) const {
    return word(n.kind) + by({n.rows, n.cols}) + dtype(n.dtype) + pass(n.pass);
  }
  std::string operator()(const Softmax& s) const { return by({s.rows, s.cols}) + dtype(s.dtype) + pass(s.pass); }
  std::string operator()(const Attention& a) const {
    return by({a.batch, a.heads, a.q_len, a.kv_len, a.head_dim}) + dtype(a.dtype) + pass(a.pass) +
           flag(a.flash, "flash") + flag(a.causal, "causal");
  }
  std::string operator()(const Elementwise& e) const {
    return std::to_string(e.elements) + dtype(e.dtype) + " reads " + number(e.reads) + " writes " + number(e.writes);
  }
  std::string operator()(const Loss& l) const {
    return word(l.kind) + by({l.rows, l.classes}) + dtype(l.dtype) + pass(l.pass);
  }
  std::string operator()(const Copy& c) const { return word(c.kind) + std::to_string(c.bytes) + " B"; }
  std::string operator()(const Concat& c) const {
    return std::to_string(c.bytes) + " B in " + std::to_string(c.pieces) + " pieces";
  }
  std::string operator()(const Transpose& t) const {
    return (t.batch == 1 ? by({t.rows, t.cols}) : by({t.batch, t.rows, t.cols})) + dtype(t.dtype);
  }
  std::string operator()(const Optimizer& o) const {
    return word(o.kind) + std::to_string(o.parameters) + " parameters in " + std::to_string(o.tensors) + " tensors" +
           dtype(o.gradient) + flag(o.master_weights, "master weights");
  }
  std::string operator()(const HostWork& h) const { return microseconds(h.duration).substr(1); }
  std::string operator()(const Measured& m) const { return microseconds(m.duration).substr(1); }
  std::string operator()(const Collective& c) const {
    return std::string(name_of(c.kind)) + " " + std::to_string(c.bytes) + " B" + dtype(c.dtype) +
           flag(!c.send_bytes.empty(), "uneven");
  }
};

}  // namespace

std::string describe(const Op& op) {
  const std::string shape = std::visit(Shape{}, op);
  return std::string(kind_of(op)) + (shape.empty() ? "" : " " + shape);
}

}  // namespace distsim::graph
