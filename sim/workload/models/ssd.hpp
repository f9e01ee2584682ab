// SSD300 (Liu et al. 2015, arXiv 1512.02325) on a ResNet backbone.
#pragma once

#include <vector>

#include "base/config/schema.hpp"
#include "sim/workload/layers/layer.hpp"

namespace distsim::workload {

struct SsdSpec {
  std::int64_t depth = 50;
  std::int64_t image = 300, classes = 81;
  bool channels_last = true;
};
Schema<SsdSpec> ssd_schema();

/// One feature map that the detector reads: `size` x `size` cells, `boxes` default boxes each.
struct FeatureMap {
  std::int64_t channels = 0, size = 0, boxes = 0;
  std::int64_t anchors() const { return boxes * size * size; }
};

/// The six maps: the backbone's last, and one after each pair of extra convolutions. 300 x 300: sizes 38, 19, 10, 5, 3,
/// 1; 8732 anchors.
std::vector<FeatureMap> ssd_feature_maps(const SsdSpec& spec);

/// Forward order: stem and three stages of the backbone, the third with stride 1 (torch's conv4_x at 38 x 38); five
/// pairs of 1x1 and 3x3 convolutions with batch norm; for each map a 3x3 convolution to 4 coordinates and one to the
/// classes of every box, both with bias; loss. With a = sum of boxes_i channels_i, b = sum of boxes_i: heads have (9 a
/// + b) (4 + classes) parameters.
std::vector<Layer> ssd_layers(const SsdSpec& spec, std::int64_t images, const LayerContext& context);

}  // namespace distsim::workload
