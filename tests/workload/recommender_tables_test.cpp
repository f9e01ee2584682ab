// Recommenders at their edges: a bottom MLP on one rank whatever the tables do, frozen and replicated tables, sweeps, and
// the same placement written in different ways.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "sim/workload/dlrm/dlrm_plan.hpp"
#include "sim/workload/registry.hpp"
#include "sim/workload/workload.hpp"
#include "tasks_by_name.hpp"

namespace distsim::workload {
namespace {

constexpr std::int64_t kBatchOfTables = 1024;

ModelSpec eight_tables() {
  ModelSpec m;
  m.family = find_family("dlrm");
  m.global_batch = kBatchOfTables;
  m.precision = Precision::fp32;
  m.as<DlrmSpec>().embedding_dim = 64;
  m.as<DlrmSpec>().bottom_mlp = {128, 64};
  m.as<DlrmSpec>().top_mlp = {256, 32, 1};
  m.as<DlrmSpec>().tables = {{.rows = 1000, .count = 8}};
  return m;
}

FrameworkSpec with_lone_bottom() {
  FrameworkSpec f;
  f.embedding.bottom_mlp_on_one_rank = true;
  return f;
}

Result<Workload> built_with_memory(const ModelSpec& m, const FrameworkSpec& f, std::uint32_t nodes, std::uint32_t gpus,
                                   std::int64_t memory = 40'000'000'000) {
  return build_workload(m, f, {nodes, gpus, Bytes(memory)});
}

graph::TaskGraph graph_of_tables(const ModelSpec& m, const FrameworkSpec& f, std::uint32_t nodes, std::uint32_t gpus) {
  auto w = built_with_memory(m, f, nodes, gpus);
  CHECK(w.ok()) << w.error().text();
  return std::move(w).value().graph;
}

std::int64_t bytes_all_reduced(const graph::TaskGraph& g) {
  std::int64_t bytes = 0;
  for (const graph::Task& t : g.tasks) {
    const auto* c = std::get_if<graph::Collective>(&g.ops[t.first_op]);
    if (c != nullptr && c->kind == graph::CollectiveKind::all_reduce) bytes += c->bytes;
  }
  return bytes;
}

std::size_t tasks_named(const graph::TaskGraph& g, const std::string& name) {
  return static_cast<std::size_t>(
      std::count_if(g.tasks.begin(), g.tasks.end(), [&](const graph::Task& t) { return g.names[t.name] == name; }));
}

TEST(LoneBottomMlp, SendsItsOutputThoughAllTablesAreReplicated) {
  ModelSpec m = eight_tables();
  m.parallel.tables.data_parallel_below = Bytes(1'000'000'000);
  const graph::TaskGraph g = graph_of_tables(m, with_lone_bottom(), 1, 8);
  // 1024 - 128 samples of others, 64 elements of 4 bytes.
  EXPECT_EQ(collective(g, "embedding.exchange").send_bytes[0], 896 * 64 * 4);
  EXPECT_EQ(collective(g, "embedding.exchange").send_bytes[1], 0);
  EXPECT_EQ(collective(g, "embedding.exchange.dgrad").recv_bytes[0], 896 * 64 * 4);
}

TEST(LoneBottomMlp, GoesAlongTheRailsWithTheVectors) {
  FrameworkSpec f = with_lone_bottom();
  f.embedding.exchange = EmbeddingExchange::hierarchical;
  const graph::TaskGraph g = graph_of_tables(eight_tables(), f, 2, 4);
  // 128 samples of a GPU of the other node; all nodes' widths are 8 tables and the MLP's output.
  const auto& across = collective(g, "embedding.exchange").send_bytes;
  EXPECT_EQ(std::accumulate(across.begin(), across.end(), std::int64_t{0}), 128 * 9 * 64 * 4);
  EXPECT_EQ(find(g, "embedding.sum_in_node"), nullptr);  // no table is split by rows
  EXPECT_EQ(find(g, "embedding.sum_row_slices"), nullptr);
}

/// Rank 0 alone has its weights, and keeps its layers' inputs of the whole batch; all others receive its output.
TEST(LoneBottomMlp, TakesMemoryWhereItIs) {
  const auto shared = built_with_memory(eight_tables(), {}, 1, 8),
             alone = built_with_memory(eight_tables(), with_lone_bottom(), 1, 8);
  ASSERT_TRUE(shared.ok() && alone.ok());
  const std::int64_t bottom = 13 * 128 + 128 + 128 * 64 + 64;
  const RankMemory &first = alone->memory[0], &other = alone->memory[7], &before = shared->memory[0];
  EXPECT_EQ(first.weights, before.weights);
  EXPECT_EQ(other.weights, before.weights - 4 * bottom);
  EXPECT_EQ(other.gradients, before.gradients - 4 * bottom);
  EXPECT_EQ(first.embeddings, 0);
  const std::int64_t kept = before.activations - other.activations;  // of an eighth of the batch
  EXPECT_GE(kept, kBatchOfTables / 8 * (13 + 128) * 4);
  EXPECT_EQ(first.activations, other.activations + 8 * kept);
}

TEST(LoneBottomMlp, IsOnAllRanksBesideAHybridEmbedding) {
  FrameworkSpec f = with_lone_bottom();
  f.embedding.hybrid = true;
  FrameworkSpec plain;
  plain.embedding.hybrid = true;
  const graph::TaskGraph g = graph_of_tables(eight_tables(), f, 1, 8);
  EXPECT_EQ(std::get<graph::Gemm>(g.ops[find(g, "bottom.0")->first_op]).m, kBatchOfTables / 8);
  EXPECT_EQ(bytes_all_reduced(g), bytes_all_reduced(graph_of_tables(eight_tables(), plain, 1, 8)));
}

TEST(HybridTables, LeaveReplicatedTablesOut) {
  FrameworkSpec f;
  f.embedding.hybrid = true;
  ModelSpec below = eight_tables(), copies = eight_tables();
  below.parallel.tables.data_parallel_below = Bytes(1'000'000'000);
  copies.parallel.tables.sharding = Sharding::data_parallel;
  EXPECT_EQ(bytes_all_reduced(graph_of_tables(below, f, 1, 8)), bytes_all_reduced(graph_of_tables(copies, f, 1, 8)));
  EXPECT_EQ(find(graph_of_tables(below, f, 1, 8), "embedding.frequent"), nullptr);
}

/// Where every row is frequent, each rank has them all, and their gradients, besides its shard of them.
TEST(HybridTables, TakeMemoryForCopiesOfFrequentRows) {
  FrameworkSpec f;
  f.embedding.hybrid = true;
  ModelSpec m = eight_tables();
  m.as<DlrmSpec>().tables = {{.rows = 8, .count = 8}};
  const auto w = built_with_memory(m, f, 1, 8);
  ASSERT_TRUE(w.ok());
  EXPECT_EQ(w->memory[0].embeddings, 8 * 8 * 64 * 4 + 8 * 8 * 64 * 4 / 8);
  m.as<DlrmSpec>().tables = {{.rows = 8'000'000, .count = 8}};
  m.as<DlrmSpec>().index_skew = 0;  // no row is frequent
  const auto split = built_with_memory(m, f, 1, 8);
  ASSERT_TRUE(split.ok());
  EXPECT_EQ(split->memory[0].embeddings, 8'000'000ll * 64 * 4);
  EXPECT_EQ(w->memory[0].gradients - split->memory[0].gradients, 8 * 8 * 64 * 4);
}

TEST(HybridTables, SendWholeVectorsFromSmallBuffers) {
  FrameworkSpec f;
  f.embedding.hybrid = true;
  ModelSpec m = eight_tables();
  m.as<DlrmSpec>().tables = {{.rows = 1'000'000, .count = 8}};
  m.as<DlrmSpec>().index_skew = 0;  // no row is frequent
  const auto w = built_with_memory(m, f, 1, 8);
  ASSERT_TRUE(w.ok());
  f.embedding.hybrid = false;
  m.parallel.tables.sharding = Sharding::row_wise;
  const auto partial = built_with_memory(m, f, 1, 8);
  ASSERT_TRUE(partial.ok());
  // An eighth of the batch's vectors, or a partial sum of every one.
  EXPECT_EQ(partial->memory[0].buffers - w->memory[0].buffers,
            kBatchOfTables * 8 * 64 * 4 - kBatchOfTables / 8 * 8 * 64 * 4);
}

TEST(HybridTables, TakeThePopularityOfTheirLookups) {
  const std::vector<ModelTable> tables(3, ModelTable{.rows = 10'000, .dim = 64, .alpha = 1.2});
  EXPECT_EQ(hybrid_split(tables, 10'000, 2).frequent_alpha, 1.2);
}

TEST(ReplicatedTables, LeaveThePlannerWhatTheyTake) {
  // The 100 M parameters of the copy take 4 bytes each, and 4 for the gradient and in a bucket: 1.2 GB of 1.6. Each of the
  // others, 435 MB, is to be cut: a plan that the check of memory refuses afterwards is none.
  ModelSpec m = eight_tables();
  m.as<DlrmSpec>().tables = {{.rows = 1'562'500}, {.rows = 1'700'000, .count = 4}};
  m.parallel.tables.data_parallel_below = Bytes(400'000'001);
  const auto w = built_with_memory(m, {}, 1, 8, 1'600'000'000);
  EXPECT_TRUE(w.ok()) << w.error().text();
}

TEST(FrozenTables, HaveNoGradients) {
  ModelSpec m = eight_tables();
  m.as<DlrmSpec>().embedding_optimizer = graph::EmbeddingOptimizer::none;
  const graph::TaskGraph sharded = graph_of_tables(m, {}, 1, 8);
  EXPECT_NE(find(sharded, "embedding.exchange"), nullptr);
  for (const char* name : {"embedding.exchange.dgrad", "embedding.pack.dgrad", "embedding.update", "embedding.sweep"})
    EXPECT_EQ(find(sharded, name), nullptr) << name;
  ModelSpec copies = m;
  copies.parallel.tables.sharding = Sharding::data_parallel;
  const graph::TaskGraph replicated = graph_of_tables(copies, {}, 1, 8);
  EXPECT_EQ(find(replicated, "embedding.replicated.wgrad"), nullptr);
  EXPECT_EQ(bytes_all_reduced(replicated), bytes_all_reduced(sharded));
  EXPECT_EQ(built_with_memory(copies, {}, 1, 8)->memory[0].gradients,
            built_with_memory(m, {}, 1, 8)->memory[0].gradients);
}

TEST(FrozenTables, LetTheGradientsOfALoneBottomMlpTravel) {
  ModelSpec m = eight_tables();
  m.as<DlrmSpec>().embedding_optimizer = graph::EmbeddingOptimizer::none;
  const graph::TaskGraph g = graph_of_tables(m, with_lone_bottom(), 1, 8);
  const auto& received = collective(g, "embedding.exchange.dgrad").recv_bytes;
  EXPECT_EQ(received[0], 896 * 64 * 4);
  EXPECT_EQ(received[1], 0);
}

TEST(ReplicatedTables, TakeTheBytesOfTheirType) {
  ModelSpec m = eight_tables();
  m.parallel.tables.sharding = Sharding::data_parallel;
  const auto full = built_with_memory(m, {}, 1, 8);
  m.as<DlrmSpec>().embedding_dtype = graph::DType::fp16;
  m.as<DlrmSpec>().embedding_optimizer = graph::EmbeddingOptimizer::adam;  // of sharded tables
  const auto half = built_with_memory(m, {}, 1, 8);
  ASSERT_TRUE(full.ok() && half.ok());
  EXPECT_EQ(full->memory[0].embeddings - half->memory[0].embeddings, 8 * 1000 * 64 * 2);
  EXPECT_NE(half->placement.find("(1.024 MB)"), std::string::npos) << half->placement;  // no state of Adam
}

TEST(PlacementOfAnyForm, IsExchangedAlike) {
  FrameworkSpec f;
  f.embedding.exchange = EmbeddingExchange::hierarchical;
  ModelSpec key = eight_tables(), plan = eight_tables();
  key.parallel.tables.sharding = Sharding::row_wise;
  for (int t = 0; t < 8; ++t)
    plan.parallel.tables.plans.tables.push_back(
        {.sharding = TableSharding::row_wise, .ranks = {0, 1, 2, 3}, .rows = {250, 250, 250, 250}, .columns = {64}});
  const graph::TaskGraph a = graph_of_tables(key, f, 2, 2), b = graph_of_tables(plan, f, 2, 2);
  ASSERT_EQ(a.tasks.size(), b.tasks.size());
  EXPECT_EQ(collective(a, "embedding.exchange").send_bytes, collective(b, "embedding.exchange").send_bytes);
  EXPECT_NE(find(a, "embedding.exchange.in_node"), nullptr);
}

TEST(PlacementOfAnyForm, IsOneOnASingleGpu) {
  ModelSpec key = eight_tables(), plan = eight_tables();
  key.parallel.tables.sharding = Sharding::data_parallel;
  for (int t = 0; t < 8; ++t)
    plan.parallel.tables.plans.tables.push_back(
        {.sharding = TableSharding::data_parallel, .ranks = {0}, .rows = {1000}, .columns = {64}});
  const auto a = built_with_memory(key, {}, 1, 1), b = built_with_memory(plan, {}, 1, 1);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a->graph.tasks.size(), b->graph.tasks.size());
  EXPECT_EQ(a->placement, b->placement);
}

TEST(Sweeps, TakeTheStateOfTheirOptimizerOnceAStep) {
  ModelSpec m = eight_tables();
  m.accumulation = 2;
  DlrmSpec& spec = m.as<DlrmSpec>();
  spec.swept_parameters = 1'000'000'000;
  spec.embedding_optimizer = graph::EmbeddingOptimizer::adam;
  EXPECT_EQ(built_with_memory(m, {}, 1, 4)->memory[0].embeddings, 12'000'000'000);
  const graph::TaskGraph g = graph_of_tables(m, {}, 1, 4);
  EXPECT_EQ(tasks_named(g, "embedding.update"), 2U);
  EXPECT_EQ(tasks_named(g, "embedding.sweep"), 1U);
  spec.embedding_optimizer = graph::EmbeddingOptimizer::sgd;
  EXPECT_EQ(built_with_memory(m, {}, 1, 4)->memory[0].embeddings, 4'000'000'000);
  spec.embedding_optimizer = graph::EmbeddingOptimizer::none;
  EXPECT_LT(built_with_memory(m, {}, 1, 4)->memory[0].embeddings, 1'000'000'000);
}

TEST(DenseFeatures, NoneIsNoVectorWhateverTheMlp) {
  ModelSpec m = eight_tables(), without = eight_tables();
  m.as<DlrmSpec>().dense_features = without.as<DlrmSpec>().dense_features = 0;
  without.as<DlrmSpec>().bottom_mlp.clear();
  for (const InteractionKind kind : {InteractionKind::dot, InteractionKind::dcn_v2, InteractionKind::concat}) {
    m.as<DlrmSpec>().interaction = without.as<DlrmSpec>().interaction = kind;
    const graph::TaskGraph a = graph_of_tables(m, with_lone_bottom(), 1, 8),
                           b = graph_of_tables(without, with_lone_bottom(), 1, 8);
    EXPECT_EQ(std::get<graph::Gemm>(a.ops[find(a, "top.0")->first_op]).k,
              std::get<graph::Gemm>(b.ops[find(b, "top.0")->first_op]).k);
    EXPECT_EQ(a.tasks.size(), b.tasks.size());
  }
  m.as<DlrmSpec>().interaction = InteractionKind::dot;
  m.as<DlrmSpec>().tables = {{.rows = 1000}};
  const auto single = built_with_memory(m, {}, 1, 4);
  ASSERT_FALSE(single.ok());
  EXPECT_NE(single.error().text().find("dot needs two vectors"), std::string::npos) << single.error().text();
}

TEST(ConcatStride, IsNoWiderThanTheVectors) {
  ModelSpec m = eight_tables();
  m.as<DlrmSpec>().interaction = InteractionKind::concat;
  m.as<DlrmSpec>().concat_stride = 512;
  EXPECT_TRUE(built_with_memory(m, {}, 1, 4).ok());
  m.as<DlrmSpec>().concat_stride = 513;
  const auto wide = built_with_memory(m, {}, 1, 4);
  ASSERT_FALSE(wide.ok());
  EXPECT_NE(wide.error().text().find("model.dlrm.concat_stride: found 513, expected at most 512"), std::string::npos);
}

}  // namespace
}  // namespace distsim::workload
