// TokenStack: the layers that sequence models share, added one after the other. Rows are tokens.
#pragma once

#include <string>
#include <vector>

#include "sim/workload/layers/layer.hpp"

namespace distsim::workload {

/// How the gradient of a word embedding becomes a dense one: TensorFlow adds into zeroes, PyTorch sorts and sums.
inline graph::SparseUpdate dense_table_update(const LayerContext& context) {
  const bool tensorflow = context.framework->embedding.sparse_update == graph::SparseUpdate::sort_dedup;
  return tensorflow ? graph::SparseUpdate::atomic : graph::SparseUpdate::fused;
}

class TokenStack {
 public:
  TokenStack(const LayerContext& context, bool dropout) : c_(context), dropout_(dropout) {}

  Layer& push(std::string name);
  void linear(std::string name, std::int64_t rows, std::int64_t in, std::int64_t out,
              Activation activation = Activation::none, bool owns_weight = true, bool bias = true);
  /// Where the model has dropout at all.
  void dropout(const std::string& name, std::int64_t elements);
  /// x + dropout(y): one kernel where elementwise chains are fused. Backward the gradient also meets that of the
  /// branch.
  void residual(const std::string& name, std::int64_t elements);
  void layer_norm(const std::string& name, std::int64_t rows, std::int64_t width);
  /// An LSTM or GRU layer, with the two bias vectors that cuDNN has. Its batch, length and sizes are `op`'s.
  void recurrent(const std::string& name, graph::Recurrent op);
  /// Rows of `width` looked up for `tokens`; `owns_weight` false: in another layer's table, to whose gradient its own is
  /// added.
  void embedding(const std::string& name, std::int64_t tokens, std::int64_t words, std::int64_t width,
                 bool owns_weight);
  /// Adds to a block's attention what an eager framework calls in the whole block without launching a kernel.
  void add_calls_without_kernels(Layer& attention) const;
  /// In fp32 where the arithmetic is mixed.
  void cross_entropy(const std::string& name, std::int64_t rows, std::int64_t classes);

  const LayerContext& context() const { return c_; }
  bool has_dropout() const { return dropout_; }
  bool fused() const { return c_.framework->kernels.fuse_elementwise; }
  graph::DType dtype() const { return c_.numerics.activation; }
  std::int64_t bytes(std::int64_t elements) const { return elements * graph::size_of(dtype()); }
  std::vector<Layer>& layers() { return layers_; }
  std::vector<Layer> take() { return std::move(layers_); }

 private:
  const LayerContext& c_;
  bool dropout_;
  std::vector<Layer> layers_;
};

}  // namespace distsim::workload
