// ModelSpec: what is trained, as in configs/models/<name>.yaml. `kind` decides which sub-section counts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/schema.hpp"
#include "sim/graph/op.hpp"

namespace distsim {

enum class ModelKind : std::uint8_t { dlrm, resnet, transformer, mlp };
enum class Precision : std::uint8_t { fp32, tf32, fp16, bf16, fp8 };  ///< fp16, bf16, fp8: mixed precision with fp32 master weights

struct TableSpec {
  std::int64_t rows = 0;
  std::int64_t dim = 0;           ///< 0: the model's embedding_dim
  double pooling_factor = 1;
  double alpha = -1;              ///< -1: the model's index_skew
  std::int64_t features = 1;      ///< inputs that share the table, each pooled into a vector of its own; pooling_factor is their sum
  std::int64_t count = 1;         ///< this many tables like it
};

enum class InteractionKind : std::uint8_t { dot, dcn_v2, concat };
enum class Sharding : std::uint8_t { planner, table_wise, row_wise, column_wise, data_parallel };

struct DlrmSpec {
  std::int64_t dense_features = 13;
  std::int64_t embedding_dim = 128;
  std::vector<std::int64_t> bottom_mlp{512, 256, 128};
  std::vector<std::int64_t> top_mlp{1024, 1024, 512, 256, 1};
  InteractionKind interaction = InteractionKind::dot;
  std::int64_t cross_layers = 3, cross_rank = 512;
  std::int64_t concat_stride = 1;                  ///< concat: average pooling of the concatenated vectors over this many neighbours
  std::vector<TableSpec> tables;
  double index_skew = 1.05;                        ///< power-law exponent of the index popularity
  std::string embedding_dtype = "fp32";            ///< storage of the tables
  std::string exchange_dtype = "auto";             ///< of the pooled vectors on the wire; auto: the compute type
  EmbeddingOptimizer embedding_optimizer = EmbeddingOptimizer::sgd;
  Sharding sharding = Sharding::planner;
  std::string balance = "cost";                    ///< planner: what is levelled over the ranks: cost (lookups and exchange) or memory
  Bytes data_parallel_below{0};                    ///< planner: tables smaller than this are replicated
  Bytes row_wise_above{0};                         ///< planner: tables larger than this are split by rows (0: only if they do not fit)
  Bytes column_wise_above{0};                      ///< planner: tables larger than this are split by columns (0: never)
  std::vector<std::int64_t> placement;             ///< table_wise: rank of every table, overrides the planner
  bool distribute_input = true;                    ///< indices travel to the tables' owners (all-to-all of ids); false: model-parallel input
};

struct TransformerSpec {
  std::string family = "bert";                     ///< bert, gpt
  std::int64_t layers = 24, hidden = 1024, heads = 16, ffn_hidden = 0;  ///< ffn_hidden 0: 4 x hidden
  std::int64_t sequence = 512, vocabulary = 30522;
  std::int64_t positions = 0;                      ///< rows of the position embedding; 0: 512 for bert, else sequence
  std::int64_t predictions = 0;                    ///< masked positions a sequence whose logits are computed; 0: all
  bool activation_checkpointing = false;
  bool dropout = true;
  std::int64_t position_rows() const { return positions > 0 ? positions : family == "bert" && sequence < 512 ? 512 : sequence; }
};

struct ResnetSpec {
  std::int64_t depth = 50;
  std::string variant = "v1.5";                    ///< v1, v1b, v1.5: where the stride sits
  std::int64_t image = 224, classes = 1000;
  bool channels_last = true;
};

struct MlpSpec {
  std::int64_t inputs = 1024;
  std::vector<std::int64_t> layers{4096, 4096, 1024};
};

struct ModelSpec {
  std::string name;
  std::string description;
  ModelKind kind = ModelKind::dlrm;
  std::int64_t global_batch = 0;                   ///< samples per optimizer step, all ranks and micro-steps
  std::int64_t per_gpu_batch = 0;                  ///< instead of global_batch: samples per GPU and micro-step (weak scaling)
  std::int64_t accumulation = 1;                   ///< micro-steps per optimizer step
  Precision precision = Precision::fp16;
  OptimizerKind optimizer = OptimizerKind::sgd;
  DlrmSpec dlrm;
  TransformerSpec transformer;
  ResnetSpec resnet;
  MlpSpec mlp;
  std::string source;
};

Schema<ModelSpec> model_schema();

}  // namespace distsim
