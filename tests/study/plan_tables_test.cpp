// The planner of tables: its bounds and its search against every plan of small problems; laws on random tasks; what it
// takes and writes.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <sstream>

#include "base/json/json.hpp"
#include "sanitizers.hpp"
#include "sim/study/plan_tables/plan_tables.hpp"
#include "sim/study/plan_tables/search/greedy_plans.hpp"
#include "sim/study/plan_tables/search/lower_bound.hpp"
#include "sim/study/plan_tables/search/search_plan.hpp"
#include "sim/study/plan_tables/search/tight_bound.hpp"
#include "sim/workload/placement/placement_file.hpp"
#include "table_tasks.hpp"

namespace distsim::study {
namespace {

using workload::TableSharding;

TableChoice choice(TableSharding sharding, Spread spread, std::uint32_t shards, double seconds,
                   std::int64_t memory = 0) {
  TableChoice c{.sharding = sharding, .spread = spread, .shards = shards, .columns = 1};
  c.each = {{.lookup = seconds}, seconds, {seconds, 0}, memory};
  c.last = c.each;
  return c;
}
TableChoice whole(double seconds, std::int64_t memory = 0) {
  return choice(TableSharding::table_wise, Spread::ranks, 1, seconds, memory);
}

/// The level of the best of all plans: every choice on every set of places.
double best_of_all(const TableProblem& problem) {
  double best = 1e30;
  Packing packing{std::vector<std::uint32_t>(problem.tables.size()),
                  std::vector<std::vector<std::uint32_t>>(problem.tables.size()), 0};
  const std::function<void(std::size_t)> place = [&](std::size_t t) {
    if (t == problem.tables.size()) {
      const RankLoads loads = loads_of(problem, packing);
      if (*std::max_element(loads.memory.begin(), loads.memory.end()) <= problem.memory)
        best = std::min(best, loads.most());
      return;
    }
    for (std::uint32_t c = 0; c < problem.tables[t].size(); ++c) {
      const TableChoice& chosen = problem.tables[t][c];
      packing.choice[t] = c;
      const std::uint32_t places = chosen.spread == Spread::ranks ? problem.ranks() : problem.nodes;
      for (std::uint32_t set = 0; set < 1u << places; ++set) {
        if (chosen.spread == Spread::everywhere && set > 0) break;
        packing.places[t].clear();
        for (std::uint32_t p = 0; p < places; ++p) {
          if (set >> p & 1) packing.places[t].push_back(p);
        }
        if (chosen.spread == Spread::everywhere || packing.places[t].size() == chosen.shards) place(t + 1);
      }
    }
  };
  place(0);
  return best;
}

TEST(LowerBound, HandWorked) {
  // 3 and 1 on two ranks: the mean is 2, but the first table is 3 wherever it is.
  TableProblem p{1, 2, 100, {{whole(3)}, {whole(1)}}};
  EXPECT_NEAR(*lower_bound(p), 3, 1e-9);
  // Halves of 1.6 bring its work to 3.2: (3.2 + 1) / 2.
  p.tables[0].push_back(choice(TableSharding::column_wise, Spread::ranks, 2, 1.6));
  EXPECT_NEAR(*lower_bound(p), 2.1, 1e-9);
  EXPECT_NEAR(*relaxation(p, 3), 2, 1e-9);
  EXPECT_FALSE(relaxation(p, 0.5).has_value());
}

TEST(LowerBound, PricesMemory) {
  // Two tables that are fast with 60 bytes and slow with 20, on one rank of 100: one of the four quarters is slow.
  const std::vector<TableChoice> table{whole(1, 60), whole(3, 20)};
  EXPECT_NEAR(*lower_bound(TableProblem{1, 1, 100, {table, table}}), 1.5 + 1.5, 1e-6);
  EXPECT_FALSE(lower_bound(TableProblem{1, 1, 39, {table, table}}).has_value());
}

TEST(TightBound, SeesThatTwoLongShardsDoNotShareARank) {
  // Three of 6 on two ranks: 9 by their mean, 12 in truth.
  const TableProblem p{1, 2, 100, {{whole(6)}, {whole(6)}, {whole(6)}}};
  EXPECT_NEAR(*lower_bound(p), 9, 1e-9);
  EXPECT_NEAR(tight_bound(p, 9, 12), 12, 0.01);
  // A table of every rank lies beside a long shard of another.
  const TableProblem q{1, 2, 100, {{whole(6)}, {choice(TableSharding::data_parallel, Spread::everywhere, 1, 2)}}};
  EXPECT_NEAR(*lower_bound(q), 6, 1e-9);
  EXPECT_NEAR(tight_bound(q, 6, 8), 8, 0.05);
}

TEST(PlanTables, BoundsAndSearchHoldAgainstEveryPlan) {
  Random random(7);
  double worst = 0;
  for (int trial = 0; trial < test::samples(60); ++trial) {
    TableProblem p{2, 2, 100, {}};
    for (int t = 0; t < 5; ++t) {
      const double work = 1 + 9 * random.uniform();
      const auto bytes = static_cast<std::int64_t>(10 + random.below(50));
      auto& choices = p.tables.emplace_back();
      choices.push_back(whole(work, bytes));
      choices.push_back(choice(TableSharding::column_wise, Spread::ranks, 2, 0.55 * work, bytes / 2));
      if (random.below(2) == 0)
        choices.push_back(choice(TableSharding::table_row_wise, Spread::nodes, 1, 0.6 * work, bytes / 2));
      if (random.below(2) == 0)
        choices.push_back(choice(TableSharding::row_wise, Spread::everywhere, 1, 0.3 * work, bytes / 4));
    }
    const double best = best_of_all(p);
    const auto linear = lower_bound(p);
    ASSERT_TRUE(linear.has_value());
    const TableSearch found = search_plan(p, *linear, kShortSearch / 8);
    ASSERT_TRUE(found.packing.has_value());
    const double tight = tight_bound(p, *linear, found.packing->most);
    EXPECT_LE(*linear, tight);
    EXPECT_LE(tight, best * (1 + 1e-9)) << trial;
    EXPECT_GE(found.packing->most, best * (1 - 1e-9)) << trial;
    EXPECT_NEAR(loads_of(p, *found.packing).most(), found.packing->most, 1e-9);
    worst = std::max(worst, found.packing->most / best - 1);
  }
  EXPECT_LT(worst, 0.01);
}

struct Planned {
  config::Experiment experiment;
  TablesPlan plan;
};
Planned tables_planned(const test::TableTask& task, const PlanTablesOptions& options = {}) {
  pipeline::CostModelCache cache;
  Planned out{test::experiment_of(test::text_of(task)), {}};
  auto plan = search_tables(out.experiment, options, cache);
  CHECK(plan.ok()) << plan.error().text();
  out.plan = std::move(plan).value();
  return out;
}

TEST(PlanTables, LawsOnRandomTasks) {
  const std::uint64_t seeds = test::has_address_sanitizer() ? 1 : 3;
  double below = 0;
  int tasks = 0;
  for (const auto& dims : {test::kNeuroShardDims, test::kDreamShardDims}) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      const auto [experiment, plan] =
          tables_planned({.tables = 100, .seed = seed, .dims = dims, .more = "    embedding_dtype: fp16\n"});
      EXPECT_LE(plan.linear_bound, plan.bound);
      EXPECT_LE(plan.bound, plan.packing.most * (1 + 1e-9));
      EXPECT_LE(plan.gap(), 0.02);
      double greedy = 1e30;
      for (const GreedyRow& g : plan.greedy) greedy = std::min(greedy, g.most.value_or(1e30));
      EXPECT_LE(plan.packing.most, greedy);
      below += 1 - plan.packing.most / greedy;
      ++tasks;
      const RankLoads loads = loads_of(plan.problem, plan.packing);
      EXPECT_LE(*std::max_element(loads.memory.begin(), loads.memory.end()), plan.problem.memory);
      // Every table is placed once, as the workload counts, and fits as it counts memory.
      pipeline::CostModelCache cache;
      const auto placed = with_placement(experiment, placement_of(plan.problem, plan.tables, plan.packing));
      const auto placement =
          workload::place_tables(placed.model.as<workload::DlrmSpec>(), placed.model.parallel.tables, {8, 1, 0});
      ASSERT_TRUE(placement.ok()) << placement.error().text();
      std::vector<std::int64_t> cells(100, 0);
      for (const std::uint32_t t : placement->replicated) cells[t] += plan.tables[t].rows * plan.tables[t].dim;
      for (const std::uint32_t set : placement->set_of_rank) {
        for (const auto& s : placement->sets[set].shards) cells[s.table] += s.rows * s.dim;
      }
      for (std::size_t t = 0; t < cells.size(); ++t) EXPECT_EQ(cells[t], plan.tables[t].rows * plan.tables[t].dim);
      EXPECT_TRUE(pipeline::fixed_work_of(placed).ok());
    }
  }
  EXPECT_GE(below / tasks, 0.03);
}

