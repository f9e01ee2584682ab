// The inputs that ops of ONNX have, and the attributes that they have no default for.
#include <algorithm>
#include <limits>

#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "sim/opgraph/onnx/onnx_reader.hpp"

namespace distsim::opgraph {
namespace {

/// How many inputs an op has at least and at most, in any opset.
struct InputsOfOp {
  std::string_view op;
  int least, most;
};
constexpr InputsOfOp kInputs[] = {
    {"ArgMax", 1, 1},
    {"ArgMin", 1, 1},
    {"AveragePool", 1, 1},
    {"BatchNormalization", 5, 5},
    {"Cast", 1, 1},
    {"Clip", 1, 3},
    {"Conv", 2, 3},
    {"ConvTranspose", 2, 3},
    {"CumSum", 2, 2},
    {"DepthToSpace", 1, 1},
    {"Dropout", 1, 3},
    {"Expand", 2, 2},
    {"Flatten", 1, 1},
    {"GRU", 3, 6},
    {"Gather", 2, 2},
    {"GatherElements", 2, 2},
    {"GatherND", 2, 2},
    {"Gemm", 2, 3},
    {"GlobalAveragePool", 1, 1},
    {"GlobalMaxPool", 1, 1},
    {"GroupNormalization", 3, 3},
    {"Identity", 1, 1},
    {"InstanceNormalization", 3, 3},
    {"LSTM", 3, 8},
    {"LayerNormalization", 2, 3},
    {"LogSoftmax", 1, 1},
    {"MatMul", 2, 2},
    {"MaxPool", 1, 1},
    {"NegativeLogLikelihoodLoss", 2, 3},
    {"RMSNormalization", 2, 2},
    {"RNN", 3, 6},
    {"ReduceL1", 1, 2},
    {"ReduceL2", 1, 2},
    {"ReduceLogSumExp", 1, 2},
    {"ReduceMax", 1, 2},
    {"ReduceMean", 1, 2},
    {"ReduceMin", 1, 2},
    {"ReduceProd", 1, 2},
    {"ReduceSum", 1, 2},
    {"ReduceSumSquare", 1, 2},
    {"Reshape", 1, 2},
    {"ScatterElements", 3, 3},
    {"ScatterND", 3, 3},
    {"Shape", 1, 1},
    {"Softmax", 1, 1},
    {"SoftmaxCrossEntropyLoss", 2, 3},
    {"SpaceToDepth", 1, 1},
    {"Split", 1, 2},
    {"Squeeze", 1, 2},
    {"TopK", 1, 2},
    {"Transpose", 1, 1},
    {"Trilu", 1, 2},
    {"Unsqueeze", 1, 2},
    {"Where", 3, 3},
};

constexpr std::int64_t kNewest = std::numeric_limits<std::int64_t>::max();

struct RequiredAttribute {
  std::string_view op, name;
  std::int64_t first = 1, last = kNewest;  ///< opsets
};
constexpr RequiredAttribute kRequired[] = {
    {"AveragePool", "kernel_shape"},
    {"Cast", "to"},
    {"Concat", "axis", 4},
    {"DepthToSpace", "blocksize"},
    {"Einsum", "equation"},
    {"GroupNormalization", "num_groups"},
    {"LRN", "size"},
    {"MaxPool", "kernel_shape"},
    {"Pad", "pads", 2, 10},
    {"Slice", "ends", 1, 9},
    {"Slice", "starts", 1, 9},
    {"SpaceToDepth", "blocksize"},
    {"TopK", "k", 1, 9},
    {"Unsqueeze", "axes", 1, 12},
};

}  // namespace

/// What is missing would be taken for something, and what is too much not be read.
Result<void> OnnxLowering::check_required() const {
  if (!node_->domain().empty() && node_->domain() != "ai.onnx") return {};
  const Rule* rule = rule_of(node_->op_type());
  const auto* inputs = std::ranges::find(kInputs, node_->op_type(), &InputsOfOp::op);
  int least = 0, most = std::numeric_limits<int>::max();
  if (inputs != std::end(kInputs))
    least = inputs->least, most = inputs->most;
  else if (rule != nullptr && rule->run == &OnnxLowering::unary)
    least = most = 1;
  else if (rule != nullptr && rule->run == &OnnxLowering::binary)
    least = most = 2;
  for (int i = 0; i < least; ++i) {
    if (!has(i)) return wrong("found no input " + std::to_string(i) + ", expected one");
  }
  for (int i = most; i < node_->input_size(); ++i) {
    if (has(i))
      return wrong("found " + counted(static_cast<std::uint64_t>(node_->input_size()), "input") +
                   ", expected at most " + std::to_string(most));
  }
  for (const RequiredAttribute& r : kRequired) {
    if (r.op == node_->op_type() && opset_ >= r.first && opset_ <= r.last && attribute(r.name) == nullptr)
      return wrong("attribute '" + std::string(r.name) + "': found none, expected one");
  }
  return {};
}

}  // namespace distsim::opgraph
