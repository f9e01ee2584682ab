// Files of the format, and which op goes by which rule.
#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "sim/opgraph/onnx/onnx_reader.hpp"
#include "sim/opgraph/readers.hpp"

namespace distsim::opgraph {
namespace {

constexpr auto kSamples = OnnxLowering::kSamples;

/// More samples than a GPU is given: a size that has a bound, as of x[:100], has left its line. With fewer, or with none, where
/// those make tensors beyond what is read.
constexpr std::array<std::int64_t, 3> kFarSamples = {1 << 20, 1 << 16, 1 << 12};

/// Gives the sizes of the first pass as lines of the batch. What keeps it from that, or nothing.
std::string follow_batch(OpGraph& one, const OpGraph& two, const OpGraph& three) {
  for (const OpGraph* other : {&two, &three}) {
    if (one.nodes.size() != other->nodes.size() || one.tensors.size() != other->tensors.size())
      return "found calls that depend on the batch";
    for (std::size_t i = 0; i < one.nodes.size(); ++i) {
      if (one.nodes[i].op != other->nodes[i].op)
        return "node " + std::to_string(i) + ": found a call that depends on the batch";
    }
  }
  std::vector<std::vector<Extent>> all;
  for (std::size_t t = 0; t < one.tensors.size(); ++t) {
    const std::vector<Extent>&a = one.tensors[t].dims, &b = two.tensors[t].dims;
    const std::vector<Extent>& c = three.tensors[t].dims;
    if (a.size() != b.size() || a.size() != c.size())
      return node_with(one, static_cast<std::uint32_t>(t)) + ": found dimensions that depend on the batch";
    std::vector<Extent>& dims = all.emplace_back();
    for (std::size_t i = 0; i < a.size(); ++i) {
      const std::int64_t more = b[i].constant - a[i].constant, slope = more / (kSamples[1] - kSamples[0]);
      const Extent line{a[i].constant - slope * kSamples[0], slope};
      const auto apart = [&](const Extent& size, std::int64_t samples) {
        return line.constant + slope * samples != size.constant;
      };
      if (slope < 0 || apart(b[i], kSamples[1]) || apart(c[i], kSamples[2]))
        return node_with(one, static_cast<std::uint32_t>(t)) + ": found a size of " + std::to_string(a[i].constant) +
               ", " + std::to_string(b[i].constant) + " and " + std::to_string(c[i].constant) +
               " with 2, 4 and 64 samples, which does not follow the batch in a line";
      dims.push_back(line);
    }
  }
  for (std::size_t t = 0; t < all.size(); ++t) one.tensors[t].dims = std::move(all[t]);
  return "";
}

std::vector<std::uint32_t> tensors_of(const Node& node) {
  std::vector<std::uint32_t> out = node.outputs;
  for (const Argument& a : node.inputs) out.insert(out.end(), a.tensors.begin(), a.tensors.end());
  return out;
}

/// Where a size of a graph that follows the batch leaves its line far off, or nothing. Calls of one place in the model are
/// compared: numbers that are computed with few samples are made by kernels with many, and a part that is all of a tensor is
/// no call.
std::string far_from_line(const OpGraph& graph, const OpGraph& far) {
  std::unordered_map<std::string_view, std::vector<const Node*>> there;
  for (const Node& node : far.nodes) there[node.label].push_back(&node);
  std::unordered_map<std::string_view, std::size_t> seen;
  for (const Node& node : graph.nodes) {
    const auto found = there.find(node.label);
    const std::size_t place = seen[node.label]++;
    if (found == there.end() || place >= found->second.size()) continue;
    const Node& other = *found->second[place];
    const std::vector<std::uint32_t> here = tensors_of(node), beyond = tensors_of(other);
    if (node.op != other.op || here.size() != beyond.size()) continue;
    for (std::size_t t = 0; t < here.size(); ++t) {
      const std::vector<Extent>&a = graph.tensors[here[t]].dims, &b = far.tensors[beyond[t]].dims;
      for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        if (a[i].constant + a[i].per_sample * far.samples == b[i].constant) continue;
        return node_with(graph, here[t]) + ": found a size of " + std::to_string(b[i].constant) + " with " +
               std::to_string(far.samples) + " samples, which does not follow the batch in a line";
      }
    }
  }
  return "";
}

/// Layer normalisation has an op of its own from opset 17 on; before, exporters write it out: mean, x - mean, its square, ...
void note_written_out_norms(const onnx::Model& model, const OnnxLowering& lowering, OpGraph& graph) {
  std::unordered_map<std::string_view, const onnx::Node*> makers;
  std::size_t norms = 0;
  for (const onnx::Node& node : model.graph().node()) {
    for (const std::string& name : node.output()) makers[name] = &node;
    const auto made_by = [&](const onnx::Node& of, int input, std::string_view op) -> const onnx::Node* {
      const auto at = input < of.input_size() ? makers.find(of.input(input)) : makers.end();
      return at != makers.end() && at->second->op_type() == op ? at->second : nullptr;
    };
    const onnx::Node* centred = node.op_type() == "Pow" ? made_by(node, 0, "Sub") : nullptr;
    norms += centred != nullptr && made_by(*centred, 1, "ReduceMean") != nullptr ? 1 : 0;
  }
  const auto say = [&](std::size_t n, const std::string& what) {
    if (n > 0) graph.remarks.push_back(counted(n, "layer normalisation") + " written out " + what);
  };
  say(lowering.norms(), "as exporters do below opset 17 taken as the one kernel that PyTorch runs");
  say(norms - std::min(norms, lowering.norms()),
      lowering.opset() < 17 ? "as nine kernels, which PyTorch runs as one: export with opset_version=17"
                            : "as nine kernels and priced as these: PyTorch's own has an op from opset 17 on");
}

}  // namespace

