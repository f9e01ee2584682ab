#include "sim/workload/resnet.hpp"

#include <array>

#include "sim/workload/data_parallel.hpp"

namespace distsim {
namespace {

/// Walks the network once, keeping the shape of the tensor that flows through it.
class Builder {
 public:
  Builder(const ResnetSpec& spec, std::int64_t images, const LayerContext& context)
      : spec_(spec), c_(context), n_(images), channels_(3), size_(spec.image) {}

  std::vector<Layer> build() {
    stem();
    const auto blocks = blocks_per_stage();
    for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
      for (int block = 0; block < blocks[stage]; ++block) {
        const std::string name = "layer" + std::to_string(stage + 1) + "." + std::to_string(block);
        add_block(name, std::int64_t{64} << stage, stage > 0 && block == 0 ? 2 : 1);
      }
    }
    head();
    return std::move(layers_);
  }

 private:
  bool bottleneck() const { return spec_.depth >= 50; }
  std::array<int, 4> blocks_per_stage() const {
    switch (spec_.depth) {
      case 18: return {2, 2, 2, 2};
      case 34: return {3, 4, 6, 3};
      case 50: return {3, 4, 6, 3};
      case 101: return {3, 4, 23, 3};
      case 152: return {3, 8, 36, 3};
      default: CHECK(false) << "depth " << spec_.depth; return {};
    }
  }
  std::int64_t elements() const { return n_ * channels_ * size_ * size_; }
  DType dtype() const { return c_.numerics.activation; }
  std::int64_t bytes(std::int64_t count) const { return count * size_of(dtype()); }
  Layer& push(std::string name) {
    layers_.emplace_back().name = std::move(name);
    return layers_.back();
  }

  void stem() {
    convolution("conv1", 64, 7, 2, 3, true);
    batch_norm("bn1", true);
    max_pooling();
  }

  void head() {
    Layer& pool = push("avgpool");
    const double share = 1.0 / static_cast<double>(size_ * size_);
    pool.forward.push_back(elementwise("avgpool", elements(), 1, share, 1, dtype()));
    pool.backward.push_back(elementwise("avgpool.dgrad", elements(), share, 1, 1, dtype()));
    Linear fc;
    fc.name = "fc";
    fc.rows = n_;
    fc.in = channels_;
    fc.out = spec_.classes;
    layers_.push_back(linear_layer(fc, c_));
    Loss loss;
    loss.kind = LossKind::cross_entropy;
    loss.rows = n_;
    loss.classes = spec_.classes;
    Layer& last = push("loss");
    last.forward.push_back({"loss", loss, {2, 2}});
    loss.pass = Pass::backward;
    last.backward.push_back({"loss.dgrad", loss, {2, 2}});
  }

  void add_block(const std::string& name, std::int64_t width, std::int64_t stride) {
    const std::int64_t in_channels = channels_, in_size = size_, out = bottleneck() ? 4 * width : width;
    const std::size_t first = layers_.size();
    if (bottleneck()) {
      const bool early = spec_.variant == "v1";
      convolution(name + ".conv1", width, 1, early ? stride : 1, 0);
      batch_norm(name + ".bn1", true);
      convolution(name + ".conv2", width, 3, early ? 1 : stride, 1);
      batch_norm(name + ".bn2", true);
      convolution(name + ".conv3", out, 1, 1, 0);
      batch_norm(name + ".bn3", false);
    } else {
      convolution(name + ".conv1", width, 3, stride, 1);
      batch_norm(name + ".bn1", true);
      convolution(name + ".conv2", width, 3, 1, 1);
      batch_norm(name + ".bn2", false);
    }
    if (stride != 1 || in_channels != out) shortcut(name, in_channels, in_size, out, stride);
    add_and_relu(name);
    // The block's input fed two branches: their gradients add up after the first convolution's.
    layers_[first].backward.push_back(elementwise(name + ".sum.dgrad", n_ * in_channels * in_size * in_size, 2, 1, 1, dtype()));
  }

  /// 1x1 convolution of the block's input, whose activations the first convolution already keeps.
  void shortcut(const std::string& name, std::int64_t in_channels, std::int64_t in_size, std::int64_t out, std::int64_t stride) {
    channels_ = in_channels;
    size_ = in_size;
    convolution(name + ".downsample.0", out, 1, stride, 0);
    layers_.back().saved_bytes = 0;
    batch_norm(name + ".downsample.1", false);
  }