TEST(PlanTables, TheSameTwiceIsTheSame) {
  const int tables = test::has_address_sanitizer() ? 20 : 60;
  const auto a = tables_planned({.tables = tables, .nodes = 2}).plan,
             b = tables_planned({.tables = tables, .nodes = 2}).plan;
  EXPECT_EQ(placement_of(a.problem, a.tables, a.packing), placement_of(b.problem, b.tables, b.packing));
  EXPECT_EQ(a.packing.most, b.packing.most);
}

std::string write(const std::string& name, const std::string& text) {
  const std::string path = (std::filesystem::temp_directory_path() / name).string();
  std::ofstream(path) << text;
  return path;
}

TEST(PlanTables, WhatIsWrittenReadsBackAndPlaysTheSame) {
  const int count = test::has_address_sanitizer() ? 8 : 30;
  const test::TableTask task{.tables = count, .nodes = 2, .gpus_per_node = 4, .dims = test::kNeuroShardDims};
  const auto experiment = test::experiment_of(test::text_of(task));
  pipeline::CostModelCache cache;
  const auto plan = plan_tables(experiment, {}, cache);
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  ASSERT_TRUE(plan->chosen.has_value());
  const PlayedPlan& winner = plan->played[plan->winner];
  for (const PlayedPlan& p : plan->played) {
    if (p.figures && !p.changes_numbers) {
      EXPECT_GE(p.figures->iteration, winner.figures->iteration) << p.name;
    }
  }
  const std::string csv = placement_csv(*plan);
  std::istringstream in(csv);
  const auto read = workload::read_placement(in, "plan");
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(*read, plan->placement);

  // As a user would: by the file, with the settings that go with it.
  std::vector<std::string> sets = winner.sets;
  sets.push_back("parallel.placement_file=" + write("distsim_plan_tables_test.csv", csv));
  const auto again = test::experiment_of(test::text_of(task), sets);
  const auto work = pipeline::fixed_work_of(again);
  ASSERT_TRUE(work.ok()) << work.error().text();
  EXPECT_EQ(pipeline::predict_figures(again, cache, *work)->iteration, winner.figures->iteration);

  const auto json = nlohmann::json::parse(sharding_plan_json(*plan));
  const auto& tables = json["plan"]["sparse_arch.embedding_bag_collection"];
  ASSERT_EQ(tables.size(), static_cast<std::size_t>(count));
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const auto& entry = tables["table_" + std::to_string(t)];
    if (entry["sharding_spec"].is_null()) continue;
    std::int64_t cells = 0;
    for (const auto& shard : entry["sharding_spec"]["shards"])
      cells += shard["shard_sizes"][0].get<std::int64_t>() * shard["shard_sizes"][1].get<std::int64_t>();
    EXPECT_EQ(cells, plan->tables[t].rows * plan->tables[t].dim);
  }
  EXPECT_NE(describe(*plan).find("as configured"), std::string::npos);
}