const OnnxLowering::Rule* OnnxLowering::rule_of(std::string_view op) {
  using L = OnnxLowering;
  static const Rule kRules[] = {{"Constant", &L::constant},
                                {"ConstantOfShape", &L::constant_of_shape},
                                {"Shape", &L::shape},
                                {"Size", &L::shape},
                                {"Range", &L::range},
                                {"Identity", &L::identity},
                                {"Reshape", &L::reshape},
                                {"Flatten", &L::flatten},
                                {"Transpose", &L::transpose},
                                {"Squeeze", &L::squeeze},
                                {"Unsqueeze", &L::unsqueeze},
                                {"Expand", &L::expand},
                                {"Slice", &L::slice},
                                {"Split", &L::split},
                                {"Concat", &L::concat},
                                {"Gather", &L::gather},
                                {"GatherElements", &L::gather_elements},
                                {"GatherND", &L::gather_elements},
                                {"Pad", &L::pad},
                                {"Tile", &L::tile},
                                {"ScatterElements", &L::scatter, "scatter"},
                                {"Scatter", &L::scatter, "scatter"},
                                {"ScatterND", &L::scatter, "index_put"},
                                {"Resize", &L::resize},
                                {"Upsample", &L::resize},
                                {"DepthToSpace", &L::space},
                                {"SpaceToDepth", &L::space},
                                {"Add", &L::binary, "add"},
                                {"Sub", &L::binary, "sub"},
                                {"Mul", &L::binary, "mul"},
                                {"Div", &L::binary, "div"},
                                {"Pow", &L::binary, "pow"},
                                {"Mod", &L::binary, "remainder"},
                                {"PRelu", &L::binary, "prelu"},
                                {"Equal", &L::binary, "eq"},
                                {"Less", &L::binary, "lt"},
                                {"Greater", &L::binary, "gt"},
                                {"LessOrEqual", &L::binary, "le"},
                                {"GreaterOrEqual", &L::binary, "ge"},
                                {"And", &L::binary, "logical_and"},
                                {"Or", &L::binary, "logical_or"},
                                {"Xor", &L::binary, "logical_xor"},
                                {"Max", &L::several, "maximum"},
                                {"Min", &L::several, "minimum"},
                                {"Sum", &L::several, "add"},
                                {"Mean", &L::several, "add"},
                                {"Relu", &L::unary, "relu"},
                                {"LeakyRelu", &L::unary, "leaky_relu"},
                                {"Elu", &L::unary, "elu"},
                                {"Selu", &L::unary, "selu"},
                                {"Celu", &L::unary, "celu"},
                                {"Gelu", &L::unary, "gelu"},
                                {"Mish", &L::unary, "mish"},
                                {"Sigmoid", &L::unary, "sigmoid"},
                                {"HardSigmoid", &L::unary, "hardsigmoid"},
                                {"HardSwish", &L::unary, "hardswish"},
                                {"Tanh", &L::unary, "tanh"},
                                {"Softplus", &L::unary, "softplus"},
                                {"Softsign", &L::unary, "tanh"},
                                {"ThresholdedRelu", &L::unary, "relu"},
                                {"Clip", &L::unary, "hardtanh"},
                                {"Exp", &L::unary, "exp"},
                                {"Log", &L::unary, "log"},
                                {"Sqrt", &L::unary, "sqrt"},
                                {"Reciprocal", &L::unary, "reciprocal"},
                                {"Erf", &L::unary, "erf"},
                                {"Neg", &L::unary, "neg"},
                                {"Abs", &L::unary, "abs"},
                                {"Sin", &L::unary, "sin"},
                                {"Cos", &L::unary, "cos"},
                                {"Floor", &L::unary, "floor"},
                                {"Ceil", &L::unary, "ceil"},
                                {"Round", &L::unary, "round"},
                                {"Sign", &L::unary, "sign"},
                                {"Not", &L::unary, "logical_not"},
                                {"IsNaN", &L::unary, "isnan"},
                                {"IsInf", &L::unary, "isinf"},
                                {"Trilu", &L::unary, "tril"},
                                {"CumSum", &L::cumulative},
                                {"Where", &L::where},
                                {"Cast", &L::cast},
                                {"MatMul", &L::matmul},
                                {"Gemm", &L::gemm},
                                {"Einsum", &L::einsum},
                                {"Conv", &L::convolution},
                                {"ConvTranspose", &L::convolution},
                                {"MaxPool", &L::pool},
                                {"AveragePool", &L::pool},
                                {"GlobalAveragePool", &L::global_pool, "mean"},
                                {"GlobalMaxPool", &L::global_pool, "amax"},
                                {"BatchNormalization", &L::batch_norm},
                                {"LayerNormalization", &L::layer_norm, "native_layer_norm"},
                                {"RMSNormalization", &L::layer_norm, "_fused_rms_norm"},
                                {"InstanceNormalization", &L::instance_norm},
                                {"GroupNormalization", &L::instance_norm},
                                {"Softmax", &L::softmax, "_softmax"},
                                {"LogSoftmax", &L::softmax, "_log_softmax"},
                                {"Dropout", &L::dropout},
                                {"ReduceSum", &L::reduce, "sum"},
                                {"ReduceMean", &L::reduce, "mean"},
                                {"ReduceMax", &L::reduce, "amax"},
                                {"ReduceMin", &L::reduce, "amin"},
                                {"ReduceProd", &L::reduce, "prod"},
                                {"ReduceL1", &L::reduce, "norm"},
                                {"ReduceL2", &L::reduce, "norm"},
                                {"ReduceLogSumExp", &L::reduce, "logsumexp"},
                                {"ReduceSumSquare", &L::reduce, "norm"},
                                {"ArgMax", &L::reduce, "argmax"},
                                {"ArgMin", &L::reduce, "argmin"},
                                {"TopK", &L::top_k},
                                {"LSTM", &L::recurrent},
                                {"GRU", &L::recurrent},
                                {"RNN", &L::recurrent},
                                {"SoftmaxCrossEntropyLoss", &L::loss},
                                {"NegativeLogLikelihoodLoss", &L::loss},
                                {"ATen", &L::aten}};
  const auto at = std::ranges::find(kRules, op, &Rule::op);
  return at == std::end(kRules) ? nullptr : at;
}

