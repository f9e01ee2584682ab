#include "base/text/quantity_text.hpp"
#include "sim/workload/dlrm/dlrm_spec.hpp"

namespace distsim::workload {
namespace {

constexpr Range kWidth{1, 1 << 24};
constexpr Range kRows{1, 1e13};
constexpr Range kSize{0, 1e18};
constexpr const char* kCrossRank =
    "dcn_v2: rank of a cross layer, at most its width; 0: full matrix, as where it is not given and 512 or less are wide.";

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
  s.rule([](const TableSpec& t) -> std::optional<std::string> {
    if (t.alpha >= 0 || t.alpha == -1) return std::nullopt;
    return "alpha: found " + format_quantity(t.alpha, Dimension::none) + ", expected 0 .. 4, or -1";
  });
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
  s.custom({"cross_rank", "integer", "0 .. 65536", "512", kCrossRank}, false,
           [](DlrmSpec& out, const ConfigNode& node, const std::string& path) -> Result<void> {
             TRY_ASSIGN(out.cross_rank, (schema_detail::read_scalar<std::int64_t>(node, path, {0, 65536})));
             return {};
           });
  s.optional("concat_stride", &DlrmSpec::concat_stride, {1, 65536},
             "concat: average pooling of the concatenated vectors over this many adjacent elements.");
}

void add_lookup_part(Schema<DlrmSpec>& s) {
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

/// How tables are split, in files written before the section `parallel` had those keys.
constexpr MovedKey kMovedToParallel[] = {
    {"sharding", "parallel.sharding", "", MovedKey::From::top},
    {"balance", "parallel.balance", "", MovedKey::From::top},
    {"data_parallel_below", "parallel.data_parallel_below", "", MovedKey::From::top},
    {"data_parallel_below_nodes", "parallel.data_parallel_below_nodes", "", MovedKey::From::top},
    {"table_memory", "parallel.table_memory", "", MovedKey::From::top},
    {"bandwidth_ratio", "parallel.bandwidth_ratio", "", MovedKey::From::top},
    {"work_ratio", "parallel.work_ratio", "", MovedKey::From::top},
    {"row_wise_above", "parallel.row_wise_above", "", MovedKey::From::top},
    {"column_wise_above", "parallel.column_wise_above", "", MovedKey::From::top},
    {"placement", "parallel.placement", "", MovedKey::From::top},
    {"exchange_through_host", "parallel.exchange_through_host", "", MovedKey::From::top},
    {"distribute_input", "parallel.distribute_input", "", MovedKey::From::top},
};

}  // namespace

Schema<DlrmSpec> lookup_schema(const std::string& section) {
  Schema<DlrmSpec> s(section, "How embedding tables are looked up.");
  add_lookup_part(s);
  return s;
}

Schema<DlrmSpec> dlrm_schema() {
  Schema<DlrmSpec> s("dlrm", "A recommender: embedding tables, MLPs and an interaction.");
  add_dense_part(s);
  s.list("tables", &DlrmSpec::tables, table_schema(), false, 20'000);
  add_lookup_part(s);
  s.optional(
      "swept_parameters", &DlrmSpec::swept_parameters, kSize,
      "Embedding parameters per GPU that the optimizer updates every step, used or not (Adam with global update: capacity x width); 0: only those used.");
  s.moved(kMovedToParallel);
  return s;
}

}  // namespace distsim::workload
