// ResNet (He et al. 2015, arXiv 1512.03385) layer by layer.
#pragma once

#include <vector>

#include "base/config/schema.hpp"
#include "sim/workload/layers/image_layers.hpp"

namespace distsim::workload {

/// Which convolution of a bottleneck that halves the image has the stride: v1 the first 1x1; v1b and v1.5 the 3x3.
enum class ResnetVariant : std::uint8_t { v1, v1b, v1_5 };

struct ResnetSpec {
  std::int64_t depth = 50;
  ResnetVariant variant = ResnetVariant::v1_5;
  std::int64_t image = 224, classes = 1000;
  bool channels_last = true;
};
Schema<ResnetSpec> resnet_schema();

/// Forward order: stem, four stages of blocks, average pooling, classifier, loss. Depths 18 and 34 have basic blocks,
/// 50, 101 and 152 bottlenecks. Parameters are those of torchvision: batch norms have scale and shift, convolutions no
/// bias, the classifier has one.
std::vector<Layer> resnet_layers(const ResnetSpec& spec, std::int64_t images, const LayerContext& context);

/// Stem and the first `stages` stages. `last_stride` is that of the last stage: detectors keep its image large with 1.
void add_resnet_stages(ImageStack& stack, const ResnetSpec& spec, int stages, std::int64_t last_stride);

}  // namespace distsim::workload
