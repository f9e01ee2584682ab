// ResNet (He et al. 2015, arXiv 1512.03385) layer by layer.
#pragma once

#include <vector>

#include "sim/workload/models/image_layers.hpp"
#include "sim/workload/specs/model_spec.hpp"

namespace distsim::workload {

/// Forward order: stem, four stages of blocks, average pooling, classifier, loss. Depths 18 and 34 have basic blocks,
/// 50, 101 and 152 bottlenecks. In a bottleneck that halves the image, v1 puts the stride on the first 1x1 convolution;
/// v1b and v1.5 on the 3x3. Parameters are those of torchvision: batch norms have scale and shift, convolutions no
/// bias, the classifier has one.
std::vector<Layer> resnet_layers(const ResnetSpec& spec, std::int64_t images, const LayerContext& context);

/// Stem and the first `stages` stages. `last_stride` is that of the last stage: detectors keep its image large with 1.
void add_resnet_stages(ImageStack& stack, const ResnetSpec& spec, int stages, std::int64_t last_stride);

}  // namespace distsim::workload