/// With sanitizers the smaller one.
TEST(PlanTables, PublishedModelsAreNoSlowerThanTheirPublishedPlans) {
  for (const char* text : {"cluster: {system: dgx_h100}\nmodel: {name: dlrm_dcnv2_mlperf, global_batch: 55296}\n"
                           "framework: {name: hugectr}\n",
                           "cluster: {system: dgx_a100_80gb}\nmodel: {name: tfde_synthetic_tiny}\n"
                           "framework: {name: tf2_distributed_embeddings}\n"}) {
    if (test::has_address_sanitizer() && std::string_view(text).find("dcnv2") != std::string_view::npos) continue;
    pipeline::CostModelCache cache;
    const auto plan = plan_tables(test::experiment_of(text), {}, cache);
    ASSERT_TRUE(plan.ok()) << plan.error().text();
    const auto own = std::find_if(plan->played.begin(), plan->played.end(),
                                  [](const PlayedPlan& p) { return p.name == "as configured" && p.sets.empty(); });
    ASSERT_NE(own, plan->played.end());
    EXPECT_LT(plan->played[plan->winner].figures->iteration, own->figures->iteration);
  }
}

TEST(TableConstraints, AreHeeded) {
  const std::string file = write("distsim_constraints_test.csv",
                                 "table,sharding_types,min_partition\n0-19,column_wise table_wise,\n3,row_wise,\n"
                                 "20-29,column_wise,64\n");
  const test::TableTask task{.tables = 30, .dims = {128, 256}};
  const auto plan = tables_planned(task, {.constraints_file = file}).plan;
  for (std::size_t t = 0; t < 30; ++t) {
    const TableChoice& c = plan.problem.tables[t][plan.packing.choice[t]];
    if (t == 3) {
      EXPECT_EQ(c.sharding, TableSharding::row_wise);
    } else if (t < 20) {
      EXPECT_TRUE(c.sharding == TableSharding::table_wise || c.sharding == TableSharding::column_wise);
    } else {
      EXPECT_EQ(c.sharding, TableSharding::column_wise);
      EXPECT_GE(c.columns, 64);
    }
  }
}

