#include "sim/workload/models/ssd.hpp"

#include <array>
#include <utility>

#include "sim/workload/graph/data_parallel.hpp"
#include "sim/workload/models/resnet.hpp"

namespace distsim::workload {
namespace {

constexpr Range kSsdWidth{1, 1 << 24};

constexpr int kBackboneStages = 3;

/// A pair of extra convolutions: 1x1 to `squeeze`, then 3x3 to `out`. The first three halve the image, the last two
/// lose their border.
struct Extra {
  std::int64_t squeeze, out, stride, pad;
};
constexpr std::array<Extra, 5> kExtras{
    {{256, 512, 2, 1}, {256, 512, 2, 1}, {128, 256, 2, 1}, {128, 256, 1, 0}, {128, 256, 1, 0}}};
constexpr std::array<std::int64_t, 6> kBoxes{4, 6, 6, 6, 4, 4};

ResnetSpec backbone_of(const SsdSpec& spec) {
  ResnetSpec backbone;
  backbone.depth = spec.depth;
  backbone.image = spec.image;
  backbone.channels_last = spec.channels_last;
  return backbone;
}

void add_extra(ImageStack& stack, std::size_t index) {
  const Extra& extra = kExtras[index];
  const std::string name = "extra" + std::to_string(index);
  stack.convolution({name + ".conv1", extra.squeeze, 1, 1, 0});
  stack.batch_norm(name + ".bn1", true);
  stack.convolution({name + ".conv2", extra.out, 3, extra.stride, extra.pad});
  stack.batch_norm(name + ".bn2", true);
}

void add_heads(ImageStack& stack, const FeatureMap& map, std::size_t index, std::int64_t classes) {
  const std::string name = "head" + std::to_string(index);
  for (const auto& [what, outputs] : {std::pair{".boxes", std::int64_t{4}}, {".classes", classes}}) {
    stack.return_to(map.channels, map.size);
    stack.convolution({name + what, map.boxes * outputs, 3, 1, 1, true});
    stack.layers().back().saved_bytes = 0;  // the map is kept by the layer that follows it in the trunk
  }
  // Three consumers of one map: their gradients add up.
  stack.layers().back().backward.push_back(elementwise(
      name + ".sum.dgrad", stack.images() * map.channels * map.size * map.size, 2, 1, 1, stack.dtype(), {2, 2}));
}

/// Predictions are gathered into one tensor; smooth L1 over boxes, cross entropy over classes, and hard negative
/// mining: two sorts of the anchors' losses.
void add_loss(ImageStack& stack, const std::vector<FeatureMap>& maps, std::int64_t classes) {
  std::int64_t anchors = 0;
  for (const FeatureMap& map : maps) anchors += map.anchors();
  const std::int64_t boxes = stack.images() * anchors;
  Layer& layer = stack.push("loss");
  const graph::Concat gather{boxes * (4 + classes) * graph::size_of(stack.dtype()),
                             static_cast<std::int64_t>(2 * maps.size())};
  layer.forward.push_back({"loss.gather", gather, {14, 14}});
  layer.forward.push_back(elementwise("loss.to_fp32", boxes * (4 + classes), 1, 1, 1, graph::DType::fp32, {2, 2}));
  layer.forward.push_back(elementwise("loss.boxes", boxes * 4, 3, 2, 10, graph::DType::fp32, {8, 8}));
  graph::Loss loss;
  loss.kind = graph::LossKind::cross_entropy;
  loss.rows = boxes;
  loss.classes = classes;
  layer.forward.push_back({"loss.classes", loss, {2, 2}});
  layer.forward.push_back(elementwise("loss.mining", boxes, 40, 40, 10, graph::DType::fp32,
                                      {10, 40}));  // two radix sorts with indices, a few passes each
  loss.pass = graph::Pass::backward;
  layer.backward.push_back({"loss.classes.dgrad", loss, {4, 4}});
  layer.backward.push_back(elementwise("loss.boxes.dgrad", boxes * 4, 3, 1, 10, graph::DType::fp32, {6, 6}));
  layer.backward.push_back({"loss.gather.dgrad", gather, {14, 14}});
  layer.saved_bytes = boxes * (4 + classes) * 8;
}

}  // namespace

std::vector<FeatureMap> ssd_feature_maps(const SsdSpec& spec) {
  const auto halved = [](std::int64_t side) { return (side + 1) / 2; };
  std::int64_t side = halved(halved(halved(spec.image)));  // stem, pooling, second stage; the third keeps it
  std::vector<FeatureMap> maps{{spec.depth >= 50 ? 1024 : 256, side, kBoxes[0]}};
  for (std::size_t i = 0; i < kExtras.size(); ++i) {
    side = (side + 2 * kExtras[i].pad - 3) / kExtras[i].stride + 1;
    maps.push_back({kExtras[i].out, side, kBoxes[i + 1]});
  }
  return maps;
}

std::vector<Layer> ssd_layers(const SsdSpec& spec, std::int64_t images, const LayerContext& context) {
  ImageStack stack(images, 3, spec.image, spec.channels_last, context);
  add_resnet_stages(stack, backbone_of(spec), kBackboneStages, 1);
  for (std::size_t i = 0; i < kExtras.size(); ++i) add_extra(stack, i);
  const std::vector<FeatureMap> maps = ssd_feature_maps(spec);
  for (std::size_t i = 0; i < maps.size(); ++i) add_heads(stack, maps[i], i, spec.classes);
  add_loss(stack, maps, spec.classes);
  return stack.take();
}

Schema<SsdSpec> ssd_schema() {
  Schema<SsdSpec> s("ssd", "SSD detector on a ResNet truncated after its third stage.");
  s.choice<std::int64_t>("depth", &SsdSpec::depth, {{"18", 18}, {"34", 34}, {"50", 50}},
                         "Layers with weights in the backbone.");
  s.optional("image", &SsdSpec::image, {264, 8192}, "Height and width of an image.");
  s.optional("classes", &SsdSpec::classes, kSsdWidth, "Classes, including the background.");
  s.optional("channels_last", &SsdSpec::channels_last, "Activations are stored as NHWC.");
  return s;
}

namespace {

Result<Workload> build_ssd(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape,
                           const SamplePlan& samples) {
  const SsdSpec& spec = model.as<SsdSpec>();
  if (ssd_feature_maps(spec).back().size < 1) {
    return Error{"model.ssd.image: found " + std::to_string(spec.image) +
                     ", expected an image whose sixth feature map is not empty (300)",
                 "", ""};
  }
  const LayerContext context = layer_context(model, framework);
  DataParallelModel parts;
  parts.layers = [&](std::int64_t images) { return ssd_layers(spec, images, context); };
  parts.input_bytes_per_sample =
      static_cast<double>(3 * spec.image * spec.image * 2);  // normalised on the loader's GPU part; plus a few boxes
  return build_data_parallel(model, framework, shape, samples, parts);
}

constexpr Refusal kSsdRefuses[] = {
    {"{image: 200}", "model.ssd.image"},
    {"{depth: 101}", "model.ssd.depth"},
};

}  // namespace

extern const ModelFamily ssd_family;
constinit const ModelFamily ssd_family{
    .name = "ssd",
    .sentence = "SSD detector on a ResNet backbone; data parallel",
    .refuses = kSsdRefuses,
    .add_section = [](Schema<ModelSpec>& s) { add_section(s, ssd_schema()); },
    .build = build_ssd,
};

}  // namespace distsim::workload
