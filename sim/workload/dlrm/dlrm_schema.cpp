#include "sim/workload/dlrm/dlrm_spec.hpp"

namespace distsim::workload {
namespace {

constexpr Range kWidth{1, 1 << 24};
constexpr Range kRows{1, 1e13};
constexpr Range kSize{0, 1e18};

Schema<TableSpec> table_schema() {
  Schema<TableSpec> s("table", "An embedding table, or `count` identical ones.");
  s.required("rows", &TableSpec::rows, kRows, "Rows, i.e. distinct ids.");
  s.optional("dim", &TableSpec::dim, {0, 65536}, "Elements of a row; 0: the model's embedding_dim.");
  s.optional("pooling_factor", &TableSpec::pooling_factor, {1e-6, 1e6},
             "Mean number of ids per sample, which are summed into one vector.");
  s.optional("alpha", &TableSpec::alpha, {-1, 4},
             "Exponent of the power law of id popularity, 0 is uniform; -1: the model's index_skew.");
  s.optional("features", &TableSpec::features, {1, 10'000},
             "Inputs that share the table, each pooled into a separate vector; pooling_factor is their sum.");
  s.optional("count", &TableSpec::count, {1, 100'000}, "Number of tables like this one.");
  return s;
}

void add_dense_part(Schema<DlrmSpec>& s) {
  s.optional("dense_features", &DlrmSpec::dense_features, {0, 1 << 20}, "Dense (numerical) inputs per sample.");
  s.optional("embedding_dim", &DlrmSpec::embedding_dim, {1, 65536}, "Elements of an embedding vector.");
  s.scalars("bottom_mlp", &DlrmSpec::bottom_mlp, kWidth,
            "Layer widths of the MLP over the numerical inputs; empty: they enter the interaction unchanged.");
  s.scalars("top_mlp", &DlrmSpec::top_mlp, kWidth,
            "Layer widths of the MLP after the interaction; the last is 1 for a click probability.");
  s.optional("top_dropout", &DlrmSpec::top_dropout, "Dropout after every hidden layer of the top MLP.");
  s.choice("interaction", &DlrmSpec::interaction,
           {{"dot", InteractionKind::dot}, {"dcn_v2", InteractionKind::dcn_v2}, {"concat", InteractionKind::concat}},
           "How vectors interact: pairwise dot products, low-rank cross layers, or concatenation only.");
  s.optional("cross_layers", &DlrmSpec::cross_layers, {1, 1000}, "dcn_v2: number of cross layers.");
  s.optional("cross_rank", &DlrmSpec::cross_rank, {0, 65536}, "dcn_v2: rank of a cross layer; 0: full matrix.");
  s.optional("concat_stride", &DlrmSpec::concat_stride, {1, 65536},
             "concat: average pooling of the concatenated vectors over this many adjacent elements.");
}

void add_embedding_part(Schema<DlrmSpec>& s) {
  s.list("tables", &DlrmSpec::tables, table_schema(), false, 20'000);
  s.optional("index_skew", &DlrmSpec::index_skew, {0, 4}, "Exponent of the power law of id popularity; 0 is uniform.");
  s.choice("embedding_dtype", &DlrmSpec::embedding_dtype,
           {{"fp32", graph::DType::fp32}, {"fp16", graph::DType::fp16}, {"bf16", graph::DType::bf16}},
           "Storage type of the tables.");
  s.choice("exchange_dtype", &DlrmSpec::exchange_dtype,
           {{"auto", std::nullopt},
            {"fp32", graph::DType::fp32},
            {"fp16", graph::DType::fp16},
            {"bf16", graph::DType::bf16}},
           "Type of pooled vectors in the exchange; auto: that of the activations.");
  s.choice("embedding_optimizer", &DlrmSpec::embedding_optimizer,
           {{"none", graph::EmbeddingOptimizer::none},
            {"sgd", graph::EmbeddingOptimizer::sgd},
            {"rowwise_adagrad", graph::EmbeddingOptimizer::rowwise_adagrad},
            {"adagrad", graph::EmbeddingOptimizer::adagrad},
            {"adam", graph::EmbeddingOptimizer::adam}},
           "Optimizer of the tables; none: frozen.");
}

void add_sharding_part(Schema<DlrmSpec>& s) {
  s.choice("sharding", &DlrmSpec::sharding,
           {{"planner", Sharding::planner},
            {"table_wise", Sharding::table_wise},
            {"row_wise", Sharding::row_wise},
            {"column_wise", Sharding::column_wise},
            {"data_parallel", Sharding::data_parallel}},
           "How the tables are distributed over the ranks.");
  s.choice(
      "balance", &DlrmSpec::balance,
      {{"cost", Balance::cost},
       {"basic", Balance::basic},
       {"memory_balanced", Balance::memory_balanced},
       {"memory_optimized", Balance::memory_optimized}},
      "planner: how tables are dealt to the ranks. cost: balances lookups and exchange, splitting costly tables (NVIDIA's MLPerf planner). The strategies of distributed-embeddings: basic, in turn; memory_balanced, sorted by size and back and forth; memory_optimized, the largest first to the emptiest rank. With fewer tables than ranks these cut the largest by columns.");
  s.optional(
      "data_parallel_below", &DlrmSpec::data_parallel_below, kSize,
      "planner, row_wise, column_wise: tables smaller than this with their optimizer state are replicated on every rank.");
  s.optional("data_parallel_below_nodes", &DlrmSpec::data_parallel_below_nodes, kSize,
             "The same limit on several nodes; 0: as on one node.");
  s.optional(
      "table_memory", &DlrmSpec::table_memory, kSize,
      "planner: memory per GPU for tables and their optimizer state, at most; 0: what the rest of the model leaves.");
  s.optional(
      "bandwidth_ratio", &DlrmSpec::bandwidth_ratio, {0, 1e6},
      "planner: ratio of GPU memory bandwidth to exchange bandwidth (NVIDIA's MEM_COMM_BW_RATIO); 0: 7 on one node, 67 on several.");
  s.optional(
      "work_ratio", &DlrmSpec::work_ratio, {1e-6, 1e6},
      "planner: ratio of the memory traffic of a lookup to the exchange traffic of a pooled vector (NVIDIA's MEM_COMM_WORK_RATIO).");
  s.optional("row_wise_above", &DlrmSpec::row_wise_above, kSize,
             "planner: tables larger than this are split by rows; 0: only those that do not fit.");
  s.optional("column_wise_above", &DlrmSpec::column_wise_above, kSize,
             "planner: tables larger than this are split by columns; 0: never.");
  s.scalars("placement", &DlrmSpec::placement, {0, 4e9}, "table_wise: the rank that holds each table.");
  s.optional(
      "swept_parameters", &DlrmSpec::swept_parameters, kSize,
      "Embedding parameters per GPU that the optimizer updates every step, used or not (Adam with global update: capacity x width); 0: only those used.");
  s.optional("exchange_through_host", &DlrmSpec::exchange_through_host,
             "Pooled vectors are exchanged between GPUs through host memory.");
  s.optional(
      "distribute_input", &DlrmSpec::distribute_input,
      "Ids are sent to the ranks that hold the tables; otherwise each of these reads its own ids of the global batch.");
}

}  // namespace

Schema<DlrmSpec> dlrm_schema() {
  Schema<DlrmSpec> s("dlrm", "A recommender: embedding tables, MLPs and an interaction.");
  add_dense_part(s);
  add_embedding_part(s);
  add_sharding_part(s);
  return s;
}

}  // namespace distsim::workload