// The experiment's own placement is chosen where it is the fastest and keeps to the constraints, and named where it does not.
TEST(TableConstraints, TheOwnPlacementIsHeldToThem) {
  const config::Experiment e = test::experiment_of(
      "cluster: {system: dgx_a100_80gb}\n"
      "model: {kind: dlrm, global_batch: 4096, dlrm: {tables: [{rows: 1000000, count: 8}], embedding_dim: 128, bottom_mlp: "
      "[256, 128]}, parallel: {sharding: column_wise}}\nframework: {name: torchrec}\n");
  for (const auto& [kind, least, kept] : {std::tuple{"column_wise", "", KeepsConstraints::yes},
                                          {"column_wise", "64", KeepsConstraints::no},
                                          {"row_wise", "", KeepsConstraints::no},
                                          {"", "", KeepsConstraints::yes}}) {
    const std::string file = write("distsim_constraints_own_test.csv",
                                   "table,sharding_types,min_partition\n0-7," + std::string(kind) + "," + least + "\n");
    pipeline::CostModelCache cache;
    const auto plan = plan_tables(e, {.constraints_file = file}, cache);
    ASSERT_TRUE(plan.ok()) << kind << " " << plan.error().text();
    const auto own = std::ranges::find_if(
        plan->played, [](const PlayedPlan& p) { return p.name == "as configured" && p.sets.empty(); });
    ASSERT_NE(own, plan->played.end());
    EXPECT_EQ(own->keeps_constraints, kept) << kind << " " << least;
    const PlayedPlan& winner = plan->played[plan->winner];
    if (kept == KeepsConstraints::yes) {
      EXPECT_LE(winner.figures->iteration, own->figures->iteration);
    } else {
      EXPECT_NE(&winner, &*own);
    }
  }
}

