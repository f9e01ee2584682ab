#include "mpi_bench/collective/plan.hpp"

#include <gtest/gtest.h>

namespace distsim::bench {
namespace {

constexpr const char* kHeader = "collective,dtype,ranks,nodes,at_once,bytes\n";

std::string refusal(const std::string& rows) {
  const auto plan = parse_plan(kHeader + rows, "p.csv");
  return plan.ok() ? "accepted" : plan.error().text();
}

TEST(Plan, RowsOfOneCurveAreGatheredAndSorted) {
  const auto plan = parse_plan(std::string(kHeader) + "all_reduce,fp16,8,2,1,4096\nall_to_all,fp32,4,1,1,64\nall_reduce,fp16,8,2,1,8\nall_reduce,fp16,8,2,1,4096\n"
                               "all_reduce,fp16,8,2,0,8\n", "p.csv");
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  ASSERT_EQ(plan->size(), 3u);
  EXPECT_EQ((*plan)[0].what->name, "all_reduce");
  EXPECT_EQ((*plan)[0].type, DataType::half);
  EXPECT_EQ((*plan)[0].group.ranks, 8);
  EXPECT_EQ((*plan)[0].group.nodes, 2);
  EXPECT_EQ((*plan)[0].sizes, (std::vector<std::uint64_t>{8, 4096}));
  EXPECT_EQ((*plan)[1].what->name, "alltoall");
  EXPECT_TRUE((*plan)[2].group.alone);
}

TEST(Plan, RefusalsNameLineAndColumn) {
  EXPECT_NE(refusal("all_reduse,fp32,8,2,1,8\n").find("p.csv:2: found 'all_reduse'"), std::string::npos) << refusal("all_reduse,fp32,8,2,1,8\n");
  EXPECT_NE(refusal("all_reduce,fp32,1,1,1,8\n").find("ranks: found '1'"), std::string::npos);
  EXPECT_NE(refusal("all_reduce,fp32,8,9,1,8\n").find("nodes: found '9'"), std::string::npos);
  EXPECT_NE(refusal("all_reduce,fp32,8,2,2,8\n").find("at_once: found '2'"), std::string::npos);
  EXPECT_NE(refusal("all_reduce,fp32,8,2,1,0\n").find("bytes: found '0'"), std::string::npos);
  EXPECT_NE(refusal("all_reduce,fp32,8,2,1,-8\n").find("bytes: found '-8'"), std::string::npos);
  EXPECT_NE(refusal("all_reduce,fp33,8,2,1,8\n").find("fp33"), std::string::npos);
  EXPECT_NE(refusal("").find("found no rows"), std::string::npos);
  EXPECT_FALSE(parse_plan("collective,dtype\nall_reduce,fp32\n", "p.csv").ok());
}

}  // namespace
}  // namespace distsim::bench
