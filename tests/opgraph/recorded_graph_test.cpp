// PyTorch execution traces: which nodes launch kernels, in either schema.
#include <gtest/gtest.h>

#include "sim/opgraph/call.hpp"
#include "sim/opgraph/kernels.hpp"
#include "test_paths.hpp"

namespace distsim::opgraph {
namespace {

std::string flat(int id, int parent, const std::string& name, const std::string& inputs, const std::string& shapes,
                 const std::string& types) {
  return R"({"id":)" + std::to_string(id) + R"(,"parent":)" + std::to_string(parent) + R"(,"name":")" + name +
         R"(","inputs":)" + inputs + R"(,"input_shapes":)" + shapes + R"(,"input_types":)" + types +
         R"(,"outputs":[],"output_shapes":[],"output_types":[]})";
}

std::string trace(const std::string& nodes) { return R"({"schema":"1.0.1","pid":1,"nodes":[)" + nodes + "]}"; }

const std::string kMm = flat(3, 2, "aten::mm", R"([[10,11,0,32,4,"cuda:0"],[12,13,0,64,4,"cuda:0"]])", "[[4,8],[8,8]]",
                             R"#(["Tensor(float)","Tensor(float)"])#");

TEST(RecordedGraph, EntersWrappersAndSkipsViews) {
  const auto graph = parse_op_graph(
      trace(flat(2, 1, "aten::linear_wrapper", "[]", "[]", "[]") + "," + kMm + "," +
            flat(4, 2, "aten::view", R"([[10,11,0,32,4,"cuda:0"]])", "[[4,8]]", R"#(["Tensor(float)"])#")),
      "et.json");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_TRUE(graph->recorded);
  ASSERT_EQ(graph->nodes.size(), 1u);
  EXPECT_EQ(graph->nodes[0].op, "aten::mm");
  EXPECT_EQ(Sizes(*graph, 1).dims(1), (Dims{8, 8}));
}

TEST(RecordedGraph, RefusesDynamicShapesAndUnknownTypes) {
  const auto dynamic = parse_op_graph(
      trace(flat(3, 1, "aten::relu", R"([[10,11,0,0,4,"cuda:0"]])", "[[]]", R"#(["Tensor(float)"])#")), "et.json");
  ASSERT_FALSE(dynamic.ok());
  EXPECT_NE(dynamic.error().text().find("node 3 (aten::relu)"), std::string::npos) << dynamic.error().text();
  EXPECT_NE(dynamic.error().text().find("dynamic shape"), std::string::npos);
  const auto type = parse_op_graph(
      trace(flat(3, 1, "aten::relu", R"([[10,11,0,4,4,"cuda:0"]])", "[[4]]", R"#(["Tensor(c10::Odd)"])#")), "et.json");
  ASSERT_FALSE(type.ok());
  EXPECT_NE(type.error().text().find("c10::Odd"), std::string::npos);
  EXPECT_FALSE(parse_op_graph(trace(flat(3, 1, "aten::view", "[]", "[]", "[]")), "et.json").ok());
}

/// A trace that is merged with itself, or lacks nodes, is none of one iteration.
TEST(RecordedGraph, SaysWhatContradictsItself) {
  const std::string caller = flat(2, 1, "aten::linear_wrapper", "[]", "[]", "[]");
  const auto twice = parse_op_graph(trace(caller + "," + kMm + "," + kMm), "et.json");
  ASSERT_FALSE(twice.ok());
  EXPECT_NE(twice.error().text().find("node 3 (aten::mm): found twice"), std::string::npos) << twice.error().text();
  const auto unshaped = parse_op_graph(
      trace(flat(3, 1, "aten::relu", R"([[10,11,0,4,4,"cuda:0"]])", "[]", R"#(["Tensor(float)"])#")), "et.json");
  ASSERT_FALSE(unshaped.ok());
  EXPECT_NE(unshaped.error().text().find("inputs: found 1 value, 0 shapes and 1 type"), std::string::npos)
      << unshaped.error().text();
  const auto on_host = parse_op_graph(
      trace(flat(3, 1, "aten::relu", R"([[10,11,0,4,4,"cpu"]])", "[[4]]", R"#(["Tensor(float)"])#")), "et.json");
  ASSERT_FALSE(on_host.ok());
  EXPECT_NE(on_host.error().text().find("all of whose tensors are on the host"), std::string::npos);
  const auto remarks = [](const std::string& nodes) {
    const auto graph = parse_op_graph(trace(nodes), "et.json");
    EXPECT_TRUE(graph.ok()) << graph.error().text();
    std::string out;
    for (const std::string& remark : graph->remarks) out += remark + "\n";
    return out;
  };
  EXPECT_EQ(remarks(caller + "," + kMm).find("partial"), std::string::npos);
  EXPECT_NE(remarks(kMm).find("partial: the trace lacks the callers of 1 node of 1;"), std::string::npos);
  EXPECT_NE(remarks(kMm).find("this is a forward pass alone"), std::string::npos);
  std::string own = kMm;  // its own caller
  own.replace(own.find(R"("parent":2)"), 10, R"("parent":3)");
  EXPECT_NE(remarks(own).find("partial: the trace lacks the callers of 1 node of 1;"), std::string::npos);
  EXPECT_EQ(remarks(kMm).find("schema"), std::string::npos);
  for (const char* schema : {"9.9.9", "1.2.0", "odd"}) {
    std::string text = trace(kMm);
    text.replace(text.find("1.0.1"), 5, schema);
    const auto graph = parse_op_graph(text, "et.json");
    ASSERT_TRUE(graph.ok()) << graph.error().text();
    EXPECT_EQ(graph->remarks.front(), "the trace has schema '" + std::string(schema) +
                                          "', and is read as one of those that are known, 1.0.1 to 1.1.1");
  }
  const auto more = parse_op_graph(
      trace(flat(3, 1, "aten::relu", R"([[10,11,0,28,4,"cuda:0"]])", "[[4]]", R"#(["Tensor(float)"])#")), "et.json");
  ASSERT_FALSE(more.ok());
  EXPECT_NE(more.error().text().find("found a tensor of 28 elements, expected the 4 of its shape"), std::string::npos)
      << more.error().text();
  const auto wide = parse_op_graph(
      trace(flat(3, 1, "aten::relu", R"([[10,11,0,4,4,"cuda:0"]])", "[[4]]", R"#(["Tensor(double)"])#")), "et.json");
  ASSERT_FALSE(wide.ok());
  EXPECT_NE(wide.error().text().find("found elements of 4 bytes of the type 'Tensor(double)', expected 8"),
            std::string::npos)
      << wide.error().text();
}

