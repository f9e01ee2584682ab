// A recorded iteration among others of its kind: what comes first waits for the last one, and what comes last holds the next
// one back.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/workload/opgraph/graph_workload.hpp"

namespace distsim::workload {
namespace {

/// 'c': a kernel; 'a': an all-reduce of all ranks; 'w': a wait for collectives; 'd': a kernel that depends on the last all-reduce.
opgraph::OpGraph iteration_of(const std::string& calls) {
  opgraph::OpGraph graph;
  graph.recorded = true;
  std::uint32_t last = 0;
  for (const char call : calls) {
    opgraph::Node node;
    node.label = "node " + std::to_string(graph.nodes.size());
    if (call == 'a') {
      node.communication.emplace();
      node.communication->op.bytes = 1 << 20;
      last = static_cast<std::uint32_t>(graph.nodes.size());
    } else if (call == 'w') {
      node.op = opgraph::kWait;
    } else {
      node.op = "a kernel";
      node.work = opgraph::StatedWork{1e9, 1e6};
      if (call == 'd') node.waits_for = last;
    }
    graph.nodes.push_back(std::move(node));
  }
  return graph;
}

struct BuiltIteration {
  Workload workload;
  std::vector<std::string> names;
  std::vector<TaskId> collectives;

  std::vector<TaskId> waits_of(TaskId task) const {
    const auto deps = workload.graph.dependencies(task);
    return {deps.begin(), deps.end()};
  }
  TaskId last() const { return TaskId(static_cast<std::uint32_t>(names.size() - 1)); }
  bool says(const std::string& text) const {
    return std::ranges::any_of(workload.assumptions,
                               [&](const auto& a) { return a.text.find(text) != std::string::npos; });
  }
};

BuiltIteration built_iteration(const std::string& calls, std::uint32_t ranks = 8) {
  const FrameworkSpec framework;
  const ModelSpec model;
  SamplePlan samples;
  samples.ranks = ranks, samples.total = 8 * ranks;
  auto workload = build_recorded(iteration_of(calls), model, framework, {1, ranks, Bytes(1'000'000'000)}, samples);
  EXPECT_TRUE(workload.ok()) << workload.error().text();
  BuiltIteration out{std::move(*workload), {}, {}};
  for (std::uint32_t t = 0; t < out.workload.graph.tasks.size(); ++t) {
    const graph::Task& task = out.workload.graph.tasks[TaskId(t)];
    out.names.push_back(out.workload.graph.names[task.name]);
    if (task.partition.valid()) out.collectives.push_back(TaskId(t));
  }
  return out;
}

TEST(RecordedIteration, TheNextOneWaitsForACollectiveAtTheEnd) {
  for (const char* calls : {"ccaw", "cca"}) {
    const BuiltIteration b = built_iteration(calls);
    ASSERT_EQ(b.names.size(), 4u) << calls;
    EXPECT_EQ(b.names.back(), "iteration.end");
    EXPECT_EQ(b.waits_of(b.last()), b.collectives);
    EXPECT_EQ(b.workload.graph.tasks[b.last()].dispatch.kernels, 0u);
  }
  EXPECT_EQ(built_iteration("ccawc").names.size(), 4u) << "a kernel waits for it";
  EXPECT_EQ(built_iteration("ccad").names.size(), 4u);
}

TEST(RecordedIteration, ACollectiveAtTheBeginWaitsForTheLastOne) {
  const BuiltIteration b = built_iteration("awc");
  ASSERT_EQ(b.names.size(), 3u);
  EXPECT_EQ(b.names.front(), "iteration.begin");
  EXPECT_EQ(b.waits_of(b.collectives.at(0)), std::vector<TaskId>{TaskId(0)});
  EXPECT_EQ(b.waits_of(b.last()), b.collectives);
}

/// Collectives follow each other on their stream: the last one ends last.
TEST(RecordedIteration, EndsWhenAllOfItsWorkHas) {
  const BuiltIteration b = built_iteration("cadcaca");
  EXPECT_EQ(b.names.back(), "iteration.end");
  EXPECT_EQ(b.waits_of(b.last()), std::vector<TaskId>{b.collectives.back()});
  const std::string said = "the next iteration waits for 2 collectives at the end that nothing recorded waits for";
  EXPECT_TRUE(b.says(said));
  EXPECT_FALSE(built_iteration("cadcaw").says("at the end that nothing recorded"));
}

TEST(RecordedIteration, OfOneRankHasNoMarks) { EXPECT_EQ(built_iteration("awcaw", 1).names.size(), 1u); }

}  // namespace
}  // namespace distsim::workload
