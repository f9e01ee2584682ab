// ModelSpec: what is trained, as in configs/models/<name>.yaml. `kind` decides which sub-section counts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/config/schema.hpp"
#include "sim/graph/op.hpp"
#include "sim/workload/specs/megatron_spec.hpp"

namespace distsim::workload {

enum class ModelKind : std::uint8_t { dlrm, resnet, transformer, mlp, transformer_xl, ssd, ncf, program, megatron };
enum class Precision : std::uint8_t {
  fp32,
  tf32,
  fp16,
  bf16,
  fp8
};  ///< fp16, bf16, fp8: mixed precision with fp32 master weights

struct TableSpec {
  std::int64_t rows = 0;
  std::int64_t dim = 0;  ///< 0: the model's embedding_dim
  double pooling_factor = 1;
  double alpha = -1;  ///< -1: the model's index_skew
  std::int64_t features =
      1;  ///< inputs that share the table, each pooled into a vector of its own; pooling_factor is their sum
  std::int64_t count = 1;  ///< this many tables like it
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
  std::int64_t concat_stride = 1;  ///< concat: average pooling of the concatenated vectors over this many neighbours
  std::vector<TableSpec> tables;
  double index_skew = 1.05;              ///< power-law exponent of the index popularity
  std::string embedding_dtype = "fp32";  ///< storage of the tables
  std::string exchange_dtype = "auto";   ///< of the pooled vectors on the wire; auto: the compute type
  graph::EmbeddingOptimizer embedding_optimizer = graph::EmbeddingOptimizer::sgd;
  Sharding sharding = Sharding::planner;
  std::string balance = "cost";  ///< planner: what is levelled over the ranks: cost (lookups and exchange) or memory
  Bytes data_parallel_below{
      0};  ///< planner, row_wise, column_wise: tables smaller than this, with optimizer state, are replicated
  Bytes data_parallel_below_nodes{0};  ///< the same on several nodes; 0: as on one
  Bytes table_memory{0};  ///< planner: most that a GPU spends on tables and their optimizer state; 0: what is left
  double bandwidth_ratio =
      0;                    ///< planner: bandwidth of memory over that of exchange; 0: 7 within a node, 67 across nodes
  double work_ratio = 4;    ///< planner: memory traffic of a lookup over exchange traffic of a pooled vector
  Bytes row_wise_above{0};  ///< planner: tables larger than this are split by rows (0: only if they do not fit)
  Bytes column_wise_above{0};           ///< planner: tables larger than this are split by columns (0: never)
  std::vector<std::int64_t> placement;  ///< table_wise: rank of every table, overrides the planner
  bool top_dropout = false;             ///< dropout after every hidden layer of the top MLP
  std::int64_t swept_parameters = 0;    ///< of each GPU: visited by the sparse optimizer every step, used or not
  bool exchange_through_host = false;   ///< pooled vectors pass through host memory
  bool distribute_input =
      true;  ///< indices travel to the tables' owners (all-to-all of ids); false: model-parallel input
};

struct TransformerSpec {
  std::string family = "bert";                                          ///< bert, gpt
  std::int64_t layers = 24, hidden = 1024, heads = 16, ffn_hidden = 0;  ///< ffn_hidden 0: 4 x hidden
  std::int64_t sequence = 512, vocabulary = 30522;
  std::int64_t mean_tokens =
      0;  ///< of a sample of the corpus before padding; 0: sequence. Counts where the framework bins by length
  std::int64_t positions = 0;    ///< rows of the position embedding; 0: 512 for bert, else sequence
  std::int64_t predictions = 0;  ///< masked positions a sequence whose logits are computed; 0: all
  bool activation_checkpointing = false;
  bool dropout = true;
  std::int64_t position_rows() const {
    return positions > 0 ? positions : family == "bert" && sequence < 512 ? 512 : sequence;
  }
};

struct ResnetSpec {
  std::int64_t depth = 50;
  std::string variant = "v1.5";  ///< v1, v1b, v1.5: where the stride sits
  std::int64_t image = 224, classes = 1000;
  bool channels_last = true;
};

struct MlpSpec {
  std::int64_t inputs = 1024;
  std::vector<std::int64_t> layers{4096, 4096, 1024};
};

struct TransformerXlSpec {
  std::int64_t layers = 16, hidden = 512, heads = 8, head_dim = 64, ffn_hidden = 2048;
  std::int64_t target_length = 192,
               memory_length = 192;  ///< tokens of a segment, and of the memory that it attends to besides
  std::int64_t vocabulary = 267735;
  std::vector<std::int64_t> cutoffs{20000, 40000, 200000};  ///< ranks at which clusters of the adaptive softmax begin
  std::int64_t div_value = 1;  ///< each cluster's vectors are this much narrower than the one's before
  double tail_tokens = 0.065;  ///< share of the tokens outside the first cluster
  double tail_exponent = 1.8;  ///< of the power law of word frequency there
  bool dropout = true;
};

struct SsdSpec {
  std::int64_t depth = 50;                 ///< of the ResNet backbone
  std::int64_t image = 300, classes = 81;  ///< classes with the background
  bool channels_last = true;
};

struct NcfSpec {
  std::int64_t users = 138493, items = 26744;
  std::int64_t factors = 64;
  std::vector<std::int64_t> mlp{256, 256, 128,
                                64};  ///< the first is the width of the concatenated user and item vectors
  double index_skew = 0.5;            ///< power-law exponent of the popularity of users and items
  bool dropout = true;
};

/// One step of a program that is described by what it does: computation of a measured time, or a collective.
struct ProgramStep {
  std::string name = "step";
  Duration compute;           ///< measured; 0 where the step is a collective
  std::string collective;     ///< all_reduce, all_to_all, ...; empty where the step is computation
  Bytes size{0};              ///< size column of nccl-tests
  std::string group = "all";  ///< all, node (each node by itself) or rails (equal places of all nodes)
};

/// Steps one after another, each waiting for the one before: an MPI program's loop.
struct ProgramSpec {
  std::vector<ProgramStep> steps;
};

struct ModelSpec {
  std::string name;
  std::string description;
  ModelKind kind = ModelKind::dlrm;
  std::int64_t global_batch = 0;   ///< samples per optimizer step, all ranks and micro-steps
  std::int64_t per_gpu_batch = 0;  ///< instead of global_batch: samples per GPU and micro-step (weak scaling)
  bool memory_check = true;  ///< refuse a dense model whose counted memory exceeds the GPU's; else say so and go on
  std::int64_t accumulation = 1;  ///< micro-steps per optimizer step
  Precision precision = Precision::fp16;
  graph::OptimizerKind optimizer = graph::OptimizerKind::sgd;
  DlrmSpec dlrm;
  TransformerSpec transformer;
  ResnetSpec resnet;
  MlpSpec mlp;
  TransformerXlSpec transformer_xl;
  SsdSpec ssd;
  NcfSpec ncf;
  ProgramSpec program;
  MegatronSpec megatron;
  std::string source;
};

Schema<ModelSpec> model_schema();

}  // namespace distsim::workload
