// The format of docs/graph_format.md: what is read, and the one line for what is not.
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>

#include "sim/opgraph/call.hpp"
#include "sim/opgraph/op_graph.hpp"

namespace distsim::opgraph {
namespace {

const std::string kTensors =
    R"([{"shape":[[0,1],16],"dtype":"float32","role":"input","name":"x"},{"shape":[32,16],"dtype":"float32","role":"parameter","name":"fc.weight"},{"shape":[16,32],"dtype":"float32","storage":2},{"shape":[[0,1],32],"dtype":"float32"}])";
const std::string kNodes =
    R"([{"op":"aten::t","in":[{"t":1}],"out":[2]},{"op":"aten::mm","label":"fc","phase":"forward","in":[{"t":0},{"t":2}],"out":[3]}])";

const std::string kGradientNodes =
    R"([{"op":"aten::t","phase":"backward","in":[{"t":1}],"out":[2]},{"op":"aten::mm","label":"fc","phase":"backward","in":[{"t":0},{"t":2}],"out":[3]}])";

std::string packed(const std::string& text) {
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(text.size() + 100, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

std::string document(const std::string& tensors, const std::string& nodes, const std::string& more = "") {
  return R"({"format":"distsim graph","version":1,"name":"m","samples":8,"any_batch":true,"tensors":)" + tensors +
         R"(,"nodes":)" + nodes + more + "}";
}

std::string refusal(const std::string& text) {
  const auto graph = parse_op_graph(text, "m.graph");
  return graph.ok() ? "" : graph.error().text();
}

TEST(CapturedGraph, KeepsWhatLaunchesKernels) {
  const auto graph =
      parse_op_graph(document(kTensors, kGradientNodes, R"(,"gradients":[{"parameter":1,"after":1}])"), "m.graph");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_FALSE(graph->recorded);
  EXPECT_EQ(graph->samples, 8);
  ASSERT_EQ(graph->nodes.size(), 1u);  // the view is none
  EXPECT_EQ(graph->nodes[0].op, "aten::mm");
  EXPECT_EQ(graph->nodes[0].label, "fc");
  ASSERT_EQ(graph->gradients.size(), 1u);
  EXPECT_EQ(graph->gradients[0].after, 0u);
  EXPECT_EQ(Sizes(*graph, 8).dims(3), (Dims{8, 32}));
  EXPECT_EQ(Sizes(*graph, 100).dims(3), (Dims{100, 32}));
}

/// A graph that was changed by hand: nothing runs such a product, so that no time is one of it.
TEST(CapturedGraph, SizesOfProductsAndConvolutionsAgree) {
  std::string tensors = kTensors;
  tensors.replace(tensors.find("[16,32]"), 7, "[24,32]");
  tensors.replace(tensors.find("[32,16]"), 7, "[32,24]");
  EXPECT_NE(refusal(document(tensors, kNodes))
                .find("node 1 (aten::mm, fc): found factors of 8x16 and 24x32, expected as many rows of the second"),
            std::string::npos)
      << refusal(document(tensors, kNodes));
  const auto convolution = [](const std::string& filters) {
    return document(
        R"([{"shape":[[0,1],64,56,56],"dtype":"float32","role":"input","name":"x"},{"shape":)" + filters +
            R"(,"dtype":"float32","role":"parameter","name":"w"},{"shape":[[0,1],64,56,56],"dtype":"float32"}])",
        R"([{"op":"aten::convolution","label":"conv","phase":"forward","in":[{"t":0},{"t":1}],"out":[2]}])");
  };
  EXPECT_EQ(refusal(convolution("[64,64,3,3]")), "");
  EXPECT_EQ(refusal(convolution("[64,1,3,3]")), "");  // by groups
  EXPECT_NE(refusal(convolution("[64,128,3,3]"))
                .find("node 0 (aten::convolution, conv): found an image of 8x64x56x56, filters of 64x128x3x3"),
            std::string::npos)
      << refusal(convolution("[64,128,3,3]"));
}

/// PyTorch promotes the types of pointwise calls, and of no others; nothing but a copy moves between devices.
TEST(CapturedGraph, TypesAndDevicesAgree) {
  struct Case {
    std::string op, a, b, made, more;
    bool right;
  };
  const std::string region = R"(,"autocast":"bfloat16")", off = R"(,"autocast":"float32")";
  const Case cases[] = {
      {"mm", "float16", "float16", "float16", "", true},
      {"mm", "float32", "float64", "float32", "", false},
      {"mm", "float16", "float32", "float32", "", false},
      {"mm", "float32", "float32", "int8", "", false},
      {"mm", "float16", "float32", "float32", region, true},
      {"mm", "float16", "float32", "float32", off, false},
      {"mm", "float64", "float32", "float32", region, false},
      {"matmul", "bfloat16", "float16", "float16", "", false},
      {"add.Tensor", "float16", "float32", "float32", "", true},
      {"add.Tensor", "float16", "float32", "float16", "", false},
      {"add.Tensor", "float16", "bfloat16", "float32", "", true},
      {"add_.Tensor", "float16", "float32", "float16", "", true},
      {"add.Tensor", "int64", "float16", "float16", "", true},
      {"mul.Tensor", "float32", "bool", "int8", "", false},
      {"lt.Tensor", "float32", "float32", "bool", "", true},
      {"cat", "float16", "float32", "float32", "", true},
      {"add.out", "float32", "float32", "float16", "", true},
      {"mul.Tensor", "complex64", "float64", "complex128", "", true},
      {"mul.Tensor", "float32", "complex64", "complex64", "", true},
      {"mm.dtype_out", "bfloat16", "bfloat16", "float32", "", true},
      {"cat", "float32", "float32", "int8", "", false},
      {"stack", "bool", "bool", "float32", "", false},
      {"_softmax", "float32", "float32", "bool", "", false},
      {"_softmax", "float16", "float16", "float32", "", true},
      {"max_pool2d", "float32", "float32", "bool", "", false},
  };
  const auto said = [](const Case& c, const std::string& device) {
    const auto tensor = [](const std::string& type, const std::string& more) {
      return R"({"shape":[16,16],"dtype":")" + type + "\"" + more + "}";
    };
    const std::string given = R"(,"role":"input")";
    return refusal(document("[" + tensor(c.a, given) + "," + tensor(c.b, given) + "," + tensor(c.made, device) + "]",
                            R"([{"op":"aten::)" + c.op + R"(","in":[{"t":0},{"t":1}],"out":[2])" + c.more +
                                R"(},{"op":"aten::_to_copy","in":[{"t":2}],"out":[2]}])"));
  };
  for (const Case& c : cases) {
    // cat of two squares has other sizes, which is said only after its types have been accepted
    const std::string text = said(c, "");
    const bool refused = text.find("float") != text.npos || text.find("integers") != text.npos;
    EXPECT_EQ(!refused, c.right) << c.op << " of " << c.a << " and " << c.b << ": " << text;
    EXPECT_NE(said(c, R"(,"device":"cpu")"), "") << c.op;
  }
}

struct Tensors {
  std::vector<std::string> given, made;  ///< sizes
};

std::string tensor_list(const Tensors& t) {
  std::string out;
  for (const std::string& shape : t.given)
    out += (out.empty() ? "" : ",") + std::string(R"({"shape":)") + shape + R"(,"dtype":"float32","role":"input"})";
  for (const std::string& shape : t.made) out += R"(,{"shape":)" + shape + R"(,"dtype":"float32"})";
  return "[" + out + "]";
}

std::string call(const std::string& op, const Tensors& t) {
  std::string in, out;
  for (std::size_t i = 0; i < t.given.size(); ++i) in += (i > 0 ? R"(,{"t":)" : R"({"t":)") + std::to_string(i) + "}";
  for (std::size_t i = 0; i < t.made.size(); ++i) out += (i > 0 ? "," : "") + std::to_string(t.given.size() + i);
  return R"({"op":"aten::)" + op + R"(","in":[)" + in + R"(],"out":[)" + out + "]}";
}

/// Only what the op does to the sizes of its arguments explains a result: with the batch of the capture and with any other.
TEST(CapturedGraph, ResultsFollowFromArguments) {
  struct Case {
    std::string op;
    Tensors right, wrong;
    std::string expected;
  };
  const std::string b = "[[0,1],16]", heads = "[[0,1],16,128,64]";
  const Case cases[] = {
      {"relu", {{b}, {b}}, {{b}, {"[[0,1],1048576]"}}, "a result of 8x1048576 of arguments of 8x16, expected 8x16"},
      {"relu", {{"[8,16]"}, {"[8,16]"}}, {{"[8,16]"}, {b}}, "a result of 16x16 of arguments of 8x16, expected 8x16"},
      {"add.Tensor", {{b, "[16]"}, {b}}, {{b, "[16]"}, {"[16]"}}, "expected 8x16, which they are broadcast to"},
      {"add_.Tensor", {{b, "[16]"}, {b}}, {{b, "[17]"}, {b}}, "expected arguments that are broadcast to each other"},
      {"threshold_backward", {{b, b}, {b}}, {{"[[0,1],9]", b}, {b}}, "expected arguments that are broadcast"},
      {"sum.dim_IntList", {{b}, {"[16]"}}, {{b}, {"[[0,1],16,16]"}}, "expected no more elements"},
      {"mm", {{b, "[16,4]"}, {"[[0,1],4]"}}, {{b, "[16,4]"}, {"[[0,1],9]"}}, "expected 8x4"},
      {"addmm", {{"[4]", b, "[16,4]"}, {"[[0,1],4]"}}, {{"[7]", b, "[16,4]"}, {"[[0,1],4]"}}, "what is added"},
      {"linear", {{b, "[4,16]"}, {"[[0,1],4]"}}, {{b, "[4,17]"}, {"[[0,1],4]"}}, "as many columns of both"},
      {"t", {{b}, {"[16,[0,1]]"}}, {{b}, {"[16,[0,9]]"}}, "expected as many elements"},
      {"clone", {{b}, {b}}, {{b}, {"[[0,2],16]"}}, "expected 8x16"},
      {"cat", {{b, b}, {"[[0,2],16]"}}, {{b, b}, {"[[0,3],16]"}}, "expected as many elements"},
      {"_softmax", {{b}, {b}}, {{b}, {"[[0,1],32]"}}, "expected 8x16"},
      {"matmul", {{b, "[16,4]"}, {"[[0,1],4]"}}, {{b, "[99,4]"}, {"[[0,1],4]"}}, "found factors of 8x16 and 99x4"},
      {"matmul", {{b, "[7,16,4]"}, {"[7,[0,1],4]"}}, {{b, "[7,16,4]"}, {"[[0,1],4]"}}, "expected 7x8x4"},
      {"mv", {{b, "[16]"}, {"[[0,1]]"}}, {{b, "[16]"}, {"[[0,2]]"}}, "expected 8"},
      {"native_batch_norm", {{b, "[16]"}, {b}}, {{b, "[8]"}, {b}}, "expected one element for each channel"},
      {"_embedding_bag",
       {{"[100,4]", "[[0,9]]", "[[0,1]]"}, {"[[0,1],4]"}},
       {{"[100,4]", "[[0,9]]", "[[0,1]]"}, {"[[0,1],5]"}},
       "expected 8x4"},
      {"_scaled_dot_product_flash_attention",
       {{heads, "[[0,1],4,77,64]", "[[0,1],4,77,32]"}, {"[[0,1],16,128,32]"}},
       {{heads, "[[0,1],4,77,64]", "[[0,1],4,50,32]"}, {"[[0,1],16,128,32]"}},
       "expected widths, lengths, heads and batches that agree"},
      {"scaled_dot_product_attention",
       {{heads, "[1,1,77,64]", "[1,1,77,64]"}, {heads}},
       {{heads, "[1,1,77,64]", "[1,1,77,64]"}, {"[[0,1],16,999,64]"}},
       "expected 8x16x128x64"},
      {"embedding", {{"[100,4]", b}, {"[[0,1],16,4]"}}, {{"[100,4]", b}, {"[[0,1],16,5]"}}, "expected 8x16x4"},
  };
  const auto said = [](const std::string& op, const Tensors& t) {
    return refusal(document(tensor_list(t), "[" + call(op, t) + R"(,{"op":"aten::exp","in":[{"t":0}],"out":[0]}])"));
  };
  for (const Case& c : cases) {
    EXPECT_EQ(said(c.op, c.right), "") << c.op;
    const std::string text = said(c.op, c.wrong);
    EXPECT_NE(text.find("node 0 (aten::" + c.op + "): found "), text.npos) << text;
    EXPECT_NE(text.find(c.expected), text.npos) << c.expected << ": " << text;
  }
}

/// A call with numbers among its arguments: "@" stands for the next tensor.
std::string said_of(const std::string& op, const std::string& arguments, const Tensors& t) {
  std::string in;
  std::size_t next = 0;
  for (const char c : arguments) in += c == '@' ? R"({"t":)" + std::to_string(next++) + "}" : std::string(1, c);
  const std::string node =
      R"({"op":"aten::)" + op + R"(","in":[)" + in + R"(],"out":[)" + std::to_string(t.given.size()) + "]}";
  return refusal(document(tensor_list(t), "[" + node + R"(,{"op":"aten::exp","in":[{"t":0}],"out":[0]}])"));
}

/// What a call states beside its tensors is what it does to their sizes.
TEST(CapturedGraph, ResultsFollowFromStatedNumbers) {
  struct Case {
    std::string op, right, wrong;  ///< arguments
    Tensors tensors;
    std::string expected;
  };
  const std::string image = "[[0,1],64,56,56]", row = "[[0,1],16,32]";
  const Tensors same{{image, "[128,64,3,3]"}, {"[[0,1],128,56,56]"}};
  const Case cases[] = {
      {"convolution", "@,@,null,[1,1],[1,1],[1,1],false,[0,0],1", "@,@,null,[2,2],[1,1],[1,1],false,[0,0],1", same,
       "and a result of 8x128x56x56, expected 8x128x28x28"},
      {"convolution", "@,@,null,[1],[1],[1],false,[0],1", "@,@,null,[0,0],[1,1],[1,1],false,[0,0],1", same,
       "found a stride of 0, expected 1 or more"},
      {"conv2d", "@,@,null,[1,1],[1,1]", "@,@,null,[1,1],[1,-1],[1,1]", same, "found a padding of -1"},
      {"conv2d.padding", R"(@,@,null,[1,1],"same",[1,1],1)", "@,@,null,[1,1],[1,1],[1,0],1", same,
       "found a dilation of 0"},
      {"convolution", "@,@,null,[1,1],[1,1],[1,1],false,[0,0],1", "@,@,null,[1,1],[1,1],[1,1],false,[0,0],4", same,
       "found 4 groups, expected 1"},
      {"convolution",
       "@,@,null,[2,2],[1,1],[1,1],true,[1,1],1",
       "@,@,null,[2,2],[1,1],[1,1],true,[0,0],1",
       {{image, "[64,128,3,3]"}, {"[[0,1],128,112,112]"}},
       "expected 8x128x111x111"},
      {"convolution_backward",
       "@,@,@,null,[2,2],[1,1],[1,1],false,[0,0],1,[false,true,false]",
       "@,@,@,null,[1,1],[1,1],[1,1],false,[0,0],1,[false,true,false]",
       {{"[[0,1],128,28,28]", image, "[128,64,3,3]"}, {"[128,64,3,3]"}},
       "and a gradient of 8x128x28x28"},
      {"max_pool2d", "@,[2,2],[2,2]", "@,[2,2],[3,3]", {{image}, {"[[0,1],64,28,28]"}}, "expected 8x64x19x19"},
      {"avg_pool2d", "@,[2,2]", "@,[2,2],[1,1]", {{image}, {"[[0,1],64,28,28]"}}, "expected 8x64x55x55"},
      {"max_pool2d",
       "@,[3,3],[2,2],[0,0],[1,1],true",
       "@,[3,3],[2,2],[0,0],[1,1],false",
       {{image}, {"[[0,1],64,28,28]"}},
       "expected 8x64x27x27"},
      {"native_layer_norm",
       "@,[32],null,null,1e-05",
       "@,[99],null,null,1e-05",
       {{row}, {row}},
       "found a row of 99 of an argument of 8x16x32"},
      {"native_layer_norm",
       "@,[8,16,32],null,null,1e-05",
       "@,[9,16,32],null,null,1e-05",
       {{row}, {row}},
       "found a row of 9x16x32"},
      {"_softmax", "@,-3,false", "@,9,false", {{row}, {row}}, "found dimension 9 of an argument of 8x16x32"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(said_of(c.op, c.right, c.tensors), "") << c.op;
    const std::string text = said_of(c.op, c.wrong, c.tensors);
    EXPECT_NE(text.find("node 0 (aten::" + c.op + "): found "), text.npos) << text;
    EXPECT_NE(text.find(c.expected), text.npos) << c.expected << ": " << text;
  }
}

/// Dimensions that a call states exist, and what it does along them gives the result.
TEST(CapturedGraph, ResultsFollowFromStatedDimensions) {
  struct Case {
    std::string op, right, wrong;  ///< arguments
    Tensors tensors;
    std::string expected;
  };
  const std::string x = "[[0,1],16,32]", y = "[[0,1],4,32]";
  const Case cases[] = {
      {"mean.dim", "@,[-1,-2],true", "@,[-1,-9],true", {{x}, {"[[0,1],1,1]"}}, "found dimension -9 of an argument"},
      {"mean.dim",
       "@,[1,2],false",
       "@,[2,-1],false",
       {{x}, {"[[0,1]]"}},
       "found dimension -1 of an argument of 8x16x32 twice"},
      {"sum.dim_IntList", "@,[0],false", "@,[0],true", {{x}, {"[16,32]"}}, "found a result of 16x32 along dimension 0"},
      {"max.dim", "@,2,false", "@,1,false", {{x}, {"[[0,1],16]"}}, "expected 8x32"},
      {"var.correction", "@,[2],1,true", "@,[2],1,false", {{x}, {"[[0,1],16,1]"}}, "expected 8x16"},
      {"var", "@,true", "@,[3]", {{x}, {"[9]"}}, ""},
      {"norm.ScalarOpt_dim", "@,2,[1],false", "@,2,[7],false", {{x}, {"[[0,1],32]"}}, "found dimension 7"},
      {"norm.Scalar", "@,2", "@,2,[1],false", {{x}, {"[]"}}, ""},
      {"transpose.int", "@,1,-1", "@,1,9", {{x}, {"[[0,1],32,16]"}}, "found dimension 9 of an argument of 8x16x32"},
      {"transpose.int", "@,1,2", "@,2,2", {{x}, {"[[0,1],32,16]"}}, "expected 8x16x32"},
      {"permute", "@,[1,0,2]", "@,[1,0]", {{x}, {"[16,[0,1],32]"}}, "found an order of 2 dimensions"},
      {"permute", "@,[1,0,2]", "@,[1,1,2]", {{x}, {"[16,[0,1],32]"}}, "dimension 1 of an argument of 8x16x32 twice"},
      {"unsqueeze", "@,3", "@,4", {{x}, {"[[0,1],16,32,1]"}}, "expected one that its result has"},
      {"unsqueeze", "@,-1", "@,1", {{x}, {"[[0,1],16,32,1]"}}, "expected 8x1x16x32"},
      {"select.int", "@,1,0", "@,2,0", {{x}, {"[[0,1],32]"}}, "expected 8x16"},
      {"cat", R"({"t":[0,1]},1)", R"({"t":[0,1]},0)", {{x, y}, {"[[0,1],20,32]"}}, "expected 16x16x32"},
      {"cat", R"({"t":[0,1]},-2)", R"({"t":[0,1]},3)", {{x, y}, {"[[0,1],20,32]"}}, "found dimension 3"},
      {"stack", R"({"t":[0,1]},1)", R"({"t":[0,1]},0)", {{x, x}, {"[[0,1],2,16,32]"}}, "expected 2x8x16x32"},
      {"gather", "@,1,@", "@,5,@", {{x, x}, {x}}, "found dimension 5"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(said_of(c.op, c.right, c.tensors), "") << c.op;
    const std::string text = said_of(c.op, c.wrong, c.tensors);
    EXPECT_EQ(text.empty(), c.expected.empty()) << c.op << ": " << text;
    EXPECT_NE(text.find(c.expected), text.npos) << c.expected << ": " << text;
  }
}

/// The graph has the sizes that such a tensor had first.
TEST(CapturedGraph, SizesThatAreChangedInPlaceAreNotKnown) {
  const std::string tensors =
      R"([{"shape":[8,1,16],"dtype":"float32","role":"input"},{"shape":[8,16],"dtype":"float32","role":"input"},)"
      R"({"shape":[8,1,16],"dtype":"float32"}])";
  const std::string sum = R"({"op":"aten::add.Tensor","in":[{"t":0},{"t":1}],"out":[2]}])";
  EXPECT_NE(refusal(document(tensors, "[" + sum)), "");
  EXPECT_EQ(refusal(document(tensors, R"([{"op":"aten::unsqueeze_","in":[{"t":1},1],"out":[1]},)" + sum)), "");
}

TEST(CapturedGraph, ParametersKeepTheirSizes) {
  std::string grows = kTensors;
  grows.replace(grows.find("[32,16]"), 7, "[[0,4],16]");
  EXPECT_NE(refusal(document(grows, kNodes)).find("tensor 1 ('fc.weight'): shape: found a parameter that grows"),
            std::string::npos)
      << refusal(document(grows, kNodes));
  const std::string made =
      R"([{"op":"aten::linear","in":[{"t":0},{"t":1}],"out":[3]},{"op":"aten::sum","phase":"backward","in":[{"t":3}],"out":[4]}])";
  const auto with = [&](const std::string& gradient) {
    return refusal(
        document(kTensors.substr(0, kTensors.size() - 1) + R"(,{"shape":)" + gradient + R"(,"dtype":"float32"}])", made,
                 R"(,"gradients":[{"parameter":1,"after":1}])"));
  };
  EXPECT_NE(with("[1,1]").find("gradient 0: after: found no result of the size of 'fc.weight' up to this node"),
            std::string::npos)
      << with("[1,1]");
}

TEST(CapturedGraph, TheForwardPassComesFirst) {
  const std::string text = refusal(
      document(kTensors, R"([{"op":"aten::neg","phase":"backward","in":[{"t":0}],"out":[0]},)" + kNodes.substr(1)));
  EXPECT_NE(text.find("node 1 (aten::t): phase: found forward after backward, node 0, expected the forward pass first"),
            std::string::npos)
      << text;
}

/// Operators that launch nothing go to the next kernel, those after the last one to that.
TEST(CapturedGraph, CountsOperatorsOfTheHost) {
  const auto graph = parse_op_graph(
      document(
          kTensors,
          R"([{"op":"aten::t","calls":2,"in":[{"t":1}],"out":[2]},{"op":"aten::mm","in":[{"t":0},{"t":2}],"out":[3]},)"
          R"({"op":"aten::view","calls":4,"in":[{"t":3}],"out":[3]}])"),
      "m.graph");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  ASSERT_EQ(graph->nodes.size(), 1u);
  EXPECT_EQ(graph->nodes[0].calls, 2u + 1 + 4);
}

struct Broken {
  std::string text;
  std::vector<std::string> words;
};

TEST(CapturedGraph, RefusesInOneLineWithTheNode) {
  const Broken cases[] = {
      {"{}", {"m.graph", "another kind"}},
      {"{", {"no valid JSON"}},
      {std::string(200, '['), {"m.graph"}},
      {document("[]", "[]"), {"nodes", "none"}},
      {document("[]", "[]", R"(,"gradients":[{"parameter":0,"after":14}])"), {"nodes: found none"}},
      {document(R"([{"shape":["s0"],"dtype":"float32"}])", "[]"), {"tensor 0", "s0", "dynamic dimension"}},
      {document(R"([{"dtype":"float32"}])", "[]"), {"tensor 0", "shape: missing"}},
      {document(R"([{"shape":[2],"dtype":"float33"}])", "[]"), {"tensor 0", "float33"}},
      {document(R"([{"shape":[-2],"dtype":"float32"}])", "[]"), {"tensor 0", "-2"}},
      {document(kTensors, R"([{"op":"aten::mm","in":[{"t":0},{"t":9}],"out":[3]}])"), {"node 0 (aten::mm)", "0 .. 3"}},
      {document(kTensors,
                R"([{"op":"aten::mm","in":[{"t":0},{"t":3}],"out":[2]},{"op":"aten::t","in":[{"t":2}],"out":[3]}])"),
       {"node 0 (aten::mm)", "cycles"}},
      {document(kTensors, R"([{"op":"aten::mm","phase":"sideways","in":[],"out":[]}])"), {"node 0", "sideways"}},
      {document(kTensors, kNodes, R"(,"gradients":[{"parameter":0,"after":0}])"), {"gradient 0", "another role"}},
      {document(kTensors, R"([{"op":"aten::mm","calls":-1,"in":[{"t":0},{"t":1}],"out":[3]}])"),
       {"node 0", "calls", "-1"}},
      {document(kTensors, kNodes, R"(,"gradients":[{"parameter":1,"after":0}])"), {"gradient 0", "forward pass"}},
      {document(kTensors, kGradientNodes, R"(,"gradients":[{"parameter":1,"after":1},{"parameter":1,"after":1}])"),
       {"gradient 1", "a second time"}},
      {document(kTensors, kGradientNodes, R"(,"gradients":[{"parameter":1,"afer":1}])"), {"gradient 0", "'after'"}},
      {document(R"([{"shape":[2],"dtype":"bool","role":"parameter","name":"w"},{"shape":[2],"dtype":"float32"}])",
                R"([{"op":"aten::relu","phase":"backward","in":[{"t":0}],"out":[1]}])",
                R"(,"gradients":[{"parameter":0,"after":0}])"),
       {"gradient 0", "'w'", "no gradient"}},
      {document(kTensors, kNodes, R"(,"foo":1)"), {"unknown key 'foo'"}},
      {document(kTensors, kNodes, R"(,"sample":1)"), {"unknown key 'sample'", "did you mean 'samples'"}},
      {document(kTensors, kNodes, R"(,"samples":4)"), {"m.graph: samples: found twice"}},
      {document(R"([{"shap":[2],"dtype":"float32"}])", "[]"), {"tensor 0", "'shap'", "did you mean 'shape'"}},
      {document(R"([{"shape":[2],"dtype":"float32","shape":[3]}])", "[]"), {"tensor 0", "shape: found twice"}},
      {document(R"([{"shape":[2],"dtype":"float32","device":"cpus"}])", "[]"),
       {"tensor 0", "device: found 'cpus', expected cpu or cuda; did you mean 'cpu'"}},
      {document(R"([{"shape":[2],"dtype":"float32","role":"paramter"}])", "[]"),
       {"tensor 0",
        "role: found 'paramter', expected activation, input, parameter or buffer; did you mean 'parameter'"}},
      {document(R"([{"shape":[2],"dtype":5}])", "[]"), {"tensor 0", "dtype: found 5"}},
      {document(R"([{"shape":[2],"dtype":"float32","storage":-1}])", "[]"), {"tensor 0", "storage: found -1"}},
      {document(R"([{"shape":[2],"dtype":"float32","storage":"a"}])", "[]"), {"tensor 0", R"(storage: found "a")"}},
      {document(R"([{"shape":[[-9,1]],"dtype":"float32"}])", "[]"), {"tensor 0", "a size of -1", "8 samples"}},
      {document(kTensors, R"([{"op":"aten::mm","inn":[],"out":[3]}])"), {"node 0", "'inn'"}},
      {document(kTensors, R"([{"op":"","in":[],"out":[3]}])"), {"node 0", "empty"}},
      {document(kTensors, R"([{"op":3,"in":[],"out":[3]}])"), {"node 0", "op: found 3"}},
      {document(kTensors, R"([{"op":"aten::mm","in":[],"out":[]}])"), {"node 0 (aten::mm)", "no tensor"}},
      {document(kTensors, R"([{"op":"aten::mm","in":[{"t":0,"x":1}],"out":[3]}])"), {"node 0", "expected {\"t\""}},
      {R"({"format":"distsim graph","version":2})", {"version: found 2", "expected 1"}},
      {R"({"format":"distsim graph","version":"1"})", {R"(version: found "1")", "expected 1"}},
      {R"({"format":"distsim graph","version":1,"samples":0})", {"m.graph: samples: found 0"}},
      {R"({"format":"distsim graph","version":1,"samples":1,"any_batch":"yes"})", {R"(any_batch: found "yes")"}},
  };
  for (const Broken& broken : cases) {
    const std::string text = refusal(broken.text);
    EXPECT_EQ(text.find('\n'), std::string::npos);
    for (const std::string& word : broken.words) EXPECT_NE(text.find(word), std::string::npos) << word << ": " << text;
  }
}

/// Forty layers of equal weights, whose gradients every second node makes; "shared" has that of a result which others read too.
TEST(CapturedGraph, GradientsAreCompleteWhereTheyAreMade) {
  constexpr int kLayers = 40, kShared = kLayers + 1, kLast = 2 * kLayers - 1;
  std::string tensors = R"([{"shape":[16,16],"dtype":"float32","role":"input","name":"x"})", nodes;
  for (int i = 1; i <= kLayers; ++i)
    tensors += R"(,{"shape":[16,16],"dtype":"float32","role":"parameter","name":"w)" + std::to_string(i) + R"("})";
  tensors += R"(,{"shape":[16,16],"dtype":"float32","role":"parameter","name":"shared"})";
  for (int i = 0; i < kLayers; ++i)
    tensors += R"(,{"shape":[16,16],"dtype":"float32"},{"shape":[16,16],"dtype":"float32"})";
  const auto product = [](int left, int right, int made) {
    return R"({"op":"aten::mm","phase":"backward","in":[{"t":)" + std::to_string(left) + R"(},{"t":)" +
           std::to_string(right) + R"(}],"out":[)" + std::to_string(made) + "]}";
  };
  for (int i = 0; i < kLayers; ++i) {
    const int made = kShared + 1 + 2 * i;
    nodes += (i == 0 ? "[" : ",") + product(i == 0 ? 0 : made - 2, 1 + i, made) + "," + product(made, 0, made + 1);
  }
  const auto with = [&](const std::vector<std::pair<int, int>>& gradients) {
    std::string text;
    for (const auto& [parameter, after] : gradients)
      text += (text.empty() ? "" : ",") + std::string(R"({"parameter":)") + std::to_string(parameter) + R"(,"after":)" +
              std::to_string(after) + "}";
    return refusal(document(tensors + "]", nodes + "]", R"(,"gradients":[)" + text + "]"));
  };
  std::vector<std::pair<int, int>> right, at_the_end;
  for (int i = 1; i <= kLayers; ++i) right.emplace_back(i, 2 * i - 1), at_the_end.emplace_back(i, kLast);
  EXPECT_EQ(with(right), "");
  EXPECT_EQ(with(at_the_end), "");  // all at once
  auto shared = right;
  shared.insert(shared.begin() + 20, {kShared, right[19].second});
  EXPECT_EQ(with(shared), "");
  auto late = right;
  std::rotate(late.begin() + 2, late.begin() + 3, late.end());
  late.back().second = kLast;
  const std::string text = with(late);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  for (const char* word : {"gradient 39: after", "node 5 (aten::mm)", "'w3'"})
    EXPECT_NE(text.find(word), std::string::npos) << word << ": " << text;
}

TEST(CapturedGraph, GradientsAreNotCompleteInTheOptimizer) {
  const std::string text = refusal(document(
      kTensors,
      R"([{"op":"aten::linear","phase":"backward","in":[{"t":0},{"t":1}],"out":[3]},{"op":"aten::neg","phase":"optimizer","in":[{"t":1}],"out":[1]}])",
      R"(,"gradients":[{"parameter":1,"after":1}])"));
  EXPECT_NE(text.find("gradient 0: after: found node 1 of the optimizer"), std::string::npos) << text;
}

/// A tensor that states no storage has one of its own, whatever the others state.
TEST(CapturedGraph, TensorsWithoutAStorageShareNone) {
  const auto graph = parse_op_graph(
      document(R"([{"shape":[2],"dtype":"float32","role":"input"},{"shape":[2],"dtype":"float32","storage":1}])",
               R"([{"op":"aten::relu","in":[{"t":0}],"out":[1]}])"),
      "m.graph");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_NE(graph->tensors[0].storage, graph->tensors[1].storage);
}

/// Members of a gzip file follow each other; anything else behind one is no part of a graph.
TEST(CapturedGraph, ReadsAllOfAPackedFile) {
  const std::string text = document(kTensors, kNodes);
  const std::string first = packed(text.substr(0, 40)), second = packed(text.substr(40));
  EXPECT_EQ(refusal(packed(text)), "");
  EXPECT_EQ(refusal(first + second), "");
  EXPECT_NE(refusal(packed(text) + "junk").find("4 bytes after the end"), std::string::npos);
  EXPECT_NE(refusal(first + second.substr(0, second.size() - 3)).find("incomplete"), std::string::npos);
}

/// By what was read so far, and not only when a gibibyte is there.
TEST(CapturedGraph, TextThatShrinksByThousandsIsRefusedEarly) {
  std::string bombs;
  for (const std::string one = packed(std::string(std::size_t{20} << 20, ' ')); bombs.size() < 8 * one.size();)
    bombs += one;
  std::string noise;  // which does not shrink, and allows what follows nothing
  for (std::uint32_t x = 1; noise.size() < (1 << 20); x = x * 1664525 + 1013904223)
    noise += static_cast<char>(' ' + x % 90);
  EXPECT_NE(refusal(packed(noise) + bombs).find("expands to more than 200 times its size"), std::string::npos);
  EXPECT_NE(refusal(bombs + std::string(1 << 22, '\0')).find("expands to more than 200 times its size"),
            std::string::npos);
}

TEST(CapturedGraph, EveryBeginningIsRefused) {
  const std::string whole = document(kTensors, kNodes);
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_NE(refusal(whole.substr(0, size)), "") << size;
}

}  // namespace
}  // namespace distsim::opgraph