/// 21 linear layers: a product each forward, two backward, less the gradient of the first input.
TEST(RecordedGraph, ReadsAnIterationOfLinearLayers) {
  const auto graph = read_op_graph(test::root() + "/tests/data/opgraph/linear_et_1.0.1.json.gz");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  std::size_t forward = 0, backward = 0, optimizer = 0;
  for (const Node& n : graph->nodes) {
    const bool product = n.op == "aten::mm" || n.op == "aten::addmm";
    forward += product && n.phase == graph::Phase::forward ? 1 : 0;
    backward += product && n.phase == graph::Phase::backward ? 1 : 0;
    optimizer += n.phase == graph::Phase::optimizer ? 1 : 0;
  }
  EXPECT_EQ(forward, 21u);
  EXPECT_EQ(backward, 41u);
  EXPECT_EQ(optimizer, 1u);
}

/// A compiled kernel without arguments writes what was allocated before it. It reads what the function around it was given;
/// without one, as many tensors as its name needs.
TEST(RecordedGraph, SizesCompiledKernels) {
  const std::string allocation =
      R"#({"id":3,"parent":2,"name":"aten::empty","inputs":[],"input_shapes":[],"input_types":[],)#"
      R"#("outputs":[[20,21,0,32,4,"cuda:0"]],"output_shapes":[[4,8]],"output_types":["Tensor(float)"]})#";
  const std::string kernel = flat(4, 2, "triton_poi_fused_add_mul_0", "[]", "[]", "[]");
  const auto bytes = [&](const std::string& caller) {
    const auto graph = parse_op_graph(trace(caller + "," + allocation + "," + kernel), "et.json");
    EXPECT_TRUE(graph.ok()) << graph.error().text();
    EXPECT_EQ(graph->nodes.size(), 1u);
    const Sizes sizes(*graph, 1);
    const Kernels kernels = kernels_of(Call(sizes, graph->nodes.front()));
    EXPECT_TRUE(kernels.listed);
    const auto& op = std::get<graph::Elementwise>(kernels.ops.front());
    return (op.reads + op.writes) * static_cast<double>(op.elements * 4);
  };
  const double alone = bytes(flat(2, 1, "Torch-Compiled Region", "[]", "[]", "[]"));
  EXPECT_DOUBLE_EQ(alone, (3 + 1) * 32 * 4);  // an addition and a product: three read, one written
  const double inside = bytes(flat(2, 1, "MyFunction", R"([[10,11,0,32,4,"cuda:0"],[12,13,0,8,4,"cuda:0"]])",
                                   "[[4,8],[8]]", R"#(["Tensor(float)","Tensor(float)"])#"));
  EXPECT_DOUBLE_EQ(inside, (32 + 8 + 32) * 4);
}

/// What the host calls: an operator once, with all that it calls, and views.
TEST(RecordedGraph, CountsOperatorsOfTheHost) {
  const auto view = [](int id, int parent) {
    return flat(id, parent, "aten::view", R"([[10,11,0,32,4,"cuda:0"]])", "[[4,8]]", R"#(["Tensor(float)"])#");
  };
  const auto graph = parse_op_graph(trace(view(1, 0) + "," + flat(2, 0, "aten::my_linear", "[]", "[]", "[]") + "," +
                                          kMm + "," + view(4, 2) + "," + view(5, 0)),
                                    "et.json");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  ASSERT_EQ(graph->nodes.size(), 1u);
  EXPECT_EQ(graph->nodes[0].calls, 3u);  // a view, the linear layer, a view
}

