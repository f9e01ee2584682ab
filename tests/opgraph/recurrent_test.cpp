// Recurrent layers of a captured graph: weights, states and results are those of the layers that a call states.
#include <gtest/gtest.h>

#include "sim/opgraph/kernels.hpp"
#include "sim/opgraph/op_graph.hpp"

namespace distsim::opgraph {
namespace {

using Shapes = std::vector<Dims>;

/// A call of cuDNN or MIOpen: 5 samples of 7 steps.
struct Layers {
  std::string op = "_cudnn_rnn";
  Dims x{5, 7, 24};
  Shapes weights;
  int of_each = 4;
  Dims hx, cx, output;  ///< empty: there is none
  int mode = 2, hidden = 32, projection = 0, layers = 1;
  bool batch_first = true, both = false;
  std::string type = "float32", type_of_weights = "float32", more_results;

  /// Those of PyTorch.
  static Layers of(int mode, int layers, bool both, bool biases, int projection = 0) {
    Layers out;
    const int gates = mode == 2 ? 4 : mode == 3 ? 3 : 1, directions = both ? 2 : 1, hidden = out.hidden;
    const int state = projection > 0 ? projection : hidden;
    for (int layer = 0; layer < layers; ++layer) {
      for (int d = 0; d < directions; ++d) {
        out.weights.push_back({gates * hidden, layer == 0 ? 24 : state * directions});
        out.weights.push_back({gates * hidden, state});
        if (biases) out.weights.insert(out.weights.end(), 2, {gates * hidden});
        if (projection > 0) out.weights.push_back({projection, hidden});
      }
    }
    out.of_each = static_cast<int>(out.weights.size()) / (layers * directions);
    out.hx = {layers * directions, 5, state};
    if (mode == 2) out.cx = {layers * directions, 5, hidden};
    out.output = {5, 7, state * directions};
    out.mode = mode, out.layers = layers, out.both = both, out.projection = projection;
    return out;
  }
};

std::string text_of_dims(const Dims& dims) {
  std::string out;
  for (const std::int64_t d : dims) out += (out.empty() ? "" : ",") + std::to_string(d);
  return "[" + out + "]";
}

struct Document {
  std::string tensors;
  int count = 0;

  std::string add(const Dims& dims, const std::string& type, bool given) {
    tensors += (tensors.empty() ? "" : ",") + std::string(R"({"shape":)") + text_of_dims(dims) + R"(,"dtype":")" +
               type + "\"" + (given ? R"(,"role":"input"})" : "}");
    return std::to_string(count++);
  }
  std::string given(const Dims& dims, const std::string& type) {
    return dims.empty() ? "null" : R"({"t":)" + add(dims, type, true) + "}";
  }
};

/// `gradients`: sizes of the results of the backward pass; nothing: the forward pass.
std::string said_of_layers(const Layers& c, const std::optional<Shapes>& gradients = {}) {
  const auto flag = [](bool on) { return on ? std::string("true") : std::string("false"); };
  const bool cudnn = c.op.starts_with("_cudnn");
  Document d;
  std::string in = d.given(c.x, c.type), weights, out;
  for (const Dims& w : c.weights) weights += (weights.empty() ? "" : ",") + d.add(w, c.type_of_weights, true);
  in += R"(,{"t":[)" + weights + "]}," + std::to_string(c.of_each) + (cudnn || gradients ? ",null," : ",");
  in += d.given(c.hx, c.type) + "," + d.given(c.cx, c.type);
  if (gradients) in += "," + d.given(c.output, c.type) + "," + d.given(c.output, c.type) + ",null,null";
  in += "," + std::to_string(c.mode) + "," + std::to_string(c.hidden);
  if (cudnn) in += "," + std::to_string(c.projection);
  in += "," + std::to_string(c.layers) + "," + flag(c.batch_first) + ",0.0,true," + flag(c.both) + ",[],";
  in += d.given({64}, "uint8");  // the state of dropout
  const auto result = [&](const Dims& dims, const std::string& type) {
    out += (out.empty() ? "" : ",") + d.add(dims, type, false);
  };
  if (gradients) {
    for (const Dims& g : *gradients) result(g, c.type);
  } else {
    result(c.output, c.type), result(c.hx, c.type), result(c.cx.empty() ? Dims{0} : c.cx, c.type);
    result({4096}, "uint8"), result({0}, "float32");
  }
  const auto graph = parse_op_graph(R"({"format":"distsim graph","version":1,"samples":5,"tensors":[)" + d.tensors +
                                        R"(],"nodes":[{"op":"aten::)" + c.op + R"(","in":[)" + in + R"(],"out":[)" +
                                        out + R"(],"phase":")" + (gradients ? "backward" : "forward") + "\"}]}",
                                    "m.graph");
  return graph.ok() ? "" : graph.error().text();
}

