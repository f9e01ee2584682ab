// Chakra traces as graphs: nodes with shapes, nodes with counts alone, collectives, and the one line for damage.
#include <gtest/gtest.h>

#include "sim/opgraph/call.hpp"
#include "sim/opgraph/kernels.hpp"
#include "sim/opgraph/op_graph.hpp"

namespace distsim::opgraph {
namespace {

// Protocol buffers by hand: a varint, a field of bytes, a field of a number.
std::string et_varint(std::uint64_t n) {
  std::string out;
  for (; n >= 128; n >>= 7) out += static_cast<char>(n % 128 + 128);
  return out + static_cast<char>(n);
}
std::string et_bytes(int field, const std::string& bytes) {
  return et_varint(static_cast<std::uint64_t>(field) << 3 | 2) + et_varint(bytes.size()) + bytes;
}
std::string et_number(int field, std::uint64_t n) {
  return et_varint(static_cast<std::uint64_t>(field) << 3) + et_varint(n);
}

std::string et_attribute(const std::string& name, std::uint64_t n) {
  return et_bytes(10, et_bytes(1, name) + et_number(9, n));
}
std::string et_side(int field, const std::string& values, const std::string& shapes, const std::string& types) {
  return et_bytes(field, et_bytes(1, values) + et_bytes(2, shapes) + et_bytes(3, types));
}
std::string et_node(std::uint64_t id, const std::string& name, std::uint64_t type, std::uint64_t parent,
                    const std::string& more) {
  return et_number(1, id) + et_bytes(2, name) + et_number(3, type) +
         (parent > 0 ? et_bytes(4, et_varint(parent)) : "") + more;
}
std::string et_file(const std::string& head, const std::vector<std::string>& nodes) {
  std::string out = et_varint(head.size()) + head;
  for (const std::string& n : nodes) out += et_varint(n.size()) + n;
  return out;
}

const std::string kEtVersion = et_bytes(1, "0.0.4");
const std::string kEtHost = et_attribute("is_cpu_op", 1),
                  kEtDevice = et_bytes(10, et_bytes(1, "is_cpu_op") + et_number(27, 0));
const std::string kEtOperands = et_side(
    8, "[[10, 11, 0, 32, 4, 'cuda:0'], [12, 13, 0, 64, 4, 'cuda:0'], True, None, 1e-05, -inf]",
    "[[4, 8], [8, 8], [], [], [], []]", "['Tensor(float)', 'Tensor(float)', 'Bool', 'None', 'Double', 'Double']");

TEST(ChakraTrace, PricesCallsNotTheirKernels) {
  const auto graph = parse_op_graph(et_file(kEtVersion, {et_node(2, "aten::linear", 4, 0, kEtOperands + kEtHost),
                                                         et_node(3, "aten::mm", 4, 2, kEtOperands + kEtHost),
                                                         et_node(4, "sgemm_128x64", 4, 3, kEtOperands + kEtDevice)}),
                                    "job.0.et");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_TRUE(graph->recorded);
  ASSERT_EQ(graph->nodes.size(), 1u);
  EXPECT_EQ(graph->nodes[0].op, "aten::mm");
  EXPECT_EQ(Sizes(*graph, 1).dims(1), (Dims{8, 8}));
}

/// Old files have the outermost calls alone, whatever their callers are numbered; a call is cut where its kernels run.
TEST(ChakraTrace, OfTheOldLayoutIsFlat) {
  const std::string head = et_bytes(2, et_bytes(1, "schema") + et_bytes(29, "1.0.1"));
  const auto graph = parse_op_graph(et_file(head, {et_node(10, "aten::linear(0)", 4, 3, kEtOperands + kEtHost),
                                                   et_node(11, "aten::linear(1)", 4, 3, kEtOperands + kEtHost),
                                                   et_node(12, "aten::mm", 4, 10, kEtOperands + kEtHost),
                                                   et_node(13, "aten::mm", 4, 3, kEtOperands + kEtHost)}),
                                    "job.0.et");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  ASSERT_EQ(graph->nodes.size(), 3u);  // its second piece is no call
}

TEST(ChakraTrace, CountsStandForShapes) {
  const std::string counts = et_attribute("num_ops", 2'000'000) + et_attribute("tensor_size", 4096);
  const auto graph = parse_op_graph(
      et_file(kEtVersion, {et_node(1, "matmul", 4, 0, counts), et_node(2, "embedding", 4, 0, counts),
                           et_node(3, "sum", 7, 0, et_attribute("comm_type", 0) + et_attribute("comm_size", 1 << 20))}),
      "synthetic.0.et");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  ASSERT_EQ(graph->nodes.size(), 3u);
  const Sizes sizes(*graph, 1);
  const Kernels product = kernels_of(Call(sizes, graph->nodes[0])), stream = kernels_of(Call(sizes, graph->nodes[1]));
  EXPECT_FALSE(product.listed);
  EXPECT_NEAR(graph::flops_of(product.ops.at(0)), 2e6, 1e4);
  EXPECT_EQ(std::get<graph::Unlisted>(stream.ops.at(0)).read_bytes, 4096);
  ASSERT_TRUE(graph->nodes[2].communication);
  EXPECT_EQ(graph->nodes[2].communication->op.kind, graph::CollectiveKind::all_reduce);
  EXPECT_EQ(graph->nodes[2].communication->op.bytes, 1 << 20);
}

TEST(ChakraTrace, CountsAreWholeNumbersOfAnyType) {
  const auto text = [](const std::string& name, const std::string& value) {
    return et_bytes(10, et_bytes(1, name) + et_bytes(29, value));
  };
  const auto graph = [](const std::string& attributes) {
    return parse_op_graph(et_file(kEtVersion, {et_node(1, "sum", 7, 0, attributes)}), "job.0.et");
  };
  const auto named = graph(text("comm_type", "ALL_GATHER") + text("comm_size", "4096"));
  ASSERT_TRUE(named.ok()) << named.error().text();
  EXPECT_EQ(named->nodes.at(0).communication->op.kind, graph::CollectiveKind::all_gather);
  constexpr std::uint64_t kThreeBillion = 3'000'000'000;  // above what a signed number of 32 bits holds
  const std::string little_endian{"\x00\x5e\xd0\xb2", 4};
  const auto fixed =
      graph(text("comm_type", "0") + et_bytes(10, et_bytes(1, "comm_size") + et_varint(19 << 3 | 5) + little_endian));
  ASSERT_TRUE(fixed.ok()) << fixed.error().text();
  EXPECT_EQ(fixed->nodes.at(0).communication->op.bytes, static_cast<std::int64_t>(kThreeBillion));
  EXPECT_EQ(graph(text("comm_type", "0") + text("comm_size", "4 KB")).error().text(),
            "job.0.et: node 1: comm_size: found '4 KB', expected a whole number");
}

TEST(ChakraTrace, EveryBeginningIsRefusedOrShorter) {
  const std::string whole = et_file(kEtVersion, {et_node(2, "aten::mm", 4, 0, kEtOperands + kEtHost)});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto graph = parse_op_graph(whole.substr(0, size), "cut.et");
    EXPECT_FALSE(graph.ok()) << size;
    EXPECT_EQ(graph.error().text().find('\n'), std::string::npos);
  }
}

/// A graph is what every rank runs: messages of one rank are none of it, and are counted.
TEST(ChakraTrace, NamesMessagesBetweenRanks) {
  const std::string sends = et_node(5, "send", 5, 0, et_attribute("comm_size", 1024)),
                    receives = et_node(6, "receive", 6, 0, et_attribute("comm_size", 1024));
  const auto ring = parse_op_graph(et_file(kEtVersion, {sends, receives}), "ring.0.et");
  ASSERT_FALSE(ring.ok());
  EXPECT_NE(ring.error().text().find("found 2 messages from one rank to another"), std::string::npos);
  EXPECT_NE(ring.error().text().find("distsim replay"), std::string::npos);
  const auto mixed =
      parse_op_graph(et_file(kEtVersion, {et_node(2, "aten::mm", 4, 0, kEtOperands + kEtHost), sends}), "job.0.et");
  ASSERT_TRUE(mixed.ok()) << mixed.error().text();
  ASSERT_EQ(mixed->left_out.size(), 1u);
  EXPECT_EQ(mixed->left_out[0].count, 1u);
}

/// Numbered nodes of `type`, each with what it depends on in `field` (4: control, 5: data).
std::string et_after(std::uint64_t id, std::uint64_t type, int field, std::uint64_t dep,
                     const std::string& attributes) {
  return et_node(id, "node", type, 0, (dep > 0 ? et_bytes(field, et_varint(dep)) : "") + attributes);
}

/// Stated work and collectives call nothing: control dependencies order them as data dependencies do.
TEST(ChakraTrace, DependenciesOrderWorkAndRemoveNone) {
  const std::string work = et_attribute("num_ops", 2'000'000) + et_attribute("tensor_size", 4096),
                    sum = et_attribute("comm_type", 0) + et_attribute("comm_size", 1 << 20);
  for (const int field : {4, 5}) {
    const auto graph =
        parse_op_graph(et_file(kEtVersion, {et_after(0, 4, field, 0, work), et_after(1, 4, field, 0, work),
                                            et_after(2, 7, field, 1, sum), et_after(3, 1, field, 2, ""),
                                            et_after(4, 4, field, 3, work), et_after(5, 4, field, 4, work)}),
                       "job.0.et");
    ASSERT_TRUE(graph.ok()) << graph.error().text();
    ASSERT_EQ(graph->nodes.size(), 5u) << field;
    EXPECT_FALSE(graph->nodes[1].waits_for);
    EXPECT_EQ(graph->nodes[3].waits_for, 2u) << field;  // by way of the metadata
    const auto later = parse_op_graph(
        et_file(kEtVersion, {et_after(3, 4, field, 7, work), et_after(7, 7, field, 0, sum)}), "job.0.et");
    ASSERT_FALSE(later.ok());
    EXPECT_EQ(
        later.error().text(),
        "job.0.et: node 3: found a dependency on node 7, expected dependencies on nodes of lower numbers: a graph "
        "runs in the order of numbers");
  }
}

TEST(ChakraTrace, NoWorkVanishes) {
  const auto graph = parse_op_graph(
      et_file(kEtVersion, {et_after(1, 4, 5, 0, et_attribute("num_ops", 2'000'000)),
                           et_after(2, 2, 5, 0, et_attribute("tensor_size", 4096)),
                           et_node(3, "store(1)", 3, 0, et_attribute("tensor_size", 4096)), et_after(4, 4, 5, 0, "")}),
      "job.0.et");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  ASSERT_EQ(graph->nodes.size(), 3u);
  const Sizes sizes(*graph, 1);
  EXPECT_NEAR(graph::flops_of(kernels_of(Call(sizes, graph->nodes[0])).ops.at(0)), 2e6, 1e4);
  EXPECT_EQ(graph->nodes[2].work->bytes, 4096);
  ASSERT_EQ(graph->left_out.size(), 1u);
  EXPECT_EQ(graph->left_out[0].what, "nodes of computation without shapes, operations or bytes");
  const auto odd = parse_op_graph(et_file(kEtVersion, {et_after(9, 99, 5, 0, "")}), "job.0.et");
  ASSERT_FALSE(odd.ok());
  EXPECT_EQ(odd.error().text(), "job.0.et: node 9: type: found 99, expected a node type from 0 to 7");
}

TEST(ChakraTrace, WithoutAGroupAShareIsOfOneRank) {
  const auto graph = parse_op_graph(
      et_file(kEtVersion, {et_after(1, 7, 5, 0, et_attribute("comm_type", 2) + et_attribute("comm_size", 4097))}),
      "job.0.et");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  ASSERT_TRUE(graph->nodes.at(0).communication);
  EXPECT_TRUE(graph->nodes[0].communication->per_rank);
  EXPECT_EQ(graph->nodes[0].communication->op.bytes, 4097);
  EXPECT_NE(graph->remarks.back().find("names no process group of known size"), std::string::npos);
}

}  // namespace
}  // namespace distsim::opgraph
