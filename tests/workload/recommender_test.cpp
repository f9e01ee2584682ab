// What training systems do of their own: hybrid embeddings, exchange by rails, a bottom MLP on one rank, optimizers
// that sweep whole tables.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>

#include "sim/workload/dlrm/dlrm_spec.hpp"
#include "sim/workload/dlrm/hybrid_embedding.hpp"
#include "sim/workload/graph/exchange.hpp"
#include "sim/workload/placement/planner.hpp"
#include "sim/workload/registry.hpp"
#include "sim/workload/workload.hpp"
#include "tasks_by_name.hpp"

namespace distsim::workload {
namespace {

ModelSpec small_recommender() {
  ModelSpec m;
  m.family = find_family("dlrm");
  m.global_batch = 1024;
  m.precision = Precision::fp32;
  m.as<DlrmSpec>().embedding_dim = 64;
  m.as<DlrmSpec>().bottom_mlp = {128, 64};
  m.as<DlrmSpec>().top_mlp = {256, 32, 1};
  for (const std::int64_t rows : {1000, 2000, 3000, 500, 700, 4000, 900, 800})
    m.as<DlrmSpec>().tables.push_back({rows});
  return m;
}

Workload built_recommender(const ModelSpec& m, const FrameworkSpec& f, std::uint32_t nodes, std::uint32_t gpus) {
  auto w = build_workload(m, f, {nodes, gpus, Bytes(40'000'000'000)});
  EXPECT_TRUE(w.ok()) << w.error().text();
  return std::move(w).value();
}

template <class T>
const T& op(const graph::TaskGraph& g, const std::string& name, std::uint32_t variant = 0) {
  const graph::Task* t = find(g, name);
  CHECK(t != nullptr) << name;
  return std::get<T>(g.ops[OpId(t->first_op.value() + variant)]);
}

PlannerTable table(std::int64_t rows, std::int64_t column_pieces = 1) { return {rows, 64, 1, 256, 1, column_pieces}; }

TEST(MemoryBalance, DealsSlicesBackAndForth) {
  // Rows 6, 5, 4, 4, 2, 1 on two ranks. Of the equal ones the later is first: 6 -> 0, 5 -> 1, 4 (table 3) -> 1, 4
  // (table 2) -> 0, 2 -> 0, 1 -> 1.
  const Planner p{2, 1'000'000, Balance::memory_balanced};
  const auto plan = p.plan({table(6), table(5), table(4), table(4), table(2), table(1)});
  ASSERT_TRUE(plan);
  std::map<std::uint32_t, std::uint32_t> rank_of;
  for (const PlannerSlice& s : plan->slices) rank_of[s.table] = s.rank;
  EXPECT_EQ(rank_of, (std::map<std::uint32_t, std::uint32_t>{{0, 0}, {1, 1}, {2, 0}, {3, 1}, {4, 0}, {5, 1}}));
  EXPECT_DOUBLE_EQ(plan->fullest, 12 * 256);
}

TEST(MemoryBalance, FallsBackToTheEmptiestRankWhereDealingDoesNotFit) {
  // 6, 5, 5, 1 rows of 256 bytes on two ranks of 10 rows: dealt, rank 1 gets 5 + 5 and rank 0 6 + 1. One row less of
  // room: greedy fails too.
  const std::vector<PlannerTable> tables{table(6), table(5), table(5), table(1)};
  EXPECT_TRUE((Planner{2, 10 * 256, Balance::memory_balanced}.deal(tables)));
  EXPECT_FALSE((Planner{2, 9 * 256, Balance::memory_balanced}.deal(tables)));
  const auto plan = Planner{2, 11 * 256, Balance::memory_balanced}.plan(
      {table(9), table(6), table(5), table(1)});  // dealt: 9 + 1, 6 + 5
  ASSERT_TRUE(plan);
  EXPECT_DOUBLE_EQ(plan->fullest, 11 * 256);
}

TEST(Dealing, BasicGoesRoundInTheOrderOfTheModel) {
  const auto plan = Planner{3, 1'000'000, Balance::basic}.plan({table(1), table(9), table(2), table(8), table(3)});
  ASSERT_TRUE(plan);
  for (const PlannerSlice& s : plan->slices) EXPECT_EQ(s.rank, s.table % 3);
}

TEST(Dealing, MemoryOptimizedGoesToTheEmptiestRank) {
  // 9 -> 0, 5 -> 1, 4 -> 1 (5 < 9), 1 -> 0 (9 = 9, the lower rank): 10 and 9, where dealing back and forth gives 9 + 1
  // and 5 + 4 as well; with 3 more the third round differs.
  const auto plan =
      Planner{2, 1'000'000, Balance::memory_optimized}.plan({table(9), table(5), table(4), table(3), table(3)});
  ASSERT_TRUE(plan);
  EXPECT_DOUBLE_EQ(plan->fullest, 12 * 256);
  const auto dealt =
      Planner{2, 1'000'000, Balance::memory_balanced}.plan({table(9), table(5), table(4), table(3), table(3)});
  EXPECT_DOUBLE_EQ(dealt->fullest, 15 * 256) << "9 + 3 + 3 and 5 + 4: as many tables each as can be";
}

TEST(Dealing, FewerTablesThanRanksAreCutByColumns) {
  // 40, 10: 40 -> 20 + 20 -> 20 + 10 + 10: four ranks have a slice each once whatever is above 19 is cut.
  EXPECT_EQ(column_limit_for({40, 10}, 2), 0);
  EXPECT_EQ(column_limit_for({40, 10}, 4), 19);
  DlrmSpec spec;
  TableSplit split;
  split.balance = Balance::memory_balanced;
  spec.embedding_dim = 64;
  spec.tables = {{4000}, {1000}};
  const auto placement = place_tables(spec, split, {4, 1, 1LL << 40});
  ASSERT_TRUE(placement.ok()) << placement.error().text();
  std::map<std::uint32_t, std::int64_t> columns;
  for (const std::uint32_t set : placement->set_of_rank) {
    EXPECT_FALSE(placement->sets[set].shards.empty());
    for (const Shard& s : placement->sets[set].shards) columns[s.table] += s.dim;
  }
  EXPECT_EQ(columns, (std::map<std::uint32_t, std::int64_t>{{0, 64}, {1, 64}}));
}

TEST(Dealing, SlicesOfOneTableThatMeetAreOne) {
  // Two slices of equal size on one rank at the turn of dealing back and forth.
  DlrmSpec spec;
  TableSplit split;
  split.balance = Balance::memory_balanced;
  spec.embedding_dim = 64;
  split.column_wise_above = Bytes(4000 * 64 * 4 / 4);
  spec.tables = {{4000}, {900}, {800}};
  const auto placement = place_tables(spec, split, {3, 1, 1LL << 40});
  ASSERT_TRUE(placement.ok()) << placement.error().text();
  for (const ShardSet& set : placement->sets) {
    std::map<std::uint32_t, int> held;
    for (const Shard& s : set.shards) EXPECT_EQ(++held[s.table], 1);
  }
}

TEST(HybridEmbedding, RowsAreFrequentAboveTheThreshold) {
  // alpha 1, 2 ranks: frequent where 10,000 / (H(100) i) > 2 x 190 / 130 = 2.923; H(100) = 5.1874, so i <= floor(10,000
  // / (2.923 x 5.1874)) > 100: all.
  const std::vector<ModelTable> all{{100, 64, 1, 1.0, 1}};
  const HybridSplit every = hybrid_split(all, 10'000, 2);
  EXPECT_EQ(every.frequent_rows, 100);
  EXPECT_NEAR(every.infrequent_ids, 0, 1e-12);
  // 100 samples: i <= floor(100 / (2.923 x 5.1874)) = floor(6.595) = 6. H(6) = 2.45, share 2.45 / 5.1874 = 0.4723.
  const HybridSplit some = hybrid_split(all, 100, 2);
  EXPECT_EQ(some.frequent_rows, 6);
  EXPECT_NEAR(some.frequent_ids, 0.4723, 0.002);
}

TEST(HybridEmbedding, EveryLookupIsOneOrTheOtherAndMoreRanksMeanFewerFrequentRows) {
  const std::vector<ModelTable> tables{
      {40'000'000, 128, 1, 1.05, 1}, {39'000, 128, 1, 1.05, 1}, {3, 128, 1, 1.05, 1}, {1000, 128, 1, 0, 1}};
  std::int64_t last = 1LL << 60;
  for (const std::uint32_t ranks : {2u, 8u, 64u, 112u}) {
    const HybridSplit s = hybrid_split(tables, 71'680, ranks);
    EXPECT_NEAR(s.frequent_ids + s.infrequent_ids, 4, 1e-9);
    EXPECT_GE(s.infrequent_ids, 0);
    EXPECT_LE(s.frequent_rows, last);
    last = s.frequent_rows;
  }
}

TEST(HybridEmbedding, ExchangesInfrequentVectorsAndReducesFrequentRows) {
  FrameworkSpec f;
  f.embedding.hybrid = true;
  f.gradients.sync = GradientSync::one_shot;
  const ModelSpec m = small_recommender();
  const HybridSplit split = hybrid_split(expand_tables(m.as<DlrmSpec>()), 1024, 4);
  const Workload w = built_recommender(m, f, 1, 4);
  const auto vectors = std::llround(256 * split.infrequent_ids);
  EXPECT_EQ(op<graph::Collective>(w.graph, "embedding.exchange").kind, graph::CollectiveKind::all_to_all);
  EXPECT_EQ(op<graph::Collective>(w.graph, "embedding.exchange").bytes, vectors * 64 * 4);
  EXPECT_EQ(op<graph::Collective>(w.graph, "gradients.bucket0.all_reduce").bytes,
            (w.dense_parameters + split.frequent_rows * 64) * 4);
  EXPECT_EQ(op<graph::EmbeddingBag>(w.graph, "embedding").batch, vectors);
}

TEST(HybridEmbedding, LeavesMultiHotTablesAndOtherOptimizersAlone) {
  FrameworkSpec f;
  f.embedding.hybrid = true;
  ModelSpec m = small_recommender();
  EXPECT_TRUE(hybrid_applies(m.as<DlrmSpec>(), m.parallel.tables, f, 4));
  EXPECT_FALSE(hybrid_applies(m.as<DlrmSpec>(), m.parallel.tables, f, 1));
  m.as<DlrmSpec>().tables[3].pooling_factor = 2;
  EXPECT_FALSE(hybrid_applies(m.as<DlrmSpec>(), m.parallel.tables, f, 4));
  m = small_recommender();
  m.as<DlrmSpec>().embedding_optimizer = graph::EmbeddingOptimizer::adagrad;
  EXPECT_FALSE(hybrid_applies(m.as<DlrmSpec>(), m.parallel.tables, f, 4));
}

/// Position of a task in the order in which tasks were added; streams run in that order.
std::size_t place_of(const graph::TaskGraph& g, const std::string& name) {
  const graph::Task* t = find(g, name);
  CHECK(t != nullptr) << name;
  return static_cast<std::size_t>(t - &*g.tasks.begin());
}

TEST(HybridEmbedding, FrequentGradientsDoNotWaitForTheExchange) {
  FrameworkSpec f;
  f.embedding.hybrid = f.gradients.separate_stream = true;
  f.gradients.sync = GradientSync::one_shot;
  const graph::TaskGraph g = built_recommender(small_recommender(), f, 1, 4).graph;
  EXPECT_LT(place_of(g, "embedding.frequent.wgrad"), place_of(g, "gradients.bucket0.all_reduce"));
  EXPECT_LT(place_of(g, "gradients.bucket0.all_reduce"), place_of(g, "embedding.update"));
}

TEST(AsyncWeightGradients, RunBesideTheExchangeOfTheEmbeddings) {
  FrameworkSpec f;
  f.gradients.sync = GradientSync::one_shot;
  const Workload inline_order = built_recommender(small_recommender(), f, 1, 4);
  f.embedding.async_mlp_wgrad = true;
  const Workload held = built_recommender(small_recommender(), f, 1, 4);
  EXPECT_LT(place_of(inline_order.graph, "top.0.wgrad"), place_of(inline_order.graph, "embedding.exchange.dgrad"));
  EXPECT_GT(place_of(held.graph, "top.0.wgrad"), place_of(held.graph, "embedding.exchange.dgrad"));
  EXPECT_LT(place_of(held.graph, "top.0.dgrad"), place_of(held.graph, "embedding.exchange.dgrad"));
  EXPECT_LT(place_of(held.graph, "top.0.wgrad"), place_of(held.graph, "gradients.bucket0.all_reduce"));
  EXPECT_EQ(held.graph.tasks.size(), inline_order.graph.tasks.size());
  EXPECT_EQ(op<graph::Collective>(held.graph, "gradients.bucket0.all_reduce").bytes,
            op<graph::Collective>(inline_order.graph, "gradients.bucket0.all_reduce").bytes);
}

/// Position of the last task of that name: of the last micro-step.
std::size_t last_place_of(const graph::TaskGraph& g, const std::string& name) {
  std::size_t last = place_of(g, name);
  for (std::size_t i = last; i < g.tasks.size(); ++i) {
    if (g.names[g.tasks[TaskId(static_cast<std::uint32_t>(i))].name] == name) last = i;
  }
  return last;
}

/// With buckets no gradient is sent before it is computed, and a micro-step that adds to gradients holds none back.
TEST(AsyncWeightGradients, AreSentAfterTheyAreComputed) {
  FrameworkSpec f;
  f.embedding.async_mlp_wgrad = true;
  f.gradients.bucket_size = f.gradients.first_bucket_size = Bytes(1024);
  ModelSpec m = small_recommender();
  const graph::TaskGraph g = built_recommender(m, f, 1, 4).graph;
  EXPECT_LT(place_of(g, "top.2.wgrad"), place_of(g, "gradients.bucket0.all_reduce"));
  m.accumulation = 2;
  const graph::TaskGraph accumulated = built_recommender(m, f, 1, 4).graph;
  EXPECT_GT(place_of(accumulated, "top.0.wgrad"), place_of(accumulated, "embedding.exchange.dgrad"));
  EXPECT_LT(last_place_of(accumulated, "top.0.wgrad"), last_place_of(accumulated, "top.0.accumulate"));
  EXPECT_LT(last_place_of(accumulated, "top.0.accumulate"), last_place_of(accumulated, "embedding.exchange.dgrad"));
}

TEST(RailExchange, SendsEveryVectorOfANodeOnceAcross) {
  // 2 nodes of 2 GPUs, 8 samples: node 0 owns two tables, node 1 one, all of 64 elements, fp32; every GPU has 2 samples
  // and half of its node's rows. Across, a GPU of node 0 sends 2 samples x 1 other node x 128 x 4 = 1024 and receives 2
  // x 64 x 4 = 512. Inside: 8 samples x 128 x 4 = 4096.
  DlrmSpec spec = small_recommender().as<DlrmSpec>();
  spec.tables = {{1000}, {1000}, {1000}};
  const auto placement = place_tables(spec, TableSplit{}, {4, 2, 1'000'000'000, true});
  ASSERT_TRUE(placement.ok());
  const auto widths = placement->node_widths(2);
  EXPECT_EQ(std::max(widths[0], widths[1]), 128);
  EXPECT_EQ(std::min(widths[0], widths[1]), 64);
  const std::size_t wide = widths[0] == 128 ? 0 : 1;
  const RailExchange e =
      rail_exchange(*placement, SampleSplit{4, 0, 2, 2}, 2, graph::DType::fp32, Direction::owners_to_samples);
  EXPECT_EQ(e.inside.bytes, 4096);
  EXPECT_EQ(e.across.send_bytes[wide], 1024);
  EXPECT_EQ(e.across.recv_bytes[wide], 512);
  EXPECT_EQ(std::accumulate(e.across.send_bytes.begin(), e.across.send_bytes.end(), std::int64_t{0}),
            std::accumulate(e.across.recv_bytes.begin(), e.across.recv_bytes.end(), std::int64_t{0}));
  const RailExchange back =
      rail_exchange(*placement, SampleSplit{4, 0, 2, 2}, 2, graph::DType::fp32, Direction::samples_to_owners);
  EXPECT_EQ(back.across.send_bytes, e.across.recv_bytes);
}

TEST(RailExchange, WholeNodesHoldEveryRowOnce) {
  const DlrmSpec spec = small_recommender().as<DlrmSpec>();
  const auto placement = place_tables(spec, TableSplit{}, {12, 3, 1'000'000'000, true});
  ASSERT_TRUE(placement.ok());
  std::map<std::uint32_t, std::int64_t> rows;
  std::map<std::uint32_t, double> ids;
  for (const std::uint32_t set : placement->set_of_rank) {
    for (const Shard& s : placement->sets[set].shards) {
      rows[s.table] += s.rows;
      ids[s.table] += s.pooling_factor;
    }
  }
  for (std::uint32_t t = 0; t < spec.tables.size(); ++t) {
    EXPECT_EQ(rows[t], spec.tables[t].rows);
    EXPECT_NEAR(ids[t], 1, 1e-9);
  }
}

TEST(LoneBottom, RankZeroRunsTheWholeBatchAndSendsIt) {
  FrameworkSpec f;
  f.embedding.bottom_mlp_on_one_rank = true;
  f.gradients.sync = GradientSync::one_shot;
  const ModelSpec m = small_recommender();
  const Workload w = built_recommender(m, f, 1, 8);
  EXPECT_EQ(op<graph::Gemm>(w.graph, "bottom.0").m, 1024);
  EXPECT_TRUE(
      std::holds_alternative<graph::Absent>(w.graph.ops[OpId(find(w.graph, "bottom.0")->first_op.value() + 1)]));
  // Rank 0 sends its 1024 - 128 samples' bottom outputs: 896 x 64 x 4; all ranks together 9 vectors of 896 samples.
  const graph::Collective& c = op<graph::Collective>(w.graph, "embedding.exchange");
  EXPECT_EQ(c.send_bytes[0], 896 * 64 * 4);
  EXPECT_EQ(std::accumulate(c.send_bytes.begin(), c.send_bytes.end(), std::int64_t{0}), 896 * 9 * 64 * 4);
  // Bottom weights: 13 x 128 + 128 + 128 x 64 + 64 = 10,048; nobody else has a copy.
  EXPECT_EQ(op<graph::Collective>(w.graph, "gradients.bucket0.all_reduce").bytes, (w.dense_parameters - 10'048) * 4);
  EXPECT_EQ(op<graph::Gemm>(built_recommender(m, f, 1, 4).graph, "bottom.0").m,
            256);  // up to 4 ranks every one has its own
}

TEST(HashEmbedding, AdamSweepsAndVectorsPassThroughHostMemory) {
  ModelSpec m = small_recommender();
  m.as<DlrmSpec>().swept_parameters = 12'345;
  m.parallel.tables.exchange_through_host = true;
  const Workload w = built_recommender(m, {}, 1, 4);
  EXPECT_EQ(op<graph::Elementwise>(w.graph, "embedding.sweep").elements, 12'345);
  EXPECT_EQ(op<graph::Copy>(w.graph, "embedding.exchange.to_host").bytes,
            op<graph::Collective>(w.graph, "embedding.exchange").bytes);
  EXPECT_EQ(op<graph::Copy>(w.graph, "embedding.exchange.from_host").kind, graph::CopyKind::h2d);
  EXPECT_GT(op<graph::HostWork>(built_recommender(m, {}, 4, 4).graph, "embedding.exchange.on_host").duration,
            op<graph::HostWork>(w.graph, "embedding.exchange.on_host").duration);
  EXPECT_EQ(find(built_recommender(small_recommender(), {}, 1, 4).graph, "embedding.sweep"), nullptr);
}

TEST(Dropout, FollowsEveryHiddenLayerOfTheTop) {
  ModelSpec m = small_recommender();
  m.as<DlrmSpec>().top_dropout = true;
  const Workload w = built_recommender(m, {}, 1, 4);
  EXPECT_EQ(op<graph::Elementwise>(w.graph, "top.0.dropout").elements, 256 * 256);
  EXPECT_EQ(op<graph::Elementwise>(w.graph, "top.1.dropout.dgrad").elements, 256 * 32);
  EXPECT_EQ(find(w.graph, "top.2.dropout"), nullptr);
}

TEST(SparseUpdates, SgdScattersAndAdamSorts) {
  FrameworkSpec f;
  f.embedding.sparse_update = graph::SparseUpdate::sort_dedup;
  ModelSpec m = small_recommender();
  m.as<DlrmSpec>().embedding_optimizer = graph::EmbeddingOptimizer::sgd;
  EXPECT_EQ(op<graph::EmbeddingBag>(built_recommender(m, f, 1, 4).graph, "embedding.update").update,
            graph::SparseUpdate::atomic);
  f.embedding.sparse_update = graph::SparseUpdate::atomic;
  m.as<DlrmSpec>().embedding_optimizer = graph::EmbeddingOptimizer::adam;
  EXPECT_EQ(op<graph::EmbeddingBag>(built_recommender(m, f, 1, 4).graph, "embedding.update").update,
            graph::SparseUpdate::block_per_row);
  m.as<DlrmSpec>().embedding_optimizer = graph::EmbeddingOptimizer::adagrad;
  EXPECT_EQ(op<graph::EmbeddingBag>(built_recommender(m, f, 1, 4).graph, "embedding.update").update,
            graph::SparseUpdate::fused);
}

TEST(SparseUpdates, TensorFlowCallsItsNodesForEveryTable) {
  FrameworkSpec f;
  f.embedding.sparse_update = graph::SparseUpdate::sort_dedup;
  f.embedding.table_batched = false;
  ModelSpec m = small_recommender();
  m.as<DlrmSpec>().embedding_optimizer = graph::EmbeddingOptimizer::adagrad;
  const Workload one_hot = built_recommender(m, f, 1, 1);
  const auto tables = static_cast<std::int64_t>(op<graph::EmbeddingBag>(one_hot.graph, "embedding").tables.size());
  EXPECT_EQ(find(one_hot.graph, "embedding")->dispatch.framework_ops, 4 * tables);
  EXPECT_EQ(find(one_hot.graph, "embedding")->dispatch.kernels, tables);
  EXPECT_EQ(find(one_hot.graph, "embedding.update")->dispatch.framework_ops, 14 * tables);
  EXPECT_GT(find(one_hot.graph, "embedding.update")->dispatch.kernels, 20 * tables);
  f.embedding.table_batched = true;
  EXPECT_EQ(find(built_recommender(m, f, 1, 1).graph, "embedding.update")->dispatch.framework_ops, 1);
}

TEST(Horovod, HoldsTheHostUntilAnExchangeHasEnded) {
  FrameworkSpec f;
  EXPECT_EQ(find(built_recommender(small_recommender(), f, 1, 4).graph, "embedding.exchange.callback"), nullptr);
  f.gradients.sync = GradientSync::fusion_buffer;
  f.gradients.fusion_cycle = Duration::milliseconds(2);
  const Workload w = built_recommender(small_recommender(), f, 1, 4);
  EXPECT_EQ(op<graph::HostWork>(w.graph, "embedding.exchange.cycle").duration, Duration::milliseconds(1));
  for (const char* name : {"embedding.exchange.callback", "embedding.exchange.dgrad.callback"}) {
    ASSERT_NE(find(w.graph, name), nullptr) << name;
    EXPECT_TRUE(find(w.graph, name)->blocks_host) << name;
  }
  EXPECT_EQ(find(built_recommender(small_recommender(), f, 1, 1).graph, "embedding.exchange.cycle"), nullptr);
}

/// The path of the bytes does not change when Horovod looks for them, nor what the executor waits for.
TEST(Horovod, HoldsTheHostWhateverThePath) {
  FrameworkSpec f;
  f.gradients.sync = GradientSync::fusion_buffer;
  f.embedding.exchange = EmbeddingExchange::hierarchical;
  ModelSpec m = small_recommender();
  for (const bool on_host : {false, true}) {
    m.parallel.tables.exchange_through_host = on_host;
    const Workload one = built_recommender(m, f, 1, 4), many = built_recommender(m, f, 2, 4);
    for (const auto& [w, name] : {std::pair(&one, "embedding.exchange"),
                                  {&many, "embedding.exchange"},
                                  {&many, "embedding.exchange.in_node"}}) {
      EXPECT_NE(find(w->graph, std::string(name) + ".cycle"), nullptr) << name << on_host;
      EXPECT_NE(find(w->graph, std::string(name) + ".callback"), nullptr) << name << on_host;
      EXPECT_EQ(find(w->graph, std::string(name) + ".to_host") != nullptr, on_host) << name;
    }
  }
}

TEST(ThroughHost, BothStepsOfAnExchangePassThroughHostMemory) {
  FrameworkSpec f;
  f.embedding.exchange = EmbeddingExchange::hierarchical;
  ModelSpec m = small_recommender();
  m.parallel.tables.exchange_through_host = true;
  const Workload w = built_recommender(m, f, 2, 4);
  const auto on_host = [&](const std::string& name) {
    EXPECT_EQ(op<graph::Copy>(w.graph, name + ".to_host").bytes, op<graph::Collective>(w.graph, name).bytes);
    return op<graph::HostWork>(w.graph, name + ".on_host").duration;
  };
  // Four turns of 150 us; along the rails also the copies between the buffers of GPUs and NIC.
  for (const std::string name : {"embedding.exchange", "embedding.exchange.dgrad"}) {
    EXPECT_EQ(on_host(name + ".in_node"), Duration::microseconds(600));
    EXPECT_GT(on_host(name), Duration::microseconds(600));
  }
}

TEST(CrossLayers, AreFusedWhereTheFrameworkFuses) {
  ModelSpec m = small_recommender();
  m.as<DlrmSpec>().interaction = InteractionKind::dcn_v2;
  m.as<DlrmSpec>().cross_rank = 8;
  FrameworkSpec f;
  const Workload apart = built_recommender(m, f, 1, 1);
  EXPECT_EQ(op<graph::CrossLayer>(apart.graph, "cross.0").fusion, graph::CrossFusion::unfused);
  EXPECT_EQ(find(apart.graph, "cross.0")->dispatch.framework_ops, 5) << "eager: 2 products, 3 pointwise";
  EXPECT_EQ(find(apart.graph, "cross.0.grad")->dispatch.kernels, 9);
  f.kernels.fuse_elementwise = true;
  EXPECT_EQ(op<graph::CrossLayer>(built_recommender(m, f, 1, 1).graph, "cross.0.grad").fusion,
            graph::CrossFusion::chains);
  f.kernels.fuse_epilogue = true;
  const Workload fused = built_recommender(m, f, 1, 1);
  EXPECT_EQ(op<graph::CrossLayer>(fused.graph, "cross.0.grad").fusion, graph::CrossFusion::epilogues);
  EXPECT_EQ(find(fused.graph, "cross.0")->dispatch.framework_ops, 1);
  EXPECT_EQ(find(fused.graph, "cross.0")->dispatch.kernels, 3);
}

}  // namespace
}  // namespace distsim::workload
