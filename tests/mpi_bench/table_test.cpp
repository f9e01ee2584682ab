#include "mpi_bench/collective/output/table.hpp"
#include "base/json/json.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "mpi_bench/collective/output/json_output.hpp"

namespace distsim::bench {
namespace {

bench::Measured half(double time_us, double busbw, std::optional<std::uint64_t> wrong) {
  bench::Measured m;
  m.time_us = time_us;
  m.algbw = busbw / 2;
  m.busbw = busbw;
  m.wrong = wrong;
  m.iterations = bench::summarize({time_us});
  return m;
}

std::vector<std::string> words(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> result;
  for (std::string word; in >> word;) result.push_back(word);
  return result;
}

// 1 MiB in 100 us over 8 ranks: 1048576 / 1e-4 = 10.48576 GB/s; x 1.75 = 18.35008.
TEST(Table, BandwidthsByHand) {
  const bench::Measured m = bench::measured_from(1 << 20, 100e-6, 1.75);
  EXPECT_DOUBLE_EQ(m.time_us, 100);
  EXPECT_DOUBLE_EQ(m.algbw, 10.48576);
  EXPECT_DOUBLE_EQ(m.busbw, 18.35008);
  EXPECT_EQ(bench::measured_from(1, 0, 1).algbw, 0);
}

// The row of nccl-tests: "%12li  %12li  %8s  %6s  %6s" and twice "  %7s  %6s  %6s  %6s".
TEST(Table, RowAsNcclTestsPrintsIt) {
  bench::Row row{.bytes = 1024, .count = 16, .type = "float", .redop = "none", .root = -1};
  row.out_of_place = half(58.93, 0.02, 0);
  row.in_place = half(46.91, 0.02, std::nullopt);
  EXPECT_EQ(
      bench::row_text(row),
      "        1024            16     float    none      -1    58.93    0.01    0.02       0    46.91    0.01    0.02     N/A\n");
}

TEST(Table, LongTimesGiveUpDecimalsBeforeColumns) {
  bench::Row row{.bytes = 8, .count = 2, .type = "float", .redop = "sum"};
  row.out_of_place = half(123456.78, 1234.56, 3);
  const auto w = words(bench::row_text(row));
  ASSERT_EQ(w.size(), 13u);
  EXPECT_EQ(w[5], "123457");
  EXPECT_EQ(w[7], "1234.6");
  EXPECT_EQ(w[8], "3");
  EXPECT_EQ(w[9], "N/A");  // no in-place form
}

TEST(Table, AverageIsOverBothHalvesThatExist) {
  std::vector<bench::Row> rows(2);
  rows[0].out_of_place = half(1, 10, 0);
  rows[0].in_place = half(1, 20, 0);
  rows[1].out_of_place = half(1, 60, 0);
  EXPECT_DOUBLE_EQ(bench::average_bus_bandwidth(rows), 30);
  EXPECT_NE(bench::footer_text(rows, "all_reduce", bench::Outcome::finished).find("# Avg bus bandwidth    : 30 \n"),
            std::string::npos);
  EXPECT_EQ(bench::average_bus_bandwidth({}), 0);
}

TEST(Table, FooterTellsHowItEnded) {
  std::vector<bench::Row> rows(1);
  rows[0].out_of_place = half(1, 10, 4);
  const std::string wrong = bench::footer_text(rows, "reduce", bench::Outcome::wrong);
  EXPECT_NE(wrong.find("# Out of bounds values : 4 FAILED"), std::string::npos);
  EXPECT_NE(wrong.find("partial"), std::string::npos);
  EXPECT_EQ(wrong.find("concluded"), std::string::npos);
  EXPECT_NE(bench::footer_text({}, "reduce", bench::Outcome::finished).find("# Collective test concluded: reduce_perf"),
            std::string::npos);
  EXPECT_NE(bench::footer_text({}, "reduce", bench::Outcome::interrupted).find("# Interrupted"), std::string::npos);
}

TEST(Table, HeaderIsAllComments) {
  std::istringstream in(bench::header_text(
      {.collective = "alltoall",
       .backend = "mpi: x",
       .min_bytes = 8,
       .max_bytes = 64,
       .step = 2,
       .by_factor = true,
       .ranks = {{.rank = 0, .pid = 7, .device = 0, .host = "h", .bus_id = "host", .name = "host memory"}}}));
  std::string all;
  for (std::string line; std::getline(in, line); all += line + "\n") EXPECT_EQ(line[0], '#') << line;
  EXPECT_NE(all.find("minBytes 8 maxBytes 64 step: 2(factor)"), std::string::npos);
  EXPECT_NE(all.find("Rank  0 Group  0 Pid      7 on          h device  0 [host] host memory"), std::string::npos);
}

TEST(Json, HoldsEveryStatisticAndNullWhereThereIsNone) {
  bench::Row row{.bytes = 64, .count = 16, .type = "float", .redop = "sum", .root = -1};
  row.out_of_place = half(5, 10, 0);
  const auto j = nlohmann::json::parse(bench::json_text({{.collective = "all_reduce",
                                                          .group = "rails",
                                                          .ranks = 2,
                                                          .nodes = 2,
                                                          .groups_at_once = 4,
                                                          .rows = {row},
                                                          .settings = "NCCL_ALGO=Ring"}},
                                                        {.backend = "MPI",
                                                         .device = "host memory",
                                                         .ranks = 4,
                                                         .nodes = 2,
                                                         .threads = 2,
                                                         .gpus = 1,
                                                         .cuda_graph = true,
                                                         .date = "2026-11-20"},
                                                        true));
  EXPECT_EQ(j["device"], "host memory");
  EXPECT_EQ(j["partial"], true);
  EXPECT_EQ(j["ranks"], 4);
  EXPECT_EQ(j["nodes"], 2);
  EXPECT_EQ(j["nThread"], 2);
  EXPECT_EQ(j["nGpus"], 1);
  EXPECT_EQ(j["graph"], true);
  EXPECT_EQ(j["date"], "2026-11-20");
  EXPECT_EQ(j["tables"][0]["settings"], "NCCL_ALGO=Ring");
  EXPECT_EQ(j["tables"][0]["group"], "rails");
  EXPECT_EQ(j["tables"][0]["groups_at_once"], 4);
  const auto& r = j["tables"][0]["rows"][0];
  EXPECT_EQ(r["size"], 64);
  EXPECT_EQ(r["out_of_place"]["iterations"]["median_us"], 5.0);
  EXPECT_EQ(r["out_of_place"]["wrong"], 0);
  EXPECT_TRUE(r["in_place"].is_null());
}

}  // namespace
}  // namespace distsim::bench
