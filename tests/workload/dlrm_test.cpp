// A recommender's iteration: conservation of bytes, rows and operations; shape of the graph; errors.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <numeric>

#include "sim/workload/dlrm/dlrm_spec.hpp"
#include "sim/workload/graph/exchange.hpp"
#include "sim/workload/models/mlp.hpp"
#include "sim/workload/registry.hpp"
#include "sim/workload/workload.hpp"
#include "tasks_by_name.hpp"

namespace distsim::workload {
namespace {

ModelSpec small_model() {
  ModelSpec m;
  m.family = find_family("dlrm");
  m.global_batch = 1024;
  m.precision = Precision::fp32;
  m.as<DlrmSpec>().embedding_dim = 64;
  m.as<DlrmSpec>().bottom_mlp = {128, 64};
  m.as<DlrmSpec>().top_mlp = {256, 1};
  for (const std::int64_t rows : {1000, 2000, 3000, 500, 700}) m.as<DlrmSpec>().tables.push_back({rows});
  return m;
}

ClusterShape cluster(std::uint32_t nodes, std::uint32_t gpus, std::int64_t gigabytes = 40) {
  return {nodes, gpus, Bytes(gigabytes * 1'000'000'000)};
}

Workload build(const ModelSpec& m, const ClusterShape& shape, const FrameworkSpec& f = {}) {
  auto w = build_workload(m, f, shape);
  EXPECT_TRUE(w.ok()) << w.error().text();
  return std::move(w).value();
}

std::int64_t sum(const std::vector<std::int64_t>& v) { return std::accumulate(v.begin(), v.end(), std::int64_t{0}); }

/// Bytes that an exchange moves over all ranks, what stays on a rank included.
std::int64_t moved(const graph::Collective& c, const Placement& p, const SampleSplit& split, std::int64_t element) {
  std::int64_t own = 0;
  for (std::uint32_t r = 0; r < split.ranks; ++r) own += split.of(r) * p.sets[p.set_of_rank[r]].width * element;
  return c.kind == graph::CollectiveKind::all_to_all ? c.bytes * split.ranks : sum(c.send_bytes) + own;
}

TEST(Dlrm, ExchangeMovesBatchTimesTablesTimesDimTimesBytes) {
  for (const std::uint32_t ranks : {2u, 3u, 4u, 5u, 8u}) {
    for (const std::int64_t batch : {1024, 1000, 1001}) {
      DlrmSpec spec = small_model().as<DlrmSpec>();
      const auto placement = place_tables(spec, TableSplit{}, {ranks, 1, 1'000'000'000});
      ASSERT_TRUE(placement.ok());
      ModelSpec m;
      m.global_batch = batch;
      const SampleSplit split = plan_samples(m, ranks)->micro_step(0);
      for (const Direction direction : {Direction::owners_to_samples, Direction::samples_to_owners}) {
        const graph::Collective c = pooled_exchange(*placement, split, graph::DType::fp16, direction);
        EXPECT_EQ(moved(c, *placement, split, 2), batch * 5 * 64 * 2) << ranks << " " << batch;
        EXPECT_EQ(sum(c.send_bytes), sum(c.recv_bytes));
      }
    }
  }
}

TEST(Dlrm, OwnersSendToEveryOtherRank) {
  // Ranks 0 and 1 own tables of 64 and 2 x 64 elements; 10 samples, 5 each; fp32: 0 sends 5 x 64 x 4 = 1280, 1 sends 5
  // x 128 x 4 = 2560.
  DlrmSpec spec = small_model().as<DlrmSpec>();
  TableSplit tables;
  spec.tables.resize(3);
  tables.sharding = Sharding::table_wise;
  tables.placement = {0, 1, 1};
  const auto placement = place_tables(spec, tables, {2, 1, 1'000'000'000});
  ASSERT_TRUE(placement.ok());
  const SampleSplit split{2, 0, 5, 5};
  const graph::Collective forward =
      pooled_exchange(*placement, split, graph::DType::fp32, Direction::owners_to_samples);
  EXPECT_EQ(forward.kind, graph::CollectiveKind::all_to_all_v);
  EXPECT_EQ(forward.send_bytes, (std::vector<std::int64_t>{1280, 2560}));
  EXPECT_EQ(forward.recv_bytes, (std::vector<std::int64_t>{2560, 1280}));
  EXPECT_EQ(forward.bytes, 10 * 128 * 4);  // the largest send buffer
  const graph::Collective backward =
      pooled_exchange(*placement, split, graph::DType::fp32, Direction::samples_to_owners);
  EXPECT_EQ(backward.send_bytes, forward.recv_bytes);
  // Ids, 8 bytes: 0 sends 5 samples x 2 tables, 1 sends 5 samples x 1 table.
  EXPECT_EQ(id_exchange(*placement, split, 8).send_bytes, (std::vector<std::int64_t>{80, 40}));
}

TEST(Dlrm, EqualShardsTravelAsPlainAllToAll) {
  DlrmSpec spec = small_model().as<DlrmSpec>();
  spec.tables = {{1000}, {1000}, {1000}, {1000}};
  const auto placement = place_tables(spec, TableSplit{}, {4, 1, 1'000'000'000});
  const graph::Collective c =
      pooled_exchange(*placement, SampleSplit{4, 0, 8, 8}, graph::DType::fp32, Direction::owners_to_samples);
  EXPECT_EQ(c.kind, graph::CollectiveKind::all_to_all);
  EXPECT_EQ(c.bytes, 32 * 64 * 4);  // 32 samples of one table
}

TEST(Dlrm, EveryRowAndColumnIsPlacedOnce) {
  for (const Sharding sharding : {Sharding::planner, Sharding::row_wise, Sharding::column_wise}) {
    for (const std::uint32_t ranks : {1u, 2u, 3u, 7u, 64u, 600u}) {
      DlrmSpec spec = small_model().as<DlrmSpec>();
      TableSplit split;
      split.sharding = sharding;
      spec.tables[0].pooling_factor = 40;
      split.column_wise_above = Bytes(400'000);
      const auto placement = place_tables(spec, split, {ranks, 1, 1'000'000'000});
      ASSERT_TRUE(placement.ok());
      std::map<std::uint32_t, std::int64_t> cells;
      std::map<std::uint32_t, double> ids;
      for (const std::uint32_t set : placement->set_of_rank) {
        for (const Shard& s : placement->sets[set].shards) {
          cells[s.table] += s.rows * s.dim;
          ids[s.table] += s.pooling_factor * static_cast<double>(s.dim) / 64;
        }
      }
      for (std::uint32_t t = 0; t < 5; ++t) {
        EXPECT_EQ(cells[t], spec.tables[t].rows * 64) << "table " << t << " on " << ranks;
        EXPECT_NEAR(ids[t], spec.tables[t].pooling_factor, 1e-9);
      }
    }
  }
}

TEST(Dlrm, RowWiseMeetsInReduceScatter) {
  ModelSpec m = small_model();
  m.parallel.tables.sharding = Sharding::row_wise;
  const Workload w = build(m, cluster(1, 4));
  EXPECT_EQ(collective(w.graph, "embedding.exchange").kind, graph::CollectiveKind::reduce_scatter);
  EXPECT_EQ(collective(w.graph, "embedding.exchange").bytes, 1024 * 5 * 64 * 4);
  EXPECT_EQ(collective(w.graph, "embedding.exchange.dgrad").kind, graph::CollectiveKind::all_gather);
}

TEST(Dlrm, ReplicatedTablesNeedNoExchangeAndAreReduced) {
  ModelSpec m = small_model();
  m.parallel.tables.sharding = Sharding::data_parallel;
  const Workload w = build(m, cluster(1, 4));
  EXPECT_EQ(find(w.graph, "embedding.exchange"), nullptr);
  std::int64_t reduced = 0;
  for (const graph::Op& op : w.graph.ops) {
    if (const auto* c = std::get_if<graph::Collective>(&op)) reduced += c->bytes;
  }
  EXPECT_EQ(reduced, 4 * (w.dense_parameters + 7200 * 64));
}

TEST(Dlrm, SmallTablesAreReplicatedBesideTablesSplitByRows) {
  // 64 x 4 bytes a row: tables of 500 and 700 rows are below 200 kB. 4 ranks, 1024 samples.
  ModelSpec m = small_model();
  m.parallel.tables.sharding = Sharding::row_wise;
  m.parallel.tables.data_parallel_below = Bytes(200'000);
  const Workload w = build(m, cluster(1, 4));
  EXPECT_EQ(collective(w.graph, "embedding.exchange").kind, graph::CollectiveKind::reduce_scatter);
  EXPECT_EQ(collective(w.graph, "embedding.exchange").bytes, 1024 * 3 * 64 * 4) << "pooled vectors of three tables";
  EXPECT_EQ(collective(w.graph, "embedding.exchange.dgrad").bytes, 1024 * 3 * 64 * 4);
  std::int64_t reduced = 0;
  for (const graph::Op& op : w.graph.ops) {
    if (const auto* c = std::get_if<graph::Collective>(&op); c && c->kind == graph::CollectiveKind::all_reduce)
      reduced += c->bytes;
  }
  EXPECT_EQ(reduced, 4 * (w.dense_parameters + 1200 * 64)) << "gradients of both others";
  // Ids go only to the owners of rows: of 256 samples and three tables, three quarters to other ranks.
  EXPECT_EQ(sum(collective(w.graph, "input.distribute").send_bytes) +
                collective(w.graph, "input.distribute").bytes * 4 *
                    (collective(w.graph, "input.distribute").send_bytes.empty() ? 1 : 0),
            1024 * 3 * 8);
  EXPECT_NE(find(w.graph, "embedding.replicated"), nullptr);
  EXPECT_EQ(w.memory.at(0).embeddings, (6000 / 4 + 1200) * 64 * 4);
}

TEST(Dlrm, HybridOfReplicatedAndSplitTablesPlacesEveryRowOnce) {
  for (const Sharding sharding : {Sharding::planner, Sharding::row_wise, Sharding::column_wise}) {
    for (const std::int64_t below : {0, 200'000, 600'000, 10'000'000}) {
      DlrmSpec spec = small_model().as<DlrmSpec>();
      TableSplit split;
      split.sharding = sharding;
      split.data_parallel_below = Bytes(below);
      split.row_wise_above = Bytes(1);
      const auto placement = place_tables(spec, split, {6, 1, 1'000'000'000});
      ASSERT_TRUE(placement.ok());
      std::map<std::uint32_t, std::int64_t> cells;
      for (const std::uint32_t set : placement->set_of_rank) {
        for (const Shard& s : placement->sets[set].shards) cells[s.table] += s.rows * s.dim;
      }
      for (const std::uint32_t t : placement->replicated) {
        EXPECT_LT(spec.tables[t].rows * 64 * 4, below);
        EXPECT_EQ(cells.count(t), 0u) << "replicated, not split";
        cells[t] = spec.tables[t].rows * 64;
      }
      for (std::uint32_t t = 0; t < 5; ++t) EXPECT_EQ(cells[t], spec.tables[t].rows * 64) << "table " << t;
    }
  }
}

/// Rank 0's table has 100 lookups of 8 bytes a sample, the others' 1; with a batch that does not divide too.
TEST(Dlrm, OwnersThatReadTheirOwnIdsCopyThoseAlone) {
  for (const std::int64_t batch : {1024, 1001}) {
    ModelSpec m = small_model();
    DlrmSpec& spec = m.as<DlrmSpec>();
    spec.tables.resize(3);
    spec.tables.front().pooling_factor = 100;
    m.global_batch = batch;
    m.parallel.tables.sharding = Sharding::table_wise;
    m.parallel.tables.placement = {0, 1, 2};
    m.parallel.tables.distribute_input = false;
    const Workload w = build(m, cluster(1, 4));
    const graph::Task* copy = find(w.graph, "input.copy");
    ASSERT_NE(copy, nullptr);
    const TaskId id(static_cast<std::uint32_t>(copy - &w.graph.tasks[TaskId(0)]));
    const auto bytes = [&](std::uint32_t rank) {
      return std::get<graph::Copy>(w.graph.ops[OpId(copy->first_op.value() + w.graph.variant_of(id, rank))]).bytes;
    };
    constexpr double kIndex = 8;
    const double dense = static_cast<double>(bytes(3)) / static_cast<double>(batch / 4);  // of a rank without tables
    for (std::uint32_t r = 0; r < 3; ++r) {
      const double samples = static_cast<double>(batch / 4 + (r < batch % 4 ? 1 : 0));
      const double ids = kIndex * static_cast<double>(batch) * (r == 0 ? 100 : 1);
      EXPECT_NEAR(static_cast<double>(bytes(r)), samples * dense + ids, 1) << "rank " << r << " of " << batch;
    }
  }
}

TEST(Dlrm, OneRankHasNoCollectives) {
  const Workload w = build(small_model(), cluster(1, 1));
  for (const graph::Op& op : w.graph.ops) EXPECT_FALSE(std::holds_alternative<graph::Collective>(op));
  EXPECT_NE(find(w.graph, "embedding"), nullptr);
}

TEST(Dlrm, RanksWithoutTablesAreAbsent) {
  const Workload w = build(small_model(), cluster(1, 8));
  const graph::Task* lookup = find(w.graph, "embedding");
  ASSERT_NE(lookup, nullptr);
  int absent = 0;
  for (std::uint32_t r = 0; r < 8; ++r) {
    const TaskId id(static_cast<std::uint32_t>(lookup - &*w.graph.tasks.begin()));
    absent +=
        std::holds_alternative<graph::Absent>(w.graph.ops[OpId(lookup->first_op.value() + w.graph.variant_of(id, r))]);
  }
  EXPECT_EQ(absent, 3);  // five tables on eight ranks
  EXPECT_EQ(w.memory.size(), 8u);
}

TEST(Dlrm, LookupsCoverTheGlobalBatch) {
  const Workload w = build(small_model(), cluster(1, 5));
  const graph::Task* lookup = find(w.graph, "embedding");
  const auto& bag = std::get<graph::EmbeddingBag>(w.graph.ops[lookup->first_op]);
  EXPECT_EQ(bag.batch, 1024);
  EXPECT_EQ(bag.tables.size(), 1u);
}

TEST(Dlrm, ModelFlopsFollowTheFormula) {
  // A sample: bottom 2 (13 x 128 + 128 x 64) = 19,712; pairs of 6 vectors 6 x 5 x 64 = 1,920; top 2 ((15 + 64) x 256 +
  // 256) = 40,960.
  const Workload w = build(small_model(), cluster(1, 4));
  EXPECT_DOUBLE_EQ(w.model_flops, 3 * 1024.0 * (19'712 + 1'920 + 40'960));
}

TEST(Dlrm, MlperfHasItsPublishedDenseParameters) {
  ModelSpec m;
  m.family = find_family("dlrm");
  m.global_batch = 1024;
  for (int i = 0; i < 26; ++i) m.as<DlrmSpec>().tables.push_back({1000});
  EXPECT_EQ(build(m, cluster(1, 1)).dense_parameters, 2'368'897);
  m.as<DlrmSpec>().interaction = InteractionKind::dcn_v2;
  EXPECT_EQ(build(m, cluster(1, 1)).dense_parameters, 16'044'545);
}

TEST(Dlrm, ExchangeOverlapsTheBottomMlpOnlyWhereAsked) {
  FrameworkSpec f;
  for (const bool overlap : {true, false}) {
    f.embedding.overlap_exchange = overlap;
    const Workload w = build(small_model(), cluster(1, 4), f);
    TaskId exchange, waiter;
    for (std::uint32_t t = 0; t < w.graph.tasks.size(); ++t) {
      if (w.graph.names[w.graph.tasks[TaskId(t)].name] == "embedding.exchange") exchange = TaskId(t);
      for (const TaskId dep : w.graph.dependencies(TaskId(t))) {
        if (exchange.valid() && dep == exchange && !waiter.valid()) waiter = TaskId(t);
      }
    }
    ASSERT_TRUE(waiter.valid());
    EXPECT_EQ(w.graph.names[w.graph.tasks[waiter].name], overlap ? "interaction" : "bottom.0");
  }
}

TEST(Dlrm, AccumulationReducesGradientsOnce) {
  ModelSpec m = small_model();
  m.global_batch = 1001;  // micro-steps and ranks of unequal sizes
  m.accumulation = 3;
  const Workload w = build(m, cluster(1, 4));
  std::map<std::string, int> count;
  for (const graph::Task& t : w.graph.tasks) ++count[w.graph.names[t.name]];
  EXPECT_EQ(count["embedding.exchange"], 3);
  EXPECT_EQ(count["gradients.bucket0.all_reduce"], 1);
  EXPECT_EQ(count["optimizer.update"], 1);
  EXPECT_EQ(count["top.0.accumulate"], 2);
}

TEST(DataParallel, MicroStepsAddUpAndShareTheirOps) {
  ModelSpec m;
  m.family = find_family("mlp");
  m.as<MlpSpec>() = {64, {64, 32}};
  m.optimizer = graph::OptimizerKind::adam;
  m.global_batch = 103;  // over 2 ranks and 10 micro-steps: 52 = 2 x 6 + 8 x 5, 51 = 1 x 6 + 9 x 5
  m.accumulation = 10;
  const Workload w = build(m, cluster(1, 2));
  double rows = 0;
  std::map<std::string, int> count;
  for (std::uint32_t t = 0; t < w.graph.tasks.size(); ++t) {
    const graph::Task& task = w.graph.tasks[TaskId(t)];
    const std::string& name = w.graph.names[task.name];
    ++count[name];
    for (std::uint32_t rank = 0; name == "mlp.0" && rank < 2; ++rank) {
      rows += static_cast<double>(
          std::get<graph::Gemm>(w.graph.ops[OpId(task.first_op.value() + w.graph.variant_of(TaskId(t), rank))]).m);
    }
  }
  EXPECT_EQ(rows, 103);  // every sample once
  EXPECT_EQ(count["mlp.0"], 10);
  EXPECT_EQ(count["mlp.0.accumulate"], 9);
  EXPECT_EQ(count["gradients.bucket0.all_reduce"], 1);
  m.accumulation = 100;
  m.global_batch = 10'000;
  const Workload many = build(m, cluster(1, 2));
  EXPECT_LT(many.graph.ops.size(), 100u);
  EXPECT_GT(many.graph.tasks.size(), 1000u);
}

TEST(Dlrm, ErrorsNameTheKey) {
  const auto error = [](const ModelSpec& m, const ClusterShape& shape = cluster(1, 4)) {
    const auto w = build_workload(m, {}, shape);
    return w.ok() ? std::string() : w.error().text();
  };
  ModelSpec m = small_model();
  m.as<DlrmSpec>().tables[2].dim = 32;
  EXPECT_NE(error(m).find("model.dlrm.tables[2].dim: found 32, expected 64"), std::string::npos);
  m = small_model();
  m.as<DlrmSpec>().tables.clear();
  EXPECT_NE(error(m).find("model.dlrm.tables: found none"), std::string::npos);
  m = small_model();
  m.as<DlrmSpec>().bottom_mlp = {128};
  EXPECT_NE(error(m).find("model.dlrm.bottom_mlp: found an output of 128"), std::string::npos);
  m = small_model();
  m.parallel.tables.sharding = Sharding::table_wise;
  EXPECT_NE(error(m).find("parallel.placement: missing"), std::string::npos);
  m.parallel.tables.placement = {0, 1, 2, 3, 4};
  EXPECT_NE(error(m).find("parallel.placement[4]: found rank 4, expected 0 .. 3"), std::string::npos);
  m.parallel.tables.placement = {0};
  EXPECT_NE(error(m).find("found 1 rank, expected one for each of the 5 tables"), std::string::npos);
}

TEST(Dlrm, ModelsThatDoNotFitSayByHowMuchAndWhere) {
  ModelSpec m = small_model();
  m.as<DlrmSpec>().tables[1].rows = 200'000'000;  // x 64 x 4 = 51.2 GB
  m.parallel.tables.sharding = Sharding::table_wise;
  m.parallel.tables.placement = {0, 3, 0, 0, 0};
  const auto w = build_workload(m, {}, cluster(1, 4, 40));
  ASSERT_FALSE(w.ok());
  EXPECT_NE(w.error().text().find("rank 3 needs 51.2 GB of 40 GB"), std::string::npos) << w.error().text();
  EXPECT_NE(w.error().text().find("embeddings 51.2 GB"), std::string::npos);
  m.parallel.tables.sharding = Sharding::planner;  // splits it
  EXPECT_TRUE(build_workload(m, {}, cluster(1, 4, 40)).ok());
  EXPECT_FALSE(build_workload(m, {}, cluster(1, 1, 40)).ok());
}

TEST(Dlrm, TenThousandRanksStayCheap) {
  ModelSpec m = small_model();
  m.global_batch = 10'001'000 + 7;
  const auto begin = std::chrono::steady_clock::now();
  const Workload w = build(m, cluster(1250, 8));
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  RecordProperty("milliseconds", std::to_string(spent.count() * 1e3));
  EXPECT_LE(w.graph.rank_tables.size(), 3u);  // samples, tables
  std::uint32_t most = 0;
  for (const graph::Task& t : w.graph.tasks) most = std::max(most, t.variants);
  EXPECT_LE(most, 11u);  // as many as distinct shards, however many ranks
}

TEST(Dlrm, TheSameTwiceIsTheSame) {
  const Workload a = build(small_model(), cluster(2, 4)), b = build(small_model(), cluster(2, 4));
  EXPECT_EQ(a.placement, b.placement);
  ASSERT_EQ(a.graph.tasks.size(), b.graph.tasks.size());
  EXPECT_EQ(a.graph.deps, b.graph.deps);
  EXPECT_EQ(a.graph.rank_tables, b.graph.rank_tables);
}

}  // namespace
}  // namespace distsim::workload