/// Field 1, the version of the format, which every model begins with.
bool sniff_onnx(std::string_view bytes) {
  return bytes.size() > 4 && bytes[0] == '\x08' && bytes[1] > 0 && bytes[1] < 64 &&
         (bytes[2] == '\x12' || bytes[2] == '\x3a' || bytes[2] == '\x42' || bytes[2] == '\x1a');
}

Result<OpGraph> read_onnx(std::string_view bytes, const std::string& file, const GraphOptions& options) {
  onnx::Model model;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || !model.has_graph())
    return Error{"found no complete ONNX model, expected one that has a graph", file, ""};
  const auto read = [&](std::int64_t samples, OpGraph& graph) -> Result<std::pair<bool, std::int64_t>> {
    graph.file = file;
    graph.format = std::string(kOnnxFormat);
    OnnxLowering lowering(model, options, samples, graph);
    TRY(lowering.run());
    note_written_out_norms(model, lowering, graph);
    return std::pair{lowering.any_batch(), lowering.batch()};
  };
  OpGraph graph;
  TRY_ASSIGN(const auto batch, read(kSamples[0], graph));
  graph.samples = batch.second;
  if (!batch.first) return graph;
  OpGraph two, three;
  TRY(read(kSamples[1], two));
  TRY(read(kSamples[2], three));
  std::string why_not = follow_batch(graph, two, three);
  for (std::size_t i = 0; why_not.empty() && i < kFarSamples.size(); ++i) {
    OpGraph far;
    if (!read(kFarSamples[i], far).ok()) continue;
    far.samples = kFarSamples[i];
    why_not = far_from_line(graph, far);
    break;
  }
  if (!why_not.empty())
    return Error{why_not + ", expected a model with a fixed batch", file, "give the batch in model.graph.dimensions"};
  graph.any_batch = true;
  return graph;
}

}  // namespace distsim::opgraph