TEST(RecurrentLayers, ThoseOfPyTorchAreRead) {
  for (const int mode : {0, 1, 2, 3})
    for (const int layers : {1, 3})
      for (const bool both : {false, true})
        for (const bool biases : {false, true})
          for (const int projection : {0, 8}) {
            if (projection > 0 && mode != 2) continue;
            Layers c = Layers::of(mode, layers, both, biases, projection);
            EXPECT_EQ(said_of_layers(c), "");
            Shapes gradients{c.x, c.hx};
            if (mode == 2) gradients.push_back(c.cx);
            gradients.insert(gradients.end(), c.weights.begin(), c.weights.end());
            c.op = "_cudnn_rnn_backward";
            EXPECT_EQ(said_of_layers(c, gradients), "");
            EXPECT_EQ(said_of_layers(c, c.weights), "");  // of inputs that have none
            if (projection > 0) continue;
            c.op = "miopen_rnn";
            EXPECT_EQ(said_of_layers(c), "");
            c.op = "miopen_rnn_backward";
            EXPECT_EQ(said_of_layers(c, gradients), "");
          }
}

TEST(RecurrentLayers, WeightsStatesAndResultsAreThoseOfTheStatedLayers) {
  struct Case {
    void (*change)(Layers&);
    std::string expected;
  };
  const Case cases[] = {
      {[](Layers& c) { c.hidden = 64; }, "found weight 0 of 128x24 of 2 layers of 64, expected 256x24"},
      {[](Layers& c) { c.hidden = 3; }, "expected 12x24"},
      {[](Layers& c) { c.layers = 8; }, "found 8 weights of 8 layers of 32, expected 16, or with biases 32"},
      {[](Layers& c) { c.both = true; }, "found 8 weights of 2 layers of 32 in both directions, 2 for each"},
      {[](Layers& c) { c.mode = 3; }, "expected 96x24"},
      {[](Layers& c) { c.mode = 1; }, "expected 32x24"},
      {[](Layers& c) { c.mode = 4; }, "found 4 as the mode, expected 0 (ReLU), 1 (tanh), 2 (LSTM) or 3 (GRU)"},
      {[](Layers& c) { c.batch_first = false; }, "found a state of 2x5x32, expected 2x7x32"},
      {[](Layers& c) { c.x[2] = 25; }, "found weight 0 of 128x24 of 2 layers of 32, expected 128x25"},
      {[](Layers& c) { c.weights[0][0] = 512; }, "found weight 0 of 512x24"},
      {[](Layers& c) { c.weights[7] = {64}; }, "found weight 7 of 64 of 2 layers of 32, expected 128"},
      {[](Layers& c) { c.weights.pop_back(); }, "found 7 weights"},
      {[](Layers& c) { c.of_each = 2; }, "expected 2 for each, as stated"},
      {[](Layers& c) { c.cx[2] = 64; }, "found a state of cells of 2x5x64, expected 2x5x32"},
      {[](Layers& c) { c.output[2] = 33; }, "33, expected 5x7x32"},
      {[](Layers& c) {
         c.x = {5, 24};
       },
       "found an input of 5x24, expected steps, samples and a width"},
      {[](Layers& c) { c.type = "float16"; }, "found arguments of float16 and float32, expected one type"},
      {[](Layers& c) { c.type_of_weights = "bool"; }, "found arguments of float32 and 8-bit integers"},
      {[](Layers& c) { c.type = c.type_of_weights = "int64"; }, "found an input of whole numbers"},
  };
  for (const Case& c : cases) {
    for (const bool backward : {false, true}) {
      Layers changed = Layers::of(2, 2, false, true);
      const Shapes gradients = changed.weights;
      if (backward) changed.op = "_cudnn_rnn_backward";
      c.change(changed);
      const std::string text = said_of_layers(changed, backward ? std::optional(gradients) : std::nullopt);
      EXPECT_NE(text.find(c.expected), text.npos) << c.expected << ": " << text;
    }
  }
}

TEST(RecurrentLayers, GradientsHaveTheSizesOfArguments) {
  Layers c = Layers::of(2, 2, false, true);
  c.op = "_cudnn_rnn_backward";
  EXPECT_NE(said_of_layers(c, Shapes{c.x, {9, 9}}).find("found a gradient of 9x9"), std::string::npos);
  EXPECT_NE(said_of_layers(c, Shapes{c.weights[0], c.x}).find("found a gradient of 5x7x24"), std::string::npos);
}

}  // namespace
}  // namespace distsim::opgraph
