#include "sim/graph/task_graph.hpp"

#include <gtest/gtest.h>

namespace distsim::graph {
namespace {

Collective all_reduce(std::int64_t bytes) {
  Collective c;
  c.kind = CollectiveKind::all_reduce;
  c.bytes = bytes;
  return c;
}

Collective uneven(std::vector<std::int64_t> send, std::vector<std::int64_t> recv) {
  Collective c;
  c.kind = CollectiveKind::all_to_all_v;
  c.send_bytes = std::move(send);
  c.recv_bytes = std::move(recv);
  return c;
}

const TaskGraphBuilder::Options kCompute{};
const TaskGraphBuilder::Options kComm{Stream::comm, Phase::exchange, {1, 1}, false};

TEST(TaskGraph, KeepsTasksDependenciesAndNames) {
  TaskGraphBuilder b(2);
  const TaskId a = b.add("gemm", kCompute, Gemm{});
  const TaskId c = b.add("gemm", kCompute, Gemm{}, std::vector{a});
  const TaskId d = b.add_collective("sum", kComm, all_reduce(8), Partition::strided(2, 1), std::vector{a, c});
  const auto graph = std::move(b).finish();
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(graph->tasks.size(), 3u);
  EXPECT_EQ(graph->names.size(), 2u);  // "gemm" is stored once
  EXPECT_TRUE(graph->dependencies(a).empty());
  ASSERT_EQ(graph->dependencies(d).size(), 2u);
  EXPECT_EQ(graph->dependencies(d)[1], c);
  EXPECT_EQ(graph->tasks[d].stream, Stream::comm);
}

TEST(TaskGraph, RanksRunTheirVariantAndEqualTablesAreShared) {
  TaskGraphBuilder b(3);
  const TaskId a = b.add_per_rank("lookup", kCompute, {Gemm{}, Absent{}}, std::vector<std::uint32_t>{0, 1, 0});
  const TaskId c = b.add_per_rank("update", kCompute, {Gemm{}, Absent{}}, std::vector<std::uint32_t>{0, 1, 0});
  const auto graph = std::move(b).finish();
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(graph->rank_tables.size(), 1u);
  EXPECT_EQ(graph->variant_of(a, 1), 1u);
  EXPECT_EQ(graph->variant_of(c, 2), 0u);
}

TEST(TaskGraph, PartitionsAreStoredOnce) {
  TaskGraphBuilder b(4);
  b.add_collective("a", kComm, all_reduce(8), Partition::strided(4, 1));
  b.add_collective("b", kComm, all_reduce(8), Partition::strided(2, 2));
  b.add_collective("c", kComm, all_reduce(8), Partition::strided(4, 1));
  const auto graph = std::move(b).finish();
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->partitions.size(), 2u);
}

std::string error_of(TaskGraphBuilder b) {
  const auto graph = std::move(b).finish();
  return graph.ok() ? "" : graph.error().text();
}

TEST(TaskGraph, RefusesDependenciesThatDoNotPointBackwards) {
  TaskGraphBuilder self(1);
  self.add("a", kCompute, Gemm{}, std::vector{TaskId(0)});
  EXPECT_NE(error_of(std::move(self)).find("not before it"), std::string::npos);
  TaskGraphBuilder none(1);
  none.add("a", kCompute, Gemm{}, std::vector{TaskId()});
  EXPECT_NE(error_of(std::move(none)).find("not before it"), std::string::npos);
}

TEST(TaskGraph, RefusesGroupsThatDoNotCoverTheRanks) {
  TaskGraphBuilder b(6);
  b.add_collective("a", kComm, all_reduce(8), Partition::strided(4, 1));
  EXPECT_NE(error_of(std::move(b)).find("do not divide 6 ranks"), std::string::npos);

  TaskGraphBuilder twice(2);
  twice.add_collective("a", kComm, all_reduce(8), Partition{0, 0, {0, 2}, {1, 1}});
  EXPECT_NE(error_of(std::move(twice)).find("rank 1 is in two groups"), std::string::npos);

  TaskGraphBuilder missing(3);
  missing.add_collective("a", kComm, all_reduce(8), Partition{0, 0, {0, 2}, {0, 1}});
  EXPECT_NE(error_of(std::move(missing)).find("expected each of the 3 ranks once"), std::string::npos);

  TaskGraphBuilder beyond(2);
  beyond.add_collective("a", kComm, all_reduce(8), Partition{0, 0, {0, 2}, {0, 2}});
  EXPECT_NE(error_of(std::move(beyond)).find("rank 2 of 2"), std::string::npos);
}

TEST(TaskGraph, RefusesTablesThatDoNotFit) {
  TaskGraphBuilder b(3);
  b.add_per_rank("a", kCompute, {Gemm{}}, std::vector<std::uint32_t>{0, 0});
  EXPECT_NE(error_of(std::move(b)).find("table of 2 ranks, expected 3"), std::string::npos);

  TaskGraphBuilder beyond(2);
  beyond.add_per_rank("a", kCompute, {Gemm{}}, std::vector<std::uint32_t>{0, 1});
  EXPECT_NE(error_of(std::move(beyond)).find("runs op 1, the last is 0"), std::string::npos);

  TaskGraphBuilder huge(1);
  huge.add_per_rank("a", kCompute, {Gemm{}}, std::vector<std::uint32_t>{0xFFFFFFFFu});
  EXPECT_NE(error_of(std::move(huge)), "");
}

TEST(TaskGraph, RefusesUnbalancedExchanges) {
  TaskGraphBuilder good(2);
  good.add_collective("a", kComm, uneven({3, 5}, {5, 3}), Partition::strided(2, 1));
  EXPECT_EQ(error_of(std::move(good)), "");
  TaskGraphBuilder bad(2);
  bad.add_collective("a", kComm, uneven({3, 5}, {5, 4}), Partition::strided(2, 1));
  EXPECT_NE(error_of(std::move(bad)).find("members send -1 bytes more"), std::string::npos);
  TaskGraphBuilder wrong_group(4);
  wrong_group.add_collective("a", kComm, uneven({3, 5}, {5, 3}), Partition::strided(4, 1));
  EXPECT_NE(error_of(std::move(wrong_group)).find("do not fit the groups"), std::string::npos);
}

TEST(TaskGraph, RefusesCollectivesWithoutGroupsAndGraphsWithoutRanks) {
  TaskGraphBuilder b(2);
  b.add("sum", kComm, all_reduce(8));
  EXPECT_NE(error_of(std::move(b)).find("without groups"), std::string::npos);
  EXPECT_NE(error_of(TaskGraphBuilder(0)).find("0 ranks"), std::string::npos);
}

TEST(TaskGraph, MembersOfAGroupTakePartTogether) {
  TaskGraphBuilder good(4, 2);
  const PartitionId pairs = good.add_partition(Partition::strided(2, 1));
  EXPECT_EQ(good.add_partition(Partition::strided(2, 1)), pairs);
  good.add_collective("sum", kComm, all_reduce(8), pairs, {}, good.add_rank_table({0, 1}));
  const auto graph = std::move(good).finish();
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_TRUE(std::holds_alternative<Absent>(graph->ops[OpId(graph->variant_of(TaskId(0), 3))]));
  for (const Partition& groups : {Partition::strided(2, 1), Partition{0, 0, {0, 2, 4}, {0, 3, 1, 2}}}) {
    TaskGraphBuilder half(4);
    half.add_collective("sum", kComm, all_reduce(8), half.add_partition(groups), {}, half.add_rank_table({0, 1, 1, 0}));
    EXPECT_EQ(error_of(std::move(half)).empty(), !groups.listed_offsets.empty())
        << "0 and 3 are a pair of the list alone";
  }
}

TEST(TaskGraph, TablesAreByRanksThatAreAlike) {
  TaskGraphBuilder b(4, 2);
  b.add_per_rank("a", kCompute, {Gemm{}, Absent{}}, std::vector<std::uint32_t>{0, 1, 0, 0});
  EXPECT_NE(error_of(std::move(b)).find("table of 8 ranks, expected 4"), std::string::npos);
  EXPECT_NE(error_of(TaskGraphBuilder(4, 3)).find("3 ranks alike do not divide 4"), std::string::npos);
}

TEST(TaskGraph, BlocksOfRanksAreListedOnce) {
  Partition blocks{0, 0, {0, 2, 3}, {2, 0, 1}, 2};  // ranks 4 and 5 meet 0 and 1, one each
  const Partition ranks = listed_by_rank(blocks);
  EXPECT_EQ(ranks, (Partition{1, 1, {0, 2, 4, 5, 6}, {4, 0, 5, 1, 2, 3}, 1}));
  TaskGraphBuilder good(6, 2), half(6, 2), bad(6);
  good.add_collective("sum", kComm, all_reduce(8), good.add_partition(blocks), {}, good.add_rank_table({0, 1, 0}));
  EXPECT_EQ(error_of(std::move(good)), "");
  half.add_collective("sum", kComm, all_reduce(8), half.add_partition(blocks), {}, half.add_rank_table({0, 1, 1}));
  EXPECT_NE(error_of(std::move(half)).find("some members of a group take part"), std::string::npos);
  blocks.each = 4;
  bad.add_collective("sum", kComm, all_reduce(8), blocks);
  EXPECT_NE(error_of(std::move(bad)).find("blocks of 4 ranks do not divide 6"), std::string::npos);
}

TEST(TaskGraph, TablesRepeat) {
  // 12 ranks, of which 2 neighbours do the same, 2 times: a table has 3 places.
  const auto with = [](std::vector<std::uint32_t> pairs) {
    TaskGraphBuilder b(12, 2, 2);
    const Partition groups{1, 1, {0, 2, 4, 6}, std::move(pairs), 2};
    b.add_collective("sum", kComm, all_reduce(8), b.add_partition(groups), {}, b.add_rank_table({0, 1, 0}));
    return b;
  };
  const auto graph = with({0, 2, 3, 5, 1, 4}).finish();
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  for (std::uint32_t r = 0; r < 12; ++r) EXPECT_EQ(graph->variant_of(TaskId(0), r), r / 2 % 3 == 1 ? 1u : 0u) << r;
  EXPECT_NE(error_of(with({0, 1, 3, 5, 2, 4})).find("some members of a group take part"), std::string::npos);
  TaskGraphBuilder longer(12, 2, 2), odd(12, 4, 2);
  longer.add_per_rank("a", kCompute, {Gemm{}, Absent{}}, std::vector<std::uint32_t>{0, 1, 0, 0, 1, 0});
  EXPECT_NE(error_of(std::move(longer)).find("table of 24 ranks, expected 12"), std::string::npos);
  odd.add("a", kCompute, Gemm{});
  EXPECT_NE(error_of(std::move(odd)).find("4 ranks alike, 2 times, do not divide 12"), std::string::npos);
}

TEST(TaskGraph, TasksLikeOthersShareTheirOps) {
  TaskGraphBuilder b(4, 2);
  const TaskId first = b.add_per_rank("a", kCompute, {Gemm{}, Absent{}}, std::vector<std::uint32_t>{0, 1});
  const TaskId second = b.add_like(first, std::vector{first});
  const auto graph = std::move(b).finish();
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(graph->ops.size(), 2u);
  EXPECT_EQ(graph->tasks[second].first_op, graph->tasks[first].first_op);
  EXPECT_EQ(graph->variant_of(second, 3), 1u);
  ASSERT_EQ(graph->dependencies(second).size(), 1u);
  EXPECT_EQ(graph->dependencies(second)[0], first);
}

TEST(TaskGraph, RepeatedTasksShareOpsAndMoveTheirDependencies) {
  TaskGraphBuilder b(1);
  const TaskId before = b.add("input", kCompute, Gemm{});
  const TaskId first = b.add("a", kComm, Gemm{}, std::vector{before});
  b.add("b", kCompute, Gemm{}, std::vector{first});
  b.repeat(first, b.end_id());
  const auto graph = std::move(b).finish();
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  ASSERT_EQ(graph->tasks.size(), 5u);
  EXPECT_EQ(graph->ops.size(), 3u);
  EXPECT_EQ(graph->tasks[TaskId(3)].first_op, graph->tasks[first].first_op);
  EXPECT_EQ(graph->dependencies(TaskId(3))[0], before);
  EXPECT_EQ(graph->dependencies(TaskId(4))[0], TaskId(3));
}

TEST(TaskGraph, StreamsAndPhasesHaveNames) {
  EXPECT_EQ(name_of(Stream::comm.lane(1)), "comm2");
  EXPECT_EQ(name_of(Stream::p2p), "p2p");
  for (std::uint32_t i = 0; i < kStreamCount; ++i) EXPECT_EQ(Stream(i).number(), i);
  EXPECT_EQ(name_of(Phase::gradient_sync), "gradient_sync");
}

}  // namespace
}  // namespace distsim::graph
