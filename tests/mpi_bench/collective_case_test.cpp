#include "mpi_bench/collective/cases/collective_case.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace distsim::bench {
namespace {

bench::Layout layout(const char* name, std::uint64_t bytes, int ranks, int rank = 0, double imbalance = 1) {
  return bench::layout_of(**bench::find_case(name), bytes, 4, {.ranks = ranks, .rank = rank, .imbalance = imbalance});
}

// From nccl-tests' own tables: 8 ranks of float, size column and count column.
TEST(CollectiveCase, SizeAndCountColumnsAsNcclTestsPrintsThem) {
  EXPECT_EQ(layout("all_reduce", 1024, 8).count, 256u);
  EXPECT_EQ(layout("alltoall", 1024, 16).count, 16u);  // 1024 / 4 / 16
  EXPECT_EQ(layout("alltoall", 1024, 16).bytes, 1024u);
  EXPECT_EQ(layout("all_gather", 64, 8).count, 0u);  // 2 floats a rank are below 16 bytes
  EXPECT_EQ(layout("all_gather", 64, 8).bytes, 0u);
  EXPECT_EQ(layout("all_gather", 1000, 3).count, 80u);  // 250 / 3 = 83, down to a multiple of 4
  EXPECT_EQ(layout("all_gather", 1000, 3).bytes, 960u);
  EXPECT_EQ(layout("sendrecv", 1000, 3).count, 250u);
}

TEST(CollectiveCase, BusBandwidthFactors) {
  const std::map<std::string, double> expected = {
      {"all_reduce", 1.75}, {"all_gather", 0.875}, {"reduce_scatter", 0.875}, {"alltoall", 0.875}, {"alltoallv", 0.875},
      {"broadcast", 1},     {"reduce", 1},         {"gather", 0.875},         {"scatter", 0.875},  {"sendrecv", 1}};
  EXPECT_EQ(bench::collective_cases().size(), expected.size());
  for (const bench::CollectiveCase& c : bench::collective_cases())
    EXPECT_DOUBLE_EQ(c.bus_factor(8), expected.at(std::string(c.name))) << c.name;
}

// 4 ranks, imbalance 4, 64 elements to each from rank 0: shares 1, 3/4, 1/2, 1/4.
TEST(CollectiveCase, ImbalanceFallsLinearly) {
  const std::uint64_t bytes = 64 * 4 * 4;
  const std::uint64_t counts[] = {64, 48, 32, 16};
  for (int rank = 0; rank < 4; ++rank) {
    const bench::Layout l = layout("alltoallv", bytes, 4, rank, 4);
    EXPECT_EQ(l.bytes, bytes);
    EXPECT_EQ(l.send_counts, std::vector<std::uint64_t>(4, counts[rank]));
    EXPECT_EQ(l.recv_counts, (std::vector<std::uint64_t>{64, 48, 32, 16}));
    EXPECT_EQ(l.recv_count, 160u);
  }
}

TEST(CollectiveCase, WhatIsSentIsReceivedWhateverTheImbalance) {
  for (double imbalance : {1.0, 1.3, 7.0, 1000.0})
    for (int ranks : {1, 2, 5, 8}) {
      std::uint64_t sent = 0, received = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const bench::Layout l = layout("alltoallv", 123456, ranks, rank, imbalance);
        sent += l.send_count;
        received += l.recv_count;
      }
      EXPECT_EQ(sent, received) << imbalance << ' ' << ranks;
    }
}

TEST(CollectiveCase, NamesAreFoundBothWaysAndMistakesAreNamed) {
  EXPECT_EQ((*bench::find_case("alltoall"))->curve_kind, "all_to_all");
  EXPECT_EQ((*bench::find_case("all_to_all"))->name, "alltoall");
  EXPECT_EQ((*bench::find_case("send_recv"))->name, "sendrecv");
  EXPECT_NE(bench::find_case("all_reduse").error().text().find("did you mean 'all_reduce'"), std::string::npos);
}

}  // namespace
}  // namespace distsim::bench
