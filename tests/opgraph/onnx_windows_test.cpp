// Windows of ONNX ops: pads of all kinds, and the operations of convolutions with them.
#include <gtest/gtest.h>

#include "onnx_models.hpp"
#include "sim/opgraph/kernels.hpp"

namespace distsim::opgraph {
namespace {

std::string window_refusal(const Model& model) {
  const auto graph = parse_op_graph(model.text(), "m.onnx");
  return graph.ok() ? "" : graph.error().text();
}

/// Of the convolutions forward and backward, with 2 samples; none where one is not priced as a convolution.
double convolution_flops(const Model& model) {
  const auto graph = parse_op_graph(model.text(), "m.onnx");
  EXPECT_TRUE(graph.ok()) << graph.error().text();
  if (!graph.ok()) return 0;
  const Sizes sizes(*graph, 2);
  double flops = 0;
  for (const Node& node : graph->nodes) {
    if (node.op.find("convolution") == node.op.npos) continue;
    const Kernels kernels = kernels_of(Call(sizes, node));
    if (!kernels.listed) return 0;
    for (const graph::Op& op : kernels.ops) flops += std::get<graph::Conv2d>(op).useful_flops();
  }
  return flops;
}

/// x [batch, 8, size, size] and 16 filters; the node is given its options.
struct Windows {
  std::int64_t size = 28, filter = 3, result = 28;
  std::string op = "Conv", automatic = "";
  std::vector<std::int64_t> pads = {}, strides = {}, dilations = {}, added = {}, stated = {};

