#include "mpi_bench/collective/plan/plan.hpp"

#include <gtest/gtest.h>

namespace distsim::bench {
namespace {

constexpr const char* kHeader = "collective,dtype,ranks,nodes,at_once,bytes\n";

std::string refusal(const std::string& rows) {
  const auto plan = bench::parse_plan(kHeader + rows, "p.csv");
  return plan.ok() ? "accepted" : plan.error().text();
}

TEST(Plan, RowsOfOneCurveAreGatheredAndSorted) {
  const auto plan = bench::parse_plan(
      std::string(kHeader) +
          "all_reduce,fp16,8,2,1,4096\nall_to_all,fp32,4,1,1,64\nall_reduce,fp16,8,2,1,8\nall_reduce,fp16,8,2,1,4096\n"
          "all_reduce,fp16,8,2,0,8\n",
      "p.csv");
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  ASSERT_EQ(plan->size(), 3u);
  EXPECT_EQ((*plan)[0].what->name, "all_reduce");
  EXPECT_EQ((*plan)[0].type, bench::DataType::half);
  EXPECT_EQ((*plan)[0].group.ranks, 8);
  EXPECT_EQ((*plan)[0].group.nodes, 2);
  EXPECT_EQ((*plan)[0].sizes, (std::vector<std::uint64_t>{8, 4096}));
  EXPECT_EQ((*plan)[1].what->name, "alltoall");
  EXPECT_TRUE((*plan)[2].group.alone);
}

TEST(Plan, RefusalsNameLineAndColumn) {
  EXPECT_NE(refusal("all_reduse,fp32,8,2,1,8\n").find("p.csv:2: found 'all_reduse'"), std::string::npos)
      << refusal("all_reduse,fp32,8,2,1,8\n");
  EXPECT_NE(refusal("all_reduce,fp32,1,1,1,8\n").find("ranks: found '1'"), std::string::npos);
  EXPECT_NE(refusal("all_reduce,fp32,8,9,1,8\n").find("nodes: found '9'"), std::string::npos);
  EXPECT_NE(refusal("all_reduce,fp32,8,2,2,8\n").find("at_once: found '2'"), std::string::npos);
  EXPECT_NE(refusal("all_reduce,fp32,8,2,1,0\n").find("bytes: found '0'"), std::string::npos);
  EXPECT_NE(refusal("all_reduce,fp32,8,2,1,-8\n").find("bytes: found '-8'"), std::string::npos);
  EXPECT_NE(refusal("all_reduce,fp33,8,2,1,8\n").find("fp33"), std::string::npos);
  EXPECT_NE(refusal("").find("found no rows"), std::string::npos);
  EXPECT_FALSE(bench::parse_plan("collective,dtype\nall_reduce,fp32\n", "p.csv").ok());
  const auto calls =
      bench::parse_plan("collective,dtype,ranks,nodes,at_once,bytes,calls\nall_reduce,fp32,8,2,1,8,-5\n", "p.csv");
  ASSERT_FALSE(calls.ok());
  EXPECT_NE(calls.error().text().find("p.csv:2: calls: found '-5'"), std::string::npos) << calls.error().text();
}

std::vector<int> blocks(int nodes, int per_node) {
  std::vector<int> node_of;
  for (int r = 0; r < nodes * per_node; ++r) node_of.push_back(r / per_node);
  return node_of;
}

std::vector<bench::PlannedCurve> curves_of(std::initializer_list<const char*> groups,
                                           std::vector<std::uint64_t> sizes) {
  std::vector<bench::PlannedCurve> curves;
  for (const char* group : groups)
    curves.push_back({*bench::find_case("all_reduce"), bench::DataType::float32, *bench::parse_group(group), sizes});
  return curves;
}

TEST(Schedule, OneShapeWithAndWithoutCompanyAreTwoCurves) {
  const auto schedule = bench::schedule_of(curves_of({"4x2", "4x2.alone"}, {8}), blocks(2, 4));
  ASSERT_TRUE(schedule.ok());
  ASSERT_EQ(schedule->measurements.size(), 2u);
  EXPECT_EQ(schedule->measurements[0].grouping.members.size(), 2u);
  EXPECT_EQ(schedule->measurements[1].grouping.members.size(), 1u);
  EXPECT_TRUE(schedule->remarks.empty());
}

TEST(Schedule, TheSameRanksUnderSeveralNamesAreOneCurve) {
  const auto schedule = bench::schedule_of(curves_of({"8x2", "8x2.alone", "all"}, {8}), blocks(2, 4));
  ASSERT_TRUE(schedule.ok());
  ASSERT_EQ(schedule->measurements.size(), 1u);
  EXPECT_EQ(schedule->measurements[0].grouping.name, "8x2");
  EXPECT_EQ(schedule->remarks.size(), 2u);
  EXPECT_NE(schedule->remarks[0].find("8x2.alone has the same ranks as 8x2"), std::string::npos);
}

TEST(Schedule, MergedCurvesKeepTheSizesOfBoth) {
  auto curves = curves_of({"8x2", "8x2.alone"}, {8, 64});
  curves[1].sizes = {16, 64, 4};
  auto other_type = curves[1];
  other_type.type = bench::DataType::half;
  curves.push_back(other_type);
  const auto schedule = bench::schedule_of(curves, blocks(2, 4));
  ASSERT_EQ(schedule->measurements.size(), 2u);
  EXPECT_EQ(schedule->measurements[0].curve.sizes, (std::vector<std::uint64_t>{4, 8, 16, 64}));
  EXPECT_EQ(schedule->measurements[1].curve.type, bench::DataType::half);
}

}  // namespace
}  // namespace distsim::bench
