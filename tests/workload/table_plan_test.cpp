// Plans for every table: files of them, and what each sharding moves and holds, worked out by hand.
#include <gtest/gtest.h>

#include <sstream>

#include "sim/workload/dlrm/dlrm_spec.hpp"
#include "sim/workload/graph/exchange.hpp"
#include "sim/workload/placement/placement_file.hpp"
#include "sim/workload/registry.hpp"
#include "sim/workload/workload.hpp"
#include "tasks_by_name.hpp"

namespace distsim::workload {
namespace {

using Sizes = std::vector<std::int64_t>;

constexpr const char* kHeader = "table,sharding,ranks,rows,columns\n";

TablePlans plans_of(const std::string& lines) {
  std::istringstream in(kHeader + lines);
  auto plans = read_placement(in, "plan.csv");
  CHECK(plans.ok()) << plans.error().text();
  return std::move(plans).value();
}

DlrmSpec recommender(const Sizes& rows) {
  DlrmSpec spec;
  spec.embedding_dim = 64;
  spec.bottom_mlp = {64};
  spec.top_mlp = {16, 1};
  for (const std::int64_t r : rows) spec.tables.push_back({.rows = r});
  return spec;
}

struct Planned {
  DlrmSpec spec;
  TableSplit split;
};

/// Two nodes of two GPUs; tables of 64 elements.
Planned spec_of(const Sizes& rows, const std::string& lines) { return {recommender(rows), {.plans = plans_of(lines)}}; }

constexpr PlacementBudget kFour{4, 2, 1'000'000'000};

Placement placed(const Planned& p) {
  auto placement = place_tables(p.spec, p.split, kFour);
  CHECK(placement.ok()) << placement.error().text();
  return std::move(placement).value();
}

std::string refusal_of_plan(const Sizes& rows, const std::string& lines) {
  std::istringstream in(kHeader + lines);
  auto plans = read_placement(in, "plan.csv");
  if (!plans.ok()) return plans.error().text();
  const auto placement = place_tables(recommender(rows), {.plans = std::move(plans).value()}, kFour);
  return placement.ok() ? "accepted" : placement.error().text();
}

Workload built_plan(const Planned& planned, const FrameworkSpec& f = {}) {
  ModelSpec m;
  m.family = find_family("dlrm");
  m.global_batch = 40;
  m.precision = Precision::fp32;
  m.as<DlrmSpec>() = planned.spec;
  m.parallel.tables = planned.split;
  auto w = build_workload(m, f, {2, 2, Bytes(40'000'000'000)});
  CHECK(w.ok()) << w.error().text();
  return std::move(w).value();
}

// 40 samples, 10 on each rank; a vector is 64 x 4 = 256 bytes.

TEST(TablePlan, TableAndColumnWiseVectorsTravelAsPairs) {
  const Planned spec = spec_of({1000, 2000}, "0,table_wise,1,1000,64\n1,column_wise,0 3,2000,16 48\n");
  const graph::TaskGraph g = built_plan(spec).graph;
  const graph::Collective& c = collective(g, "embedding.exchange");
  // Rank 0 has 16 columns, 1 all 64, 3 has 48: each sends its vectors of 30 samples.
  EXPECT_EQ(c.send_bytes, (Sizes{30 * 16 * 4, 30 * 64 * 4, 0, 30 * 48 * 4}));
  // Each receives for its 10 samples what the others have of the 128 columns.
  EXPECT_EQ(c.recv_bytes, (Sizes{10 * 112 * 4, 10 * 64 * 4, 10 * 128 * 4, 10 * 80 * 4}));
  // Both owners of columns need every id of table 1: rank 0 one id of 30 samples, 8 bytes each.
  EXPECT_EQ(collective(g, "input.distribute").recv_bytes, (Sizes{240, 240, 0, 240}));
  EXPECT_EQ(find(g, "embedding.exchange.rows"), nullptr);
  EXPECT_EQ(find(g, "embedding.sum_row_slices"), nullptr);
}

TEST(TablePlan, RowsOverAllRanksMeetInAReduceScatterBesideThePairs) {
  const Planned spec = spec_of({1000, 2000}, "0,row_wise,0-3,250x4,64\n1,table_wise,2,2000,64\n");
  const graph::TaskGraph g = built_plan(spec).graph;
  const graph::Collective& rows = collective(g, "embedding.exchange.rows");
  EXPECT_EQ(rows.kind, graph::CollectiveKind::reduce_scatter);
  EXPECT_EQ(rows.bytes, 40 * 256);
  EXPECT_EQ(collective(g, "embedding.exchange.dgrad.rows").kind, graph::CollectiveKind::all_gather);
  EXPECT_EQ(collective(g, "embedding.exchange").send_bytes, (Sizes{0, 0, 30 * 256, 0}));
  // A quarter of table 0's ids, and on rank 2 all of table 1's: 30 samples x 0.25 (or 1.25) x 8 bytes.
  EXPECT_EQ(collective(g, "input.distribute").recv_bytes, (Sizes{60, 60, 300, 60}));
}

TEST(TablePlan, RowsOverSomeRanksAreAddedUpWhereTheyArrive) {
  const Planned spec = spec_of({1000}, "0,row_wise,0 1 3,400 300x2,64\n");
  const graph::TaskGraph g = built_plan(spec).graph;
  EXPECT_EQ(collective(g, "embedding.exchange").send_bytes, (Sizes{30 * 256, 30 * 256, 0, 30 * 256}));
  const graph::Task* sum = find(g, "embedding.sum_row_slices");
  ASSERT_NE(sum, nullptr);  // two partial sums beyond the vector, of 10 samples
  EXPECT_EQ(std::get<graph::Elementwise>(g.ops[sum->first_op]).elements, 10 * 2 * 64);
}

TEST(TablePlan, RowsOfANodeMeetWithinItAndCrossAlongRails) {
  const Planned spec = spec_of({1000, 500}, "0,table_row_wise,2 3,500x2,64\n1,grid,0-3,250x2,16 48\n");
  const Placement p = placed(spec);
  EXPECT_EQ(p.node_widths(2, Meeting::in_node), (Sizes{16, 64 + 48}));
  const graph::TaskGraph g = built_plan(spec).graph;
  EXPECT_EQ(find(g, "embedding.exchange"), nullptr);
  const graph::Collective& inside = collective(g, "embedding.exchange.in_node");
  EXPECT_EQ(inside.kind, graph::CollectiveKind::reduce_scatter);
  EXPECT_EQ(inside.bytes, 40 * 112 * 4);  // all samples, the wider node
  // A GPU sends its 10 samples' counterpart on the other node what its node has, and gets the other's.
  const graph::Collective& across = collective(g, "embedding.exchange.across");
  EXPECT_EQ(across.send_bytes, (Sizes{10 * 16 * 4, 10 * 112 * 4}));
  EXPECT_EQ(across.recv_bytes, (Sizes{10 * 112 * 4, 10 * 16 * 4}));
  EXPECT_EQ(collective(g, "embedding.exchange.dgrad.in_node").kind, graph::CollectiveKind::all_gather);
  EXPECT_EQ(collective(g, "embedding.exchange.dgrad.across").send_bytes, across.recv_bytes);
  EXPECT_EQ(find(g, "embedding.sum_row_slices"), nullptr);
}

TEST(TablePlan, OnOneNodeRowsOfTheNodeAreRowsOfAll) {
  const Planned spec = spec_of({1000}, "0,table_row_wise,0-3,250x4,64\n");
  const auto placement = place_tables(spec.spec, spec.split, {4, 1, 1'000'000'000});
  ASSERT_TRUE(placement.ok());
  EXPECT_TRUE(placement->any(Meeting::everywhere));
  EXPECT_FALSE(placement->any(Meeting::in_node));
}

TEST(TablePlan, CopiesAreReducedWithTheDenseGradients) {
  const Planned spec = spec_of({1000, 2000}, "0,data_parallel,0-3,1000,64\n1,table_wise,0,2000,64\n");
  const graph::TaskGraph g = built_plan(spec).graph;
  // Bottom 13 x 64 + 64; dot of 3 vectors: 3 pairs and 64 -> 16 -> 1; and the table.
  const std::int64_t dense = 13 * 64 + 64 + (3 + 64) * 16 + 16 + 16 + 1;
  EXPECT_EQ(collective(g, "gradients.bucket0.all_reduce").bytes, (dense + 1000 * 64) * 4);
  EXPECT_EQ(collective(g, "embedding.exchange").send_bytes, (Sizes{30 * 256, 0, 0, 0}));
}

TEST(TablePlan, MemoryIsThatOfTheShards) {
  const Planned spec = spec_of({1000, 2000, 4000},
                               "0,data_parallel,0-3,1000,64\n1,column_wise,0 3,2000,16 48\n2,table_row_wise,2 3,"
                               "3000 1000,64\n");
  const Placement p = placed(spec);
  const auto bytes = [&](std::size_t rank) { return p.sets[p.set_of_rank[rank]].bytes; };
  EXPECT_EQ(bytes(0), 2000 * 16 * 4);
  EXPECT_EQ(bytes(1), 0);
  EXPECT_EQ(bytes(2), 3000 * 64 * 4);
  EXPECT_EQ(bytes(3), 2000 * 48 * 4 + 1000 * 64 * 4);
  EXPECT_EQ(p.replicated_bytes, 1000 * 64 * 4);
  const std::vector<RankMemory> memory = built_plan(spec).memory;
  EXPECT_EQ(memory[2].embeddings - memory[1].embeddings, 3000 * 256);
  // Vectors to send of 40 samples, the node's sums of 20, three quarters of an id each.
  EXPECT_EQ(memory[2].buffers - memory[1].buffers, 40 * 256 + 20 * 256 + 30 * 8);
}

TEST(TablePlan, HierarchicalExchangeTakesAnyPlan) {
  FrameworkSpec f;
  f.embedding.exchange = EmbeddingExchange::hierarchical;
  const Planned spec = spec_of({1000, 500}, "0,row_wise,0-3,250x4,64\n1,table_wise,3,500,64\n");
  const graph::TaskGraph g = built_plan(spec, f).graph;
  // Both nodes have sums of table 0, node 1 also table 1.
  EXPECT_EQ(collective(g, "embedding.exchange").send_bytes, (Sizes{10 * 256, 10 * 512}));
}

TEST(PlacementFile, WhatIsWrittenReadsBack) {
  const TablePlans plans =
      plans_of("1,grid,0-3 4 5,250x2,16 48x2\n0,row_wise,0 2-4,400 200x3,64\n2,data_parallel,0-15,10,64\n");
  std::string text = kHeader;
  for (std::size_t t = 0; t < plans.tables.size(); ++t) {
    std::string line;
    for (const std::string& field : placement_fields(t, plans.tables[t])) line += (line.empty() ? "" : ",") + field;
    text += line + "\n";
  }
  EXPECT_EQ(text, std::string(kHeader) +
                      "0,row_wise,0 2-4,400 200x3,64\n1,grid,0-5,250x2,16 48x2\n2,data_parallel,0-15,10,64\n");
}

TEST(PlacementFile, RefusesInOneLineWithItsPlace) {
  const Sizes two{1000, 2000};
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  };
  const std::string first = "0,table_wise,0,1000,64\n";
  EXPECT_EQ(refusal_of_plan(two, first + "1,table_wise,3,2000,64\n"), "accepted");
  has(refusal_of_plan(two, first), "plan.csv: table: found 1 table, expected the model's 2");
  has(refusal_of_plan(two, first + "2,table_wise,3,2000,64\n"), "found none with number 1");
  has(refusal_of_plan(two, first + first), "plan.csv:3: table: found 0 again");
  has(refusal_of_plan(two, first + "1,table_wize,3,2000,64\n"), "did you mean 'table_wise'");
  has(refusal_of_plan(two, first + "1,table_wise,4,2000,64\n"), "plan.csv:3: ranks: found rank 4, expected 0 .. 3");
  has(refusal_of_plan(two, first + "1,table_wise,0 1,2000,64\n"), "found 2 ranks for table_wise table 1, expected one");
  has(refusal_of_plan(two, first + "1,column_wise,1 1,2000,32x2\n"), "found rank 1 twice");
  has(refusal_of_plan(two, first + "1,column_wise,0 1,2000,32 16\n"),
      "columns: found 48 in all, expected the 64 of table 1");
  has(refusal_of_plan(two, first + "1,column_wise,0 1,2000,32x3\n"), "columns: found 3 sizes");
  has(refusal_of_plan(two, first + "1,column_wise,0 1,2000,64 0\n"), "columns: found 0");
  has(refusal_of_plan(two, first + "1,row_wise,0-3,600x4,64\n"), "rows: found more than 2000 in all");
  has(refusal_of_plan(two, first + "1,table_row_wise,1 2,1000x2,64\n"), "the 2 GPUs of one node, in order");
  has(refusal_of_plan(two, first + "1,grid,0 1 2,1000x2,32x2\n"), "all GPUs of each of its nodes");
  has(refusal_of_plan(two, first + "1,data_parallel,0-2,2000,64\n"), "expected all 4");
  has(refusal_of_plan(two, first + "1,row_wise,3-0,1000x2,64\n"), "plan.csv:3: ranks: found '3-0'");
  has(refusal_of_plan(two, first + "1,row_wise,0 1,1e3x2,64\n"), "rows: found '1e3x2'");
  has(refusal_of_plan(two, first + "1,row_wise,0-99999999,1000x2,64\n"), "ranks: found '0-99999999'");
  has(refusal_of_plan(two, first + "1,row_wise,0 1,9000000000000x2,64\n"), "rows: found more than 2000");
  has(refusal_of_plan(two, first + "1,row_wise,0 1,01000x2,64\n"), "rows: found '01000x2'");
  has(refusal_of_plan(two, first + "01,table_wise,3,2000,64\n"), "write it without zeros in front: 1");
  has(refusal_of_plan(two, first + "-1,table_wise,0,2000,64\n"), "table: found '-1'");
}

}  // namespace
}  // namespace distsim::workload
