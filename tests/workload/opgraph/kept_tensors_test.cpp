// What a graph holds and does not train.
#include "sim/workload/opgraph/kept_tensors.hpp"

#include <gtest/gtest.h>

namespace distsim::workload {
namespace {

/// A product with a weight that another call sees transposed, as a buffer; and a buffer of its own.
constexpr const char* kSeenTwice = R"({"format":"distsim graph","version":1,"samples":8,"any_batch":true,"tensors":[
  {"shape":[[0,1],16],"dtype":"float32","role":"input","name":"x","storage":1},
  {"shape":[16,32],"dtype":"float32","role":"parameter","name":"w","storage":2},
  {"shape":[32,16],"dtype":"float32","role":"buffer","storage":2},
  {"shape":[[0,1],32],"dtype":"float32","storage":3},
  {"shape":[10],"dtype":"float32","role":"buffer","name":"b","storage":4}],
 "nodes":[
  {"op":"aten::mm","in":[{"t":0},{"t":1}],"out":[3]}],
 "gradients":[]})";

TEST(KeptTensors, ViewsOfWeightsAreAsWideAsThese) {
  const auto graph = opgraph::parse_op_graph(kSeenTwice, "seen_twice.graph");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  Numerics half;
  half.mixed = true;
  const auto kept = [&](const Numerics& numerics, Amp amp) { return kept_tensors(*graph, numerics, amp); };
  EXPECT_EQ(kept(half, Amp::half).parameter_bytes, 2 * 16 * 32);
  EXPECT_EQ(kept(half, Amp::autocast).parameter_bytes, (4 + 2) * 16 * 32);
  EXPECT_EQ(kept({}, Amp::autocast).parameter_bytes, 4 * 16 * 32);
  for (const Amp amp : {Amp::half, Amp::autocast}) {
    EXPECT_EQ(kept(half, amp).buffer_bytes, 4 * 10);
    EXPECT_EQ(kept(half, amp).parameters, 1u);
    EXPECT_EQ(kept(half, amp).elements, 16 * 32);
  }
}

}  // namespace
}  // namespace distsim::workload
