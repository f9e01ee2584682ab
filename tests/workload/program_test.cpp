// Programs described step by step: the graph has the steps in their order, and nothing else.
#include <gtest/gtest.h>

#include "base/config/config_node.hpp"
#include "sim/workload/workload.hpp"

namespace distsim::workload {
namespace {

Result<Workload> built_program(const std::string& steps, ClusterShape shape) {
  shape.memory_per_gpu = Bytes(1'000'000);
  const auto node =
      parse_yaml("kind: program\nper_gpu_batch: 1\nprecision: fp32\nprogram:\n  steps: " + steps + "\n", "m.yaml");
  if (!node.ok()) return node.error();
  TRY_ASSIGN(const ModelSpec model, model_schema().read(*node));
  return build_workload(model, FrameworkSpec{}, shape);
}

std::string refusal(const std::string& steps) {
  const auto built = built_program(steps, {1, 2});
  return built.ok() ? "accepted" : built.error().text();
}

TEST(Program, StepsFollowEachOther) {
  const auto w = built_program(
      "[{name: a, compute: 3 us}, {name: b, collective: all_reduce, size: 4 KiB}, {name: c, compute: 5 us}]", {1, 2});
  ASSERT_TRUE(w.ok()) << w.error().text();
  const graph::TaskGraph& g = w->graph;
  ASSERT_EQ(g.tasks.size(), 3u);
  EXPECT_EQ(std::get<graph::Measured>(g.ops[g.tasks[TaskId(0)].first_op]).duration, Duration::nanoseconds(3000));
  const auto& reduce = std::get<graph::Collective>(g.ops[g.tasks[TaskId(1)].first_op]);
  EXPECT_EQ(reduce.kind, graph::CollectiveKind::all_reduce);
  EXPECT_EQ(reduce.bytes, 4096);
  ASSERT_EQ(g.dependencies(TaskId(1)).size(), 1u);  // the collective waits for a, and c for the collective
  EXPECT_EQ(g.dependencies(TaskId(1))[0], TaskId(0));
  ASSERT_EQ(g.dependencies(TaskId(2)).size(), 1u);
  EXPECT_EQ(g.dependencies(TaskId(2))[0], TaskId(1));
}

/// Nothing in a program is priced by a model of ours but its collectives: the user gives the times.
TEST(Program, ComputationIsMeasured) {
  const auto w = built_program("[{compute: 3 us}, {collective: barrier}, {compute: 5 us}]", {2, 4});
  ASSERT_TRUE(w.ok()) << w.error().text();
  std::vector<std::int64_t> given;
  for (const graph::Op& op : w->graph.ops) {
    const auto* measured = std::get_if<graph::Measured>(&op);
    ASSERT_TRUE(measured != nullptr || std::holds_alternative<graph::Collective>(op)) << graph::describe(op);
    if (measured != nullptr) given.push_back(measured->duration.ps());
  }
  EXPECT_EQ(given, (std::vector<std::int64_t>{3'000'000, 5'000'000}));
}

TEST(Program, GroupsAreThoseOfTheCluster) {
  const auto w = built_program(
      "[{collective: all_gather, size: 1 KiB, group: node}, {collective: all_to_all, size: 1 KiB, group: rails}]",
      {3, 4});
  ASSERT_TRUE(w.ok()) << w.error().text();
  const graph::TaskGraph& g = w->graph;
  EXPECT_EQ(g.partitions[g.tasks[TaskId(1)].partition], graph::Partition::strided(4, 1));
  EXPECT_EQ(g.partitions[g.tasks[TaskId(2)].partition], graph::Partition::strided(3, 4));
}

/// Iterations follow each other like steps: a collective at the start waits for a mark on the compute stream, which the
/// computation of the iteration before has to reach, and one at the end is waited for by a mark. A collective of groups of
/// one is on the compute stream.
TEST(Program, ACollectiveAtEitherEndIsNotOvertakenByTheNextIteration) {
  const auto names = [](const std::string& steps) {
    const auto w = built_program(steps, {1, 2});
    std::vector<std::string> out;
    for (const graph::Task& task : w->graph.tasks) out.push_back(w->graph.names[task.name]);
    return out;
  };
  const std::string compute = "{name: a, compute: 3 us}", reduce = "{name: b, collective: all_reduce, size: 4 KiB}",
                    alone = "{name: c, collective: all_reduce, size: 4 KiB, group: rails}";
  using Names = std::vector<std::string>;
  EXPECT_EQ(names("[" + compute + ", " + reduce + "]"), (Names{"a", "b", "end of the last step"}));
  EXPECT_EQ(names("[" + reduce + ", " + compute + "]"), (Names{"start of the first step", "b", "a"}));
  EXPECT_EQ(names("[" + alone + ", " + reduce + ", " + compute + ", " + reduce + ", " + alone + "]"),
            (Names{"c", "b", "a", "b", "c"}));
  const auto w = built_program("[" + reduce + ", " + compute + "]", {1, 2});
  ASSERT_EQ(w->graph.dependencies(TaskId(1)).size(), 1u);
  EXPECT_EQ(w->graph.dependencies(TaskId(1))[0], TaskId(0));
}

/// Marks only order: nobody calls or launches them.
TEST(Program, MarksAtItsEndsAreNoLaunches) {
  const auto w = built_program("[{collective: all_reduce, size: 4 KiB}]", {1, 2});
  ASSERT_EQ(w->graph.tasks.size(), 3u);
  for (const graph::Task& task : w->graph.tasks) {
    const std::uint32_t launches = task.partition.valid() ? 1 : 0;
    EXPECT_EQ(task.dispatch.framework_ops, launches) << w->graph.names[task.name];
    EXPECT_EQ(task.dispatch.kernels, launches) << w->graph.names[task.name];
  }
}

/// As MPI and NCCL do: the call returns, and nothing has moved.
TEST(Program, ACollectiveOfGroupsOfOneIsCalledAndSaid) {
  const auto remark = [](const Workload& w) { return w.assumptions.size() > 1 ? w.assumptions[1].text : ""; };
  const std::string reduce = "{name: b, collective: all_reduce, size: 1 KiB", compute = "{name: a, compute: 1 us}";
  const auto rails = built_program("[" + reduce + ", group: rails}]", {1, 8});
  ASSERT_TRUE(rails.ok()) << rails.error().text();
  ASSERT_EQ(rails->graph.tasks.size(), 1u);
  const graph::Task& task = rails->graph.tasks[TaskId(0)];
  EXPECT_EQ(task.dispatch.framework_ops, 1u);
  EXPECT_EQ(task.dispatch.kernels, 1u);
  EXPECT_EQ(std::get<graph::Measured>(rails->graph.ops[task.first_op]).duration, Duration());
  EXPECT_EQ(
      remark(*rails),
      "model.program.steps[0] 'b' moves nothing: group rails is one rank on 1 x 8 GPUs; only the host's call and launch take time");
  const auto node = built_program(
      "[" + compute + ", " + reduce + ", group: node}, " + reduce + ", group: node}, " + reduce + "}]", {2, 1});
  EXPECT_EQ(
      remark(*node),
      "model.program.steps[1] 'b' and 1 step after it move nothing: group node is one rank on 2 x 1 GPU; only the host's call and launch take time");
  EXPECT_EQ(remark(*built_program("[" + compute + ", " + reduce + "}]", {2, 1})), "");
  EXPECT_EQ(built_program("[" + compute + ", " + reduce + "}]", {1, 1})->graph.tasks.size(), 2u);
}

TEST(Program, RefusalsNameTheStep) {
  EXPECT_NE(refusal("[{name: x}]").find("compute: found 0 s, as where it is not given"), std::string::npos)
      << refusal("[{name: x}]");
  EXPECT_NE(refusal("[{name: x, compute: 1 us, collective: all_reduce}]").find("with both"), std::string::npos);
  EXPECT_NE(refusal("[{collective: all_reduse, size: 1 B}]").find("all_reduse"), std::string::npos);
  EXPECT_NE(refusal("[{compute: 3}]").find("compute"), std::string::npos);
  EXPECT_NE(refusal("[]").find("expected at least one"), std::string::npos) << refusal("[]");
}

}  // namespace
}  // namespace distsim::workload
