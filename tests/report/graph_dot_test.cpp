#include "sim/report/picture/graph_dot.hpp"

#include <gtest/gtest.h>

namespace distsim::report {
namespace {

graph::CostedGraph costed_of(graph::TaskGraphBuilder builder) {
  graph::CostedGraph out;
  out.graph = *std::move(builder).finish();
  for (std::size_t i = 0; i < out.graph.ops.size(); ++i) {
    graph::Cost cost;
    cost.mean = cost.low = cost.high = Duration::microseconds(40);
    out.costs.push_back(cost);
  }
  return out;
}

/// a -> copy (another stream), then b after both.
graph::TaskGraphBuilder three_tasks(const std::string& first) {
  graph::TaskGraphBuilder b(1);
  const TaskId a = b.add(first, {}, graph::Elementwise{100});
  const TaskId copy =
      b.add("copy", {.stream = graph::Stream::copy}, graph::Copy{graph::CopyKind::h2d, 8}, std::vector{a});
  b.add("b", {}, graph::Elementwise{200}, std::vector{a, copy});
  return b;
}

TEST(GraphDot, HasABoxPerTaskAndAnEdgePerDependency) {
  const GraphPicture p = graph_dot(costed_of(three_tasks("a")), "two streams", 0, 100);
  EXPECT_EQ(p.drawn, 3u);
  EXPECT_EQ(p.left_out, 0u);
  EXPECT_NE(p.dot.find("digraph iteration {\n  label=\"two streams\\nrank 0, 3 tasks\""), std::string::npos) << p.dot;
  EXPECT_NE(p.dot.find("t0 [label=\"a\\nelementwise 100 fp32 reads 1 writes 1\\n40.00 us, analytic\""),
            std::string::npos)
      << p.dot;
  EXPECT_NE(p.dot.find("  t0 -> t1;\n"), std::string::npos) << p.dot;
  EXPECT_NE(p.dot.find("  t1 -> t2;\n"), std::string::npos);
  EXPECT_NE(p.dot.find("  t0 -> t2 [color=\"#999999\""), std::string::npos) << "the order of the stream";
  EXPECT_EQ(p.dot.find("  t0 -> t2;\n"), std::string::npos) << "and not a second edge for the dependency";
}

TEST(GraphDot, NamesCannotBreakOut) {
  const GraphPicture p = graph_dot(costed_of(three_tasks("a\"]; evil [x=\"\\\n\x1b")), "t", 0, 100);
  EXPECT_NE(p.dot.find("label=\"a\\\"]; evil [x=\\\"\\\\\\\\x0a\\\\x1b\\nelementwise"), std::string::npos) << p.dot;
}

TEST(GraphDot, NamesHoldNoEntities) {
  const GraphPicture p = graph_dot(costed_of(three_tasks("p&#27;[31m&lt;")), "t & co", 0, 100);
  EXPECT_NE(p.dot.find("label=\"p&amp;#27;[31m&amp;lt;\\n"), std::string::npos) << p.dot;
  EXPECT_NE(p.dot.find("label=\"t &amp; co\\n"), std::string::npos) << p.dot;
}

TEST(GraphDot, LeavesOutWhatIsTooMuchAndSaysSo) {
  const GraphPicture p = graph_dot(costed_of(three_tasks("a")), "t", 0, 2);
  EXPECT_EQ(p.drawn, 2u);
  EXPECT_EQ(p.left_out, 1u);
  EXPECT_NE(p.dot.find("2 tasks of 3"), std::string::npos) << p.dot;
  EXPECT_EQ(p.dot.find("t2"), std::string::npos) << p.dot;
}

TEST(GraphDot, TasksOfOtherRanksAreNotThere) {
  graph::TaskGraphBuilder b(2);
  b.add_per_rank("mine", {}, {graph::Elementwise{100}, graph::Absent{}}, b.add_rank_table({0, 1}));
  b.add("all", {}, graph::Elementwise{100});
  const graph::CostedGraph costed = costed_of(std::move(b));
  EXPECT_EQ(graph_dot(costed, "t", 0, 100).drawn, 2u);
  EXPECT_EQ(graph_dot(costed, "t", 1, 100).drawn, 1u);
  EXPECT_EQ(graph_dot(costed, "t", 1, 100).dot.find("mine"), std::string::npos);
}

}  // namespace
}  // namespace distsim::report