TEST(TableConstraints, RefuseInOneLine) {
  const std::vector<workload::ModelTable> tables(10, {1000, 64});
  const auto refusal = [&](const std::string& text) {
    std::istringstream in(text);
    const auto read = read_constraints(in, "c.csv", tables);
    return read.ok() ? "accepted" : read.error().text();
  };
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  };
  EXPECT_EQ(refusal("table,sharding_types\n0-9,row_wise\n"), "accepted");
  EXPECT_EQ(refusal("table,sharding_types\n0-4,grid_shard\n5-9,grid\n"), "accepted");
  has(refusal("table,sharding_type\n0,row_wise\n"), "did you mean 'sharding_types'");
  has(refusal("table,sharding_types\n0,row_wide\n"), "c.csv:2: sharding_types: found 'row_wide'");
  has(refusal("table,sharding_types\n10,row_wise\n"), "c.csv:2: table: found '10'");
  has(refusal("table,sharding_types\n5-2,row_wise\n"), "table: found '5-2'");
  has(refusal("table,min_partition\n0,48\n"), "c.csv:2: min_partition: found 48, expected a divisor of the 64 columns");
  has(refusal("table,min_partition\n0,0\n"), "min_partition: found '0'");
  has(refusal("table,compute_kernels\n0,fused_uvm\n"), "compute_kernels: found 'fused_uvm'");
  has(refusal("table,device_group\n0,cpu\n"), "device_group: found 'cpu'");
  has(refusal("table,sharding_types\n0,row_wise\n0,column_wise\n"), "c.csv:3: sharding_types: found a second one");
  EXPECT_EQ(refusal("table,sharding_types\n0-9,row_wise\n0,column_wise\n"), "accepted");
  has(refusal("table,sharding_types,compute_kernels\n0,row_wise,\n0,,dense\n"), "c.csv:3: compute_kernels: found none");
  has(refusal("table,sharding_types\n0-3,table_wise\n0-9,row_wise\n"),
      "c.csv:2: sharding_types: found 'table_wise', which later lines replace for all its tables");
  has(refusal("table,sharding_types,min_partition\n0-3,table_wise,32\n"),
      "c.csv:2: min_partition: found 32, expected it where");
  EXPECT_EQ(refusal("table,sharding_types,min_partition\n0-3,table_wise column_wise,32\n"), "accepted");
}

TEST(PlanTables, SaysWhatWouldFit) {
  pipeline::CostModelCache cache;
  const auto refusal = [&](const std::string& tables, const std::string& constraints) {
    const auto e = test::experiment_of(
        "cluster: {system: dgx_a100_80gb}\nmodel:\n  kind: dlrm\n  global_batch: 8192\n  precision: fp32\n"
        "  dlrm: {interaction: concat, embedding_dim: 64, tables: [" +
        tables + "]}\nframework: {name: torchrec}\n");
    PlanTablesOptions options;
    if (!constraints.empty()) options.constraints_file = write("distsim_constraints_fit_test.csv", constraints);
    const auto plan = search_tables(e, options, cache);
    return plan.ok() ? "accepted" : plan.error().text();
  };
  EXPECT_NE(refusal("{rows: 40000000, count: 100}", "").find("fits on 2 nodes"), std::string::npos);
  EXPECT_NE(refusal("{rows: 20000000, count: 140}", "").find("embedding_dtype: fp16"), std::string::npos);
  const std::string copies = refusal("{rows: 40000000, count: 100}", "table,sharding_types\n0-99,data_parallel\n");
  EXPECT_NE(copies.find("fits on no number of nodes"), std::string::npos) << copies;
  const std::string large = refusal("{rows: 1000000000}", "table,sharding_types\n0,table_wise\n");
  EXPECT_NE(large.find("a GPU for table 0"), std::string::npos) << large;
  EXPECT_NE(refusal("{rows: 10}", "table,sharding_types\n0,grid\n").find("found none that table 0 can have"),
            std::string::npos);
  EXPECT_EQ(refusal("{rows: 1000000000}", ""), "accepted");
}

}  // namespace
}  // namespace distsim::study