  void convolution(const std::string& name, std::int64_t out, std::int64_t filter, std::int64_t stride, std::int64_t pad, bool first = false) {
    Conv2d op;
    op.n = n_;
    op.c = channels_;
    op.h = op.w = size_;
    op.k = out;
    op.r = op.s = filter;
    op.stride = stride;
    op.pad = pad;
    op.dtype = c_.numerics.matrix;
    op.channels_last = spec_.channels_last;
    const std::int64_t weights = out * channels_ * filter * filter;
    Layer& layer = push(name);
    layer.saved_bytes = bytes(elements());
    append_weight_cast(layer.forward, name, weights, 1, c_);
    layer.forward.push_back({name, op, {1, 1}});
    if (!first) {
      op.pass = Pass::backward_data;
      layer.backward.push_back({name + ".dgrad", op, {1, 1}});
    }
    op.pass = Pass::backward_weight;
    layer.backward.push_back({name + ".wgrad", op, {1, 1}});
    append_gradient_cast(layer.backward, name, weights, 1, c_);
    layer.parameters.push_back({name + ".weight", weights});
    channels_ = out;
    size_ = op.out_h();
  }

  void batch_norm(const std::string& name, bool relu) {
    const bool fused = c_.framework->fuse_elementwise;
    Normalization op;
    op.kind = NormKind::batch;
    op.rows = n_ * size_ * size_;
    op.cols = channels_;
    op.dtype = dtype();
    op.fused_activation = relu && fused;
    Layer& layer = push(name);
    layer.saved_bytes = bytes(elements());
    layer.forward.push_back({name, op, fused ? Dispatch{1, 1} : Dispatch{2, 2}});  // eager frameworks also count batches
    if (relu && !fused) layer.forward.push_back(elementwise(name + ".relu", elements(), 1, 1, 1, dtype()));
    if (relu && !fused) layer.backward.push_back(elementwise(name + ".relu.dgrad", elements(), 2, 1, 1, dtype()));
    op.pass = Pass::backward;
    layer.backward.push_back({name + ".grad", op, {1, 1}});
    layer.parameters.push_back({name + ".weight", channels_});
    layer.parameters.push_back({name + ".bias", channels_});
  }

  void add_and_relu(const std::string& name) {
    Layer& layer = push(name + ".add_relu");
    if (c_.framework->fuse_elementwise) {
      layer.forward.push_back(elementwise(name + ".add_relu", elements(), 2, 1, 2, dtype()));
    } else {
      layer.forward.push_back(elementwise(name + ".add", elements(), 2, 1, 1, dtype()));
      layer.forward.push_back(elementwise(name + ".relu", elements(), 1, 1, 1, dtype()));
    }
    layer.backward.push_back(elementwise(name + ".relu.dgrad", elements(), 2, 1, 1, dtype()));
  }

  void max_pooling() {
    const double before = static_cast<double>(elements());
    const std::int64_t input_bytes = bytes(elements());
    size_ = (size_ + 2 - 3) / 2 + 1;
    const double ratio = before / static_cast<double>(elements());  // inputs read for each output
    Layer& layer = push("maxpool");
    layer.saved_bytes = input_bytes;
    layer.forward.push_back(elementwise("maxpool", elements(), ratio, 1, 9, dtype()));
    layer.backward.push_back(elementwise("maxpool.dgrad", elements(), 1 + ratio, ratio, 9, dtype()));
  }

  const ResnetSpec& spec_;
  const LayerContext& c_;
  std::int64_t n_, channels_, size_;
  std::vector<Layer> layers_;
};

}  // namespace

std::vector<Layer> resnet_layers(const ResnetSpec& spec, std::int64_t images, const LayerContext& context) {
  return Builder(spec, images, context).build();
}

Result<Workload> build_resnet(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape, const SamplePlan& samples) {
  const ResnetSpec& spec = model.resnet;
  if (spec.image < 32) return Error{"model.resnet.image: found " + std::to_string(spec.image) + ", expected at least 32", "", ""};
  const LayerContext context = layer_context(model, framework);
  DataParallelModel parts;
  parts.layers = [&](std::int64_t images) { return resnet_layers(spec, images, context); };
  // Decoded and cropped on the host, copied as one byte a colour and normalised on the device.
  parts.input_bytes_per_sample = static_cast<double>(3 * spec.image * spec.image + 8);
  return build_data_parallel(model, framework, shape, samples, parts);
}

}  // namespace distsim
