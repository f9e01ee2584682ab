#include "sim/workload/models/resnet.hpp"

#include <array>

#include "sim/workload/graph/data_parallel.hpp"

namespace distsim::workload {
namespace {

constexpr Range kResnetWidth{1, 1 << 24};

std::array<int, 4> blocks_per_stage(std::int64_t depth) {
  switch (depth) {
    case 18:
      return {2, 2, 2, 2};
    case 34:
      return {3, 4, 6, 3};
    case 50:
      return {3, 4, 6, 3};
    case 101:
      return {3, 4, 23, 3};
    case 152:
      return {3, 8, 36, 3};
    default:
      CHECK(false) << "depth " << depth;
      return {};
  }
}

bool is_bottleneck(const ResnetSpec& spec) { return spec.depth >= 50; }

/// Convolution and batch norm.
void conv_bn(ImageStack& stack, const std::string& block, const std::string& which, std::int64_t out,
             std::int64_t filter, std::int64_t stride, bool relu) {
  stack.convolution({block + ".conv" + which, out, filter, stride, filter / 2});
  stack.batch_norm(block + ".bn" + which, relu);
}

/// 1x1 convolution of the block's input, whose activations the first convolution already keeps.
void shortcut(ImageStack& stack, const std::string& name, std::int64_t in_channels, std::int64_t in_size,
              std::int64_t out, std::int64_t stride) {
  stack.return_to(in_channels, in_size);
  stack.convolution({name + ".downsample.0", out, 1, stride, 0});
  stack.layers().back().saved_bytes = 0;
  stack.batch_norm(name + ".downsample.1", false);
}

void add_block(ImageStack& stack, const ResnetSpec& spec, const std::string& name, std::int64_t width,
               std::int64_t stride) {
  const std::int64_t in_channels = stack.channels(), in_size = stack.size(),
                     out = is_bottleneck(spec) ? 4 * width : width;
  const std::size_t first = stack.layers().size();
  const std::int64_t in_elements = stack.elements();
  if (is_bottleneck(spec)) {
    const bool early = spec.variant == ResnetVariant::v1;
    conv_bn(stack, name, "1", width, 1, early ? stride : 1, true);
    conv_bn(stack, name, "2", width, 3, early ? 1 : stride, true);
    conv_bn(stack, name, "3", out, 1, 1, false);
  } else {
    conv_bn(stack, name, "1", width, 3, stride, true);
    conv_bn(stack, name, "2", width, 3, 1, false);
  }
  if (stride != 1 || in_channels != out) shortcut(stack, name, in_channels, in_size, out, stride);
  stack.add_and_relu(name);
  // The block's input fed two branches: their gradients add up after the first convolution's.
  stack.layers()[first].backward.push_back(elementwise(name + ".sum.dgrad", in_elements, 2, 1, 1, stack.dtype()));
}

void add_classifier(ImageStack& stack, std::int64_t classes) {
  stack.average_pooling();
  Linear fc;
  fc.name = "fc";
  fc.rows = stack.images();
  fc.in = stack.channels();
  fc.out = classes;
  stack.layers().push_back(linear_layer(fc, stack.context()));
  graph::Loss loss;
  loss.kind = graph::LossKind::cross_entropy;
  loss.rows = stack.images();
  loss.classes = classes;
  Layer& last = stack.push("loss");
  last.forward.push_back({"loss", loss, {2, 2}});
  loss.pass = graph::Pass::backward;
  last.backward.push_back({"loss.dgrad", loss, {2, 2}});
}

}  // namespace

void add_resnet_stages(ImageStack& stack, const ResnetSpec& spec, int stages, std::int64_t last_stride) {
  stack.convolution({"conv1", 64, 7, 2, 3, false, false});
  stack.batch_norm("bn1", true);
  stack.max_pooling();
  const auto blocks = blocks_per_stage(spec.depth);
  for (int stage = 0; stage < stages; ++stage) {
    for (int block = 0; block < blocks[static_cast<std::size_t>(stage)]; ++block) {
      const std::string name = "layer" + std::to_string(stage + 1) + "." + std::to_string(block);
      const bool halves = stage > 0 && block == 0;
      add_block(stack, spec, name, std::int64_t{64} << stage, !halves ? 1 : stage + 1 == stages ? last_stride : 2);
    }
  }
}

std::vector<Layer> resnet_layers(const ResnetSpec& spec, std::int64_t images, const LayerContext& context) {
  ImageStack stack(images, 3, spec.image, spec.channels_last, context);
  add_resnet_stages(stack, spec, 4, 2);
  add_classifier(stack, spec.classes);
  return stack.take();
}

Schema<ResnetSpec> resnet_schema() {
  Schema<ResnetSpec> s("resnet", "A residual network for images.");
  s.choice<std::int64_t>("depth", &ResnetSpec::depth, {{"18", 18}, {"34", 34}, {"50", 50}, {"101", 101}, {"152", 152}},
                         "Layers with weights.");
  s.choice("variant", &ResnetSpec::variant,
           {{"v1", ResnetVariant::v1}, {"v1b", ResnetVariant::v1b}, {"v1.5", ResnetVariant::v1_5}},
           "Which convolution of a downsampling bottleneck has the stride: v1 the first 1x1; v1.5 and v1b the 3x3.");
  s.optional("image", &ResnetSpec::image, {32, 8192}, "Height and width of an image.");
  s.optional("classes", &ResnetSpec::classes, kResnetWidth, "Classes, i.e. outputs of the classifier.");
  s.optional("channels_last", &ResnetSpec::channels_last, "Activations are stored as NHWC.");
  return s;
}

namespace {

Result<Workload> build_resnet(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape,
                              const SamplePlan& samples) {
  const ResnetSpec& spec = model.as<ResnetSpec>();
  const LayerContext context = layer_context(model, framework);
  DataParallelModel parts;
  parts.layers = [&](std::int64_t images) { return resnet_layers(spec, images, context); };
  // Decoded and cropped on the host, copied as one byte per colour and normalised on the device.
  parts.input_bytes_per_sample = static_cast<double>(3 * spec.image * spec.image + 8);
  return build_data_parallel(model, framework, shape, samples, parts);
}

constexpr Refusal kResnetRefuses[] = {
    {"{image: 31}", "model.resnet.image"},
    {"{depth: 51}", "model.resnet.depth"},
    {"{variant: v2}", "model.resnet.variant"},
};

}  // namespace

extern const ModelFamily resnet_family;
constinit const ModelFamily resnet_family{
    .name = "resnet",
    .sentence = "Residual network for images (18 to 152 layers; v1, v1b, v1.5); data parallel",
    .refuses = kResnetRefuses,
    .add_section = [](Schema<ModelSpec>& s) { add_section(s, resnet_schema()); },
    .build = build_resnet,
};

}  // namespace distsim::workload