/// An all-reduce over 4 of 8 ranks, by the positions of schema 1.0.1, and the wait for it.
TEST(RecordedGraph, ReadsCollectives) {
  const std::string reduce =
      flat(4, 1, "record_param_comms", R"([[[10,11,0,32,4,"cuda:0"]],7,99,0,"allreduce",[],[],4])",
           "[[[4,8]],[],[],[],[],[],[],[]]",
           R"#(["GenericList[Tensor(float)]","Int","Int","Int","String","GenericList[]","GenericList[]","Int"])#");
  const std::string wait = flat(5, 1, "record_param_comms", R"([7,99,0,"wait",[],[],1])", "[[],[],[],[],[],[],[]]",
                                R"#(["Int","Int","Int","String","GenericList[]","GenericList[]","Int"])#");
  const auto graph = parse_op_graph(trace(kMm + "," + reduce + "," + wait), "et.json");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  ASSERT_EQ(graph->nodes.size(), 3u);
  ASSERT_TRUE(graph->nodes[1].communication);
  EXPECT_EQ(graph->nodes[1].communication->op.kind, graph::CollectiveKind::all_reduce);
  EXPECT_EQ(graph->nodes[1].communication->op.bytes, 128);
  EXPECT_EQ(graph->nodes[1].communication->size, 4u);
  EXPECT_EQ(graph->nodes[2].op, kWait);
}

/// A rank of four says its own part, of 128 bytes; the size is that of all parts.
TEST(RecordedGraph, CollectsThePartsOfAllRanks) {
  const auto bytes = [](std::string name, bool gives) {
    std::string node =
        flat(4, 1, "record_param_comms",
             (gives ? R"([[[10,11,0,32,4,"cuda:0"]],7,99,0,")" : R"([[],7,99,0,")") + name + R"(",[],[],4])",
             gives ? "[[[4,8]],[],[],[],[],[],[],[]]" : "[[],[],[],[],[],[],[],[]]",
             std::string(gives ? R"#(["GenericList[Tensor(float)]")#" : R"#(["GenericList[]")#") +
                 R"#(,"Int","Int","Int","String","GenericList[]","GenericList[]","Int"])#");
    const std::string none = R"("outputs":[],"output_shapes":[],"output_types":[])",
                      part = R"#("outputs":[[10,11,0,32,4,"cuda:0"]],"output_shapes":[[4,8]],)#"
                             R"#("output_types":["Tensor(float)"])#";
    if (!gives) node.replace(node.find(none), none.size(), part);
    const auto graph = parse_op_graph(trace(kMm + "," + node), "et.json");
    EXPECT_TRUE(graph.ok()) << graph.error().text();
    return graph->nodes.at(1).communication->op.bytes;
  };
  for (const char* kind : {"_allgather_base", "gather"}) EXPECT_EQ(bytes(kind, true), 512) << kind;
  for (const char* kind : {"_reduce_scatter_base", "scatter"}) {
    EXPECT_EQ(bytes(kind, true), 128) << kind << ": all parts";
    EXPECT_EQ(bytes(kind, false), 512) << kind;
  }
}

/// Counts of elements have the size of their type; what gathers has the size of its results.
TEST(RecordedGraph, CollectivesWithoutTensorsHaveElements) {
  const auto read = [](const std::string& name, const std::string& attributes) {
    return parse_op_graph(
        R"({"schema":"1.1.0","nodes":[{"id":3,"ctrl_deps":1,"name":"record_param_comms",)"
        R"("inputs":{"values":[],"shapes":[],"types":[]},"outputs":{"values":[],"shapes":[],"types":[]},"attrs":[)"
        R"({"name":"collective_name","value":")" +
            name + R"("},{"name":"pg_size","value":4})" + attributes + "]}]}",
        "et.json");
  };
  const auto bytes = [&](const std::string& name, const std::string& attributes) {
    const auto graph = read(name, attributes);
    EXPECT_TRUE(graph.ok()) << graph.error().text();
    return graph.ok() ? graph->nodes.at(0).communication->op.bytes : 0;
  };
  const std::string in = R"(,{"name":"in_msg_nelems","value":100})", out = R"(,{"name":"out_msg_nelems","value":420})",
                    half = R"(,{"name":"dtype","value":"BFloat16"})";
  EXPECT_EQ(bytes("allreduce", in), 400);
  EXPECT_EQ(bytes("allreduce", in + half), 200);
  EXPECT_EQ(bytes("allreduce", in + R"(,{"name":"dtype","value":"Byte"})"), 100);
  EXPECT_EQ(bytes("allgather", in + half), 800);
  EXPECT_EQ(bytes("allgather", in + out + half), 840);
  EXPECT_EQ(bytes("allreduce", R"(,{"name":"in_msg_nelems","value":-5})"), 0);
  const auto odd = read("allreduce", in + R"(,{"name":"dtype","value":"Odd"})");
  ASSERT_FALSE(odd.ok());
  EXPECT_EQ(odd.error().text(),
            "et.json: node 3 (record_param_comms): dtype: found 'Odd', expected a type of elements");
}

}  // namespace
}  // namespace distsim::opgraph