  Model model() const {
    Model m;
    const bool transposed = op == "ConvTranspose";
    m.input("x", {-1, 8, size, size}).output("y", {-1, 16, result, result});
    m.weight("w", {transposed ? 8 : 16, transposed ? 16 : 8, filter, filter});
    onnx::Node& n = m.node(op, {"x", "w"}, {"y"});
    const std::pair<const char*, const std::vector<std::int64_t>*> lists[] = {{"pads", &pads},
                                                                              {"strides", &strides},
                                                                              {"dilations", &dilations},
                                                                              {"output_padding", &added},
                                                                              {"output_shape", &stated}};
    for (const auto& [name, list] : lists) {
      if (!list->empty()) Model::list(n, name, *list);
    }
    if (!automatic.empty()) Model::text(n, "auto_pad", automatic);
    return m;
  }
  /// Forward and for the filters; the input has no gradient. Filters step over the smaller of the two images.
  double expected() const {
    const std::int64_t steps = op == "ConvTranspose" ? size : result;
    return 2.0 * 2 * 2 * 8 * 16 * static_cast<double>(steps * steps * filter * filter);
  }
};

TEST(OnnxWindows, OperationsFollowFromTheResultWithPadsOfAnyKind) {
  const Windows sound[] = {
      {.pads = {1, 1, 1, 1}},
      {.result = 14, .pads = {0, 0, 1, 1}, .strides = {2, 2}},  // as TensorFlow pads
      {.result = 14, .pads = {1, 1, 0, 0}, .strides = {2, 2}},
      {.size = 30, .result = 33, .pads = {5, 5, 0, 0}},
      {.filter = 4, .automatic = "SAME_UPPER"},
      {.filter = 4, .automatic = "SAME_LOWER"},
      {.filter = 2, .result = 10, .automatic = "SAME_UPPER", .strides = {3, 3}},
      {.filter = 1, .result = 10, .automatic = "SAME_UPPER", .strides = {3, 3}},
      {.automatic = "SAME_UPPER", .pads = {1, 1, 1, 1}},
      {.result = 26, .automatic = "VALID", .pads = {0, 0, 0, 0}},
      {.automatic = "NOTSET", .pads = {1, 1, 1, 1}},
      {.result = 57, .op = "ConvTranspose", .strides = {2, 2}},
      {.filter = 2, .result = 56, .op = "ConvTranspose", .strides = {2, 2}},
      {.result = 56, .op = "ConvTranspose", .pads = {1, 1, 1, 1}, .strides = {2, 2}, .added = {1, 1}},
      {.result = 56, .op = "ConvTranspose", .pads = {0, 0, 1, 1}, .strides = {2, 2}},
      {.result = 56, .op = "ConvTranspose", .strides = {2, 2}, .stated = {56, 56}},
      {.result = 58, .op = "ConvTranspose", .strides = {2, 2}, .stated = {58, 58}},
      {.result = 50, .op = "ConvTranspose", .strides = {2, 2}, .stated = {2, 16, 50, 50}},
      {.result = 56, .op = "ConvTranspose", .automatic = "SAME_UPPER", .strides = {2, 2}},
      {.filter = 1, .result = 84, .op = "ConvTranspose", .automatic = "SAME_LOWER", .strides = {3, 3}},
      {.result = 35, .op = "ConvTranspose", .dilations = {3, 3}, .added = {1, 1}},  // more than a stride
  };
  for (const Windows& w : sound)
    EXPECT_EQ(convolution_flops(w.model()), w.expected())
        << &w - std::begin(sound) << " " << w.op << " " << w.automatic;
}

TEST(OnnxWindows, WhatNoWindowHasIsRefused) {
  const std::pair<Windows, std::string> cases[] = {
      {{.automatic = "VALID", .pads = {1, 1, 1, 1}},
       "(Conv): pads: found 1 and 1 beside auto_pad VALID, expected one of them"},
      {{.automatic = "SAME_UPPER", .pads = {2, 2, 0, 0}}, "(Conv): pads: found 2 and 0 beside auto_pad SAME_UPPER"},
      {{.op = "ConvTranspose", .strides = {2, 2}, .added = {2, 2}},
       "(ConvTranspose): output_padding: found 2, expected 0 .. 1, less than a stride or dilation"},
      {{.op = "ConvTranspose", .strides = {2, 2}, .stated = {500, 500}},
       "(ConvTranspose): output_shape: found 500 of 28 steps, expected at most 58"},
      {{.op = "ConvTranspose", .stated = {28}}, "(ConvTranspose): output_shape: found 1, expected 2"},
      {{.pads = {0, 0, 0, -1}}, "(Conv): pads: found -1, expected 0 .. 2^24"},
  };
  for (const auto& [windows, expected] : cases)
    EXPECT_NE(window_refusal(windows.model()).find(expected), std::string::npos) << window_refusal(windows.model());
}

/// Writers that state all attributes have zeros beside auto_pad.
TEST(OnnxWindows, PadsThatAreNotUsedAreNamed) {
  const Windows w{.automatic = "SAME_UPPER", .pads = {0, 0, 0, 0}};
  const auto graph = parse_op_graph(w.model().text(), "m.onnx");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(
      graph->remarks,
      std::vector<std::string>{"node '/y/Conv' (Conv): pads: found 0 and 0 beside auto_pad SAME_UPPER, which is used"});
}

TEST(OnnxWindows, PoolsReachTheImage) {
  const auto pool = [](const std::string& op, std::int64_t pad, std::int64_t result) {
    Model m;
    m.input("x", {-1, 3, 8, 8}).output("y", {-1, 8, result, result}).weight("w", {8, 3, 1, 1});
    m.node("Conv", {"x", "w"}, {"h"});
    onnx::Node& n = m.node(op, {"h"}, {"y"});
    Model::list(n, "kernel_shape", {3, 3});
    Model::list(n, "pads", {pad, pad, pad, pad});
    return m;
  };
  EXPECT_EQ(window_refusal(pool("MaxPool", 2, 10)), "");
  for (const char* op : {"MaxPool", "AveragePool"}) {
    const std::string text = window_refusal(pool(op, 3, 12));
    EXPECT_NE(text.find("pads: found 3, expected less than the 3 of the window"), text.npos) << text;
  }
}

}  // namespace
}  // namespace distsim::opgraph
