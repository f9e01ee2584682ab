// The operations of a training step, of which MFU is a share.
#include <gtest/gtest.h>

#include <memory>

#include "sim/workload/opgraph/graph_spec.hpp"
#include "sim/workload/registry.hpp"
#include "sim/workload/workload.hpp"

namespace distsim::workload {
namespace {

/// x times a weight for each of 4 heads, which is looked at with more dimensions and copied for each sample, and the gradient of
/// that weight alone: x is the model's input.
constexpr const char* kHeads = R"({"format":"distsim graph","version":1,"samples":8,"any_batch":true,"tensors":[
  {"shape":[[0,4],8,16],"dtype":"float32","role":"input","name":"x","storage":1},
  {"shape":[4,16,32],"dtype":"float32","role":"parameter","name":"w","storage":2},
  {"shape":[[0,1],4,16,32],"dtype":"float32","role":"buffer","storage":2},
  {"shape":[[0,1],4,16,32],"dtype":"float32","storage":3},
  {"shape":[[0,4],16,32],"dtype":"float32","storage":3},
  {"shape":[[0,4],8,32],"dtype":"float32","storage":4},
  {"shape":[[0,4],16,8],"dtype":"float32","storage":1},
  {"shape":[[0,4],16,32],"dtype":"float32","storage":5},
  {"shape":[4,16,32],"dtype":"float32","storage":6},
  {"shape":[[0,4],8,32],"dtype":"float32","storage":7}],
 "nodes":[
  {"op":"aten::clone","in":[{"t":2}],"out":[3]},
  {"op":"aten::_unsafe_view","in":[{"t":3}],"out":[4]},
  {"op":"aten::bmm","in":[{"t":0},{"t":4}],"out":[5]},
  {"op":"aten::ones_like","phase":"backward","in":[{"t":5}],"out":[9]},
  {"op":"aten::transpose","phase":"backward","in":[{"t":0}],"out":[6]},
  {"op":"aten::bmm","phase":"backward","in":[{"t":6},{"t":9}],"out":[7]},
  {"op":"aten::sum","phase":"backward","in":[{"t":7}],"out":[8]}],
 "gradients":[{"parameter":1,"after":6}]})";

/// kHeads with each `before` replaced.
std::string heads_with(const std::string& before, const std::string& after) {
  std::string text = kHeads;
  for (std::size_t at = 0; (at = text.find(before, at)) != text.npos; at += after.size())
    text.replace(at, before.size(), after);
  return text;
}

Result<Workload> workload_of(const std::string& text, Precision precision) {
  auto graph = opgraph::parse_op_graph(text, "heads.graph");
  EXPECT_TRUE(graph.ok()) << graph.error().text();
  ModelSpec m;
  m.family = find_family("graph");
  m.per_gpu_batch = 16;
  m.precision = precision;
  m.as<GraphSpec>().graph = std::make_shared<const opgraph::OpGraph>(*std::move(graph));
  return build_workload(m, {}, {1, 1, Bytes{80'000'000'000}});
}

/// Three times the forward pass: the gradient of the input, which nobody asks for, is among it, whatever the weight looks like.
TEST(WorkOfForward, WeightsThatAreCopiedForEachSampleAreWeights) {
  const auto workload = workload_of(kHeads, Precision::fp32);
  ASSERT_TRUE(workload.ok()) << workload.error().text();
  EXPECT_DOUBLE_EQ(workload->model_flops, 3.0 * 2 * 16 * 4 * 8 * 16 * 32);
}

/// A region of autocasting in the model has its products in 16 bits whatever the experiment says of the rest: the share of the
/// peak is of theirs.
TEST(CapturedPrecision, IsThatOfMostProductsWhereTheModelCastsItself) {
  const std::string product = "\"op\":\"aten::bmm\",";
  const auto workload = workload_of(heads_with(product, product + "\"autocast\":\"bfloat16\","), Precision::fp32);
  ASSERT_TRUE(workload.ok()) << workload.error().text();
  EXPECT_EQ(workload->precision, Precision::bf16);
}

/// Weights in 16 bits do not run in fp32, nor in the other type of 16 bits; nothing trains in 64.
TEST(CapturedPrecision, IsThatOfWeightsInTheFile) {
  const auto built = [](const std::string& type, Precision precision) {
    const auto workload = workload_of(heads_with("\"float32\"", "\"" + type + "\""), precision);
    return workload.ok() ? std::string() : workload.error().what;
  };
  for (const Precision p : {Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16})
    EXPECT_EQ(built("float32", p), "");
  EXPECT_EQ(built("float16", Precision::fp16), "");
  EXPECT_EQ(built("bfloat16", Precision::bf16), "");
  EXPECT_EQ(built("float16", Precision::fp32),
            "model.precision: found fp32, expected fp16: weight 'w' of heads.graph is in fp16");
  EXPECT_EQ(built("float16", Precision::bf16),
            "model.precision: found bf16, expected fp16: weight 'w' of heads.graph is in fp16");
  EXPECT_EQ(built("bfloat16", Precision::tf32),
            "model.precision: found tf32, expected bf16: weight 'w' of heads.graph is in bf16");
  EXPECT_EQ(
      built("float64", Precision::fp32),
      "model.precision: found fp32, expected a graph with weights of at most 32 bits: weight 'w' of heads.graph is in fp64");
}

}  // namespace
}  // namespace distsim::workload
