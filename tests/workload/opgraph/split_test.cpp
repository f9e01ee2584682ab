// Captured graphs whose weights or tables are split: what travels, how much, and what ranks hold.
#include <gtest/gtest.h>

#include <functional>

#include "../tasks_by_name.hpp"
#include "chain_graph.hpp"
#include "sim/workload/opgraph/split/found_tables.hpp"
#include "sim/workload/registry.hpp"
#include "sim/workload/workload.hpp"

namespace distsim::workload {
namespace {

constexpr std::int64_t kChainWidth = 64;
constexpr Bytes kChainMemory{80'000'000'000};

ModelSpec graph_model(ChainGraph& chain) {
  ModelSpec m;
  m.family = find_family("graph");
  m.per_gpu_batch = 16;
  m.precision = Precision::fp32;
  m.optimizer = graph::OptimizerKind::adam;
  m.as<GraphSpec>().graph = chain.finish();
  return m;
}

ModelSpec chained_blocks(int n) {
  ChainGraph chain(kChainWidth);
  for (int i = 0; i < n; ++i) chain.block("blocks." + std::to_string(i));
  ModelSpec m = graph_model(chain.block("head"));
  m.as<GraphSpec>().units = {"blocks.*"};
  return m;
}

Workload build_split(const ModelSpec& m, std::uint32_t nodes, std::uint32_t gpus, const FrameworkSpec& f = {}) {
  auto w = build_workload(m, f, {nodes, gpus, kChainMemory});
  EXPECT_TRUE(w.ok()) << w.error().text();
  return std::move(w).value();
}

std::int64_t collective_bytes(const Workload& w, graph::CollectiveKind kind) {
  std::int64_t sum = 0;
  for (const graph::Task& t : w.graph.tasks) {
    const auto* c = std::get_if<graph::Collective>(&w.graph.ops[t.first_op]);
    if (c != nullptr && c->kind == kind) sum += c->bytes;
  }
  return sum;
}

constexpr std::int64_t kBlockWeights = kChainWidth * kChainWidth;

TEST(ShardedGraph, OfOneRankIsDataParallel) {
  ModelSpec m = chained_blocks(3);
  const Workload whole = build_split(m, 1, 1);
  m.parallel.shard = StateSplit::weights;
  const Workload split = build_split(m, 1, 1);
  ASSERT_EQ(split.graph.tasks.size(), whole.graph.tasks.size());
  for (std::size_t i = 0; i < split.graph.tasks.size(); ++i)
    EXPECT_EQ(split.graph.names[split.graph.tasks[TaskId(static_cast<std::uint32_t>(i))].name],
              whole.graph.names[whole.graph.tasks[TaskId(static_cast<std::uint32_t>(i))].name]);
  EXPECT_EQ(split.memory.front().total(), whole.memory.front().total());
}

/// Blocks are gathered for either pass, what is in none of them once; gradients are reduced once.
TEST(ShardedGraph, BytesAddUp) {
  ModelSpec m = chained_blocks(3);
  m.parallel.shard = StateSplit::weights;
  Workload w = build_split(m, 2, 4);
  EXPECT_EQ(collective_bytes(w, graph::CollectiveKind::all_gather), 4 * kBlockWeights * (2 * 3 + 1));
  EXPECT_EQ(collective_bytes(w, graph::CollectiveKind::reduce_scatter), 4 * kBlockWeights * 4);
  EXPECT_EQ(collective_bytes(w, graph::CollectiveKind::all_reduce), 0);
  m.parallel.shard = StateSplit::gradients;  // kept for the backward pass
  w = build_split(m, 2, 4);
  EXPECT_EQ(collective_bytes(w, graph::CollectiveKind::all_gather), 4 * kBlockWeights * 4);
  EXPECT_EQ(collective_bytes(w, graph::CollectiveKind::reduce_scatter), 4 * kBlockWeights * 4);
  m.parallel.shard = StateSplit::weights;
  m.parallel.shard_group = 4;  // shards are summed over the two nodes
  w = build_split(m, 2, 4);
  EXPECT_EQ(collective_bytes(w, graph::CollectiveKind::all_reduce), 4 * kBlockWeights * 4 / 4);
  m.accumulation = 3;
  m.parallel.shard_group = 0;
  w = build_split(m, 2, 4);
  EXPECT_EQ(collective_bytes(w, graph::CollectiveKind::reduce_scatter), 3 * 4 * kBlockWeights * 4);
}

TEST(ShardedGraph, GathersWhatComesNextWhileABlockComputes) {
  ModelSpec m = chained_blocks(4);
  m.parallel.shard = StateSplit::weights;
  const auto gather_of = [](const Workload& w, const std::string& unit) -> std::size_t {
    for (std::size_t i = 0; i < w.graph.tasks.size(); ++i) {
      if (w.graph.names[w.graph.tasks[TaskId(static_cast<std::uint32_t>(i))].name] == "weights.gather." + unit)
        return i;
    }
    return SIZE_MAX;
  };
  const auto compute_of = [](const Workload& w, const std::string& name) -> std::size_t {
    for (std::size_t i = 0; i < w.graph.tasks.size(); ++i) {
      if (w.graph.names[w.graph.tasks[TaskId(static_cast<std::uint32_t>(i))].name] == name) return i;
    }
    return SIZE_MAX;
  };
  const Workload ahead = build_split(m, 1, 4);
  EXPECT_LT(gather_of(ahead, "blocks.2"), compute_of(ahead, "blocks.1.mm"));
  EXPECT_GT(gather_of(ahead, "blocks.2"), compute_of(ahead, "blocks.0.mm"));
  m.parallel.prefetch = 0;
  const Workload late = build_split(m, 1, 4);
  EXPECT_GT(gather_of(late, "blocks.2"), compute_of(late, "blocks.1.mm"));
}

TEST(ShardedGraph, RanksHoldTheirShareAndWhatIsGathered) {
  ModelSpec m = chained_blocks(6);
  const std::int64_t parameters = 7 * kBlockWeights;
  m.parallel.shard = StateSplit::weights;
  const RankMemory split = build_split(m, 1, 4).memory.front();
  EXPECT_EQ(split.optimizer, 8 * parameters / 4);
  EXPECT_EQ(split.weights, 4 * parameters / 4 + 4 * 3 * kBlockWeights);  // the root, a block, and the next one
  EXPECT_EQ(split.gradients, 4 * parameters / 4 + 4 * kBlockWeights);
  m.parallel.shard = StateSplit::optimizer;
  const RankMemory optimizer = build_split(m, 1, 4).memory.front();
  EXPECT_EQ(optimizer.gradients, 4 * parameters);
  EXPECT_EQ(optimizer.activations, split.activations);
}

TEST(ShardedGraph, RefusesInOneLine) {
  ModelSpec m = chained_blocks(2);
  m.parallel.shard = StateSplit::weights;
  m.parallel.shard_group = 3;
  auto w = build_workload(m, {}, {1, 4, kChainMemory});
  ASSERT_FALSE(w.ok());
  EXPECT_NE(w.error().text().find("model.parallel.shard_group: found 3"), std::string::npos) << w.error().text();
  m.parallel.shard_group = 0;
  m.as<GraphSpec>().units = {"layers.*"};
  w = build_workload(m, {}, {1, 4, kChainMemory});
  ASSERT_FALSE(w.ok());
  EXPECT_NE(w.error().text().find("'layers.*'"), std::string::npos) << w.error().text();
}

ModelSpec chained_tables() {
  ChainGraph chain(kChainWidth);
  chain.block("bottom").table(1000, 1, "tables.0").table(5000, 3, "tables.1").table(200, 1, "tables.2");
  ModelSpec m = graph_model(chain.block("top"));
  m.as<GraphSpec>().tables.all = true;
  m.parallel.tables.sharding = Sharding::table_wise;
  m.parallel.tables.placement = {0, 1, 0};
  return m;
}

TEST(TablesOfGraphs, AreFoundWhereOnlyLookupsReadThem) {
  const ModelSpec m = chained_tables();
  const std::vector<FoundTable> tables = find_tables(*m.as<GraphSpec>().graph);
  ASSERT_EQ(tables.size(), 3u);
  EXPECT_EQ(tables[1].rows, 5000);
  EXPECT_EQ(tables[1].dim, kChainWidth);
  EXPECT_DOUBLE_EQ(tables[1].ids, 3);
  EXPECT_EQ(tables[1].features, 1);
  opgraph::OpGraph tied = *m.as<GraphSpec>().graph;  // the words of a language model are also read by a product
  opgraph::Node product = tied.nodes.front();
  product.inputs[1].tensors = {tables[0].parameter};
  tied.nodes.insert(tied.nodes.begin() + 1, product);
  for (opgraph::Gradient& g : tied.gradients) ++g.after;
  EXPECT_EQ(find_tables(tied).size(), 2u);
}

/// The same tables of kind dlrm: as many bytes of ids, vectors and their gradients.
TEST(TablesOfGraphs, ExchangeWhatARecommenderExchanges) {
  ModelSpec dlrm;
  dlrm.family = find_family("dlrm");
  dlrm.per_gpu_batch = 16;
  dlrm.precision = Precision::fp32;
  dlrm.as<DlrmSpec>().embedding_dim = kChainWidth;
  dlrm.as<DlrmSpec>().bottom_mlp = {kChainWidth};
  dlrm.as<DlrmSpec>().tables = {{1000}, {5000, 0, 3}, {200}};
  for (const Sharding sharding : {Sharding::table_wise, Sharding::row_wise, Sharding::column_wise, Sharding::planner}) {
    ModelSpec m = chained_tables();
    m.parallel.tables.sharding = dlrm.parallel.tables.sharding = sharding;
    dlrm.parallel.tables.placement = m.parallel.tables.placement;
    const Workload ours = build_split(m, 2, 2), theirs = build_split(dlrm, 2, 2);
    for (const char* name : {"input.distribute", "embedding.exchange", "embedding.exchange.dgrad"}) {
      EXPECT_EQ(collective(ours.graph, name).kind, collective(theirs.graph, name).kind) << name;
      EXPECT_EQ(collective(ours.graph, name).bytes, collective(theirs.graph, name).bytes) << name;
      EXPECT_EQ(collective(ours.graph, name).send_bytes, collective(theirs.graph, name).send_bytes) << name;
    }
    EXPECT_EQ(ours.embedding_parameters, theirs.embedding_parameters);
    EXPECT_EQ(ours.dense_parameters, 2 * kBlockWeights);
    for (std::size_t r = 0; r < ours.memory.size(); ++r)
      EXPECT_EQ(ours.memory[r].embeddings, theirs.memory[r].embeddings) << r;
    EXPECT_EQ(collective_bytes(ours, graph::CollectiveKind::all_reduce),
              4 * 2 * kBlockWeights);  // tables are not reduced
  }
}

TEST(TablesOfGraphs, AreParametersLikeAnyWhereNobodyAsks) {
  ModelSpec m = chained_tables();
  m.as<GraphSpec>().tables = {};
  const Workload w = build_split(m, 1, 4);
  EXPECT_EQ(collective_bytes(w, graph::CollectiveKind::all_reduce), 4 * (2 * kBlockWeights + 6200 * kChainWidth));
  m.as<GraphSpec>().tables.all = true;
  m.parallel.tables.sharding = Sharding::data_parallel;
  EXPECT_EQ(collective_bytes(build_split(m, 1, 4), graph::CollectiveKind::all_reduce),
            4 * (2 * kBlockWeights + 6200 * kChainWidth));
}

TEST(TablesOfGraphs, RefusesInOneLine) {
  const auto refusal = [](const ModelSpec& m) {
    const auto w = build_workload(m, {}, {1, 4, kChainMemory});
    return w.ok() ? "" : w.error().text();
  };
  ModelSpec m = chained_blocks(2);
  m.as<GraphSpec>().tables.all = true;
  EXPECT_NE(refusal(m).find("model.graph.tables: found no parameter"), std::string::npos) << refusal(m);
  m = chained_tables();
  m.as<GraphSpec>().tables = {false, {"words"}};
  EXPECT_NE(refusal(m).find("'words'"), std::string::npos) << refusal(m);
  m = chained_tables();
  m.parallel.shard = StateSplit::weights, m.parallel.shard_group = 3;
  EXPECT_NE(refusal(m).find("model.parallel.shard_group: found 3"), std::string::npos) << refusal(m);
  m = chained_tables();
  m.as<GraphSpec>().tables = {};
  opgraph::OpGraph sparse = *m.as<GraphSpec>().graph;
  sparse.gradients.back().sparse = true;
  m.as<GraphSpec>().graph = std::make_shared<const opgraph::OpGraph>(sparse);
  EXPECT_NE(refusal(m).find("model.graph.tables: found none"), std::string::npos) << refusal(m);
}

/// Weights that are in no table are gathered and reduced as without tables; vectors travel as without split weights.
TEST(TablesOfGraphs, BesideSplitWeights) {
  for (const StateSplit shard : {StateSplit::optimizer, StateSplit::gradients, StateSplit::weights}) {
    ModelSpec m = chained_tables();
    const Workload whole = build_split(m, 1, 4);
    m.parallel.shard = shard;
    const Workload split = build_split(m, 1, 4);
    for (const char* name : {"input.distribute", "embedding.exchange", "embedding.exchange.dgrad"})
      EXPECT_EQ(collective(split.graph, name).bytes, collective(whole.graph, name).bytes) << name;
    EXPECT_EQ(collective_bytes(split, graph::CollectiveKind::all_gather), 4 * 2 * kBlockWeights);
    EXPECT_EQ(collective_bytes(split, graph::CollectiveKind::reduce_scatter), 4 * 2 * kBlockWeights);
    EXPECT_EQ(collective_bytes(split, graph::CollectiveKind::all_reduce), 0);
    EXPECT_EQ(split.embedding_parameters, whole.embedding_parameters);
    EXPECT_EQ(split.dense_parameters, whole.dense_parameters);
    for (std::size_t r = 0; r < split.memory.size(); ++r) {
      EXPECT_EQ(split.memory[r].embeddings, whole.memory[r].embeddings) << r;
      EXPECT_LT(split.memory[r].optimizer, whole.memory[r].optimizer) << r;
    }
    m.parallel.tables.placement.clear();
    const Workload alone = build_split(m, 1, 1), plain = [&] {
      ModelSpec without = m;
      without.parallel.shard = StateSplit::none;
      return build_split(without, 1, 1);
    }();
    EXPECT_EQ(alone.memory[0].total(), plain.memory[0].total());
    EXPECT_EQ(collective_bytes(alone, graph::CollectiveKind::all_gather), 0);
  }
}

}  // namespace
}  // namespace distsim::workload
