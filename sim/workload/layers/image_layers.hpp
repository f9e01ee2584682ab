// ImageStack: convolutional layers, added one after the other to the tensor that flows through them. Shared by ResNet
// and by the detectors on top of it.
#pragma once

#include <string>
#include <vector>

#include "sim/workload/layers/layer.hpp"

namespace distsim::workload {

struct Convolution {
  std::string name;
  std::int64_t out = 0;  ///< filters
  std::int64_t filter = 1, stride = 1, pad = 0;
  bool bias = false;
  bool input_gradient = true;  ///< false for the first layer of a network
};

/// Whether the framework follows a model that stores N, H, W, C.
inline bool keeps_channels_last(const LayerContext& context) {
  const ConvLayout layout = context.framework->kernels.convolution_layout;
  return layout == ConvLayout::model || (layout == ConvLayout::nchw_in_32_bit && context.numerics.mixed);
}

/// Images are n x channels x size x size. Parameters are those of torchvision: batch norms have scale and shift.
class ImageStack {
 public:
  ImageStack(std::int64_t images, std::int64_t channels, std::int64_t size, bool channels_last,
             const LayerContext& context)
      : c_(context),
        channels_last_(channels_last && keeps_channels_last(context)),
        n_(images),
        channels_(channels),
        size_(size) {}

  void convolution(const Convolution& shape);
  /// A ReLU, where there is one, is fused if the framework fuses elementwise chains.
  void batch_norm(const std::string& name, bool relu);
  /// x + y of the current shape, then ReLU: the end of a residual block.
  void add_and_relu(const std::string& name);
  /// 3x3, stride 2.
  void max_pooling();
  void average_pooling();

  /// A layer of the caller's.
  Layer& push(std::string name);
  /// Goes back to a tensor of an earlier shape, from which another branch starts.
  void return_to(std::int64_t channels, std::int64_t size);

  std::int64_t images() const { return n_; }
  std::int64_t channels() const { return channels_; }
  std::int64_t size() const { return size_; }
  std::int64_t elements() const { return n_ * channels_ * size_ * size_; }
  const LayerContext& context() const { return c_; }
  graph::DType dtype() const { return c_.numerics.activation; }
  std::vector<Layer>& layers() { return layers_; }
  std::vector<Layer> take() { return std::move(layers_); }

 private:
  std::int64_t bytes(std::int64_t count) const { return count * graph::size_of(dtype()); }

  const LayerContext& c_;
  bool channels_last_;
  std::int64_t n_, channels_, size_;
  std::vector<Layer> layers_;
};

}  // namespace distsim::workload
