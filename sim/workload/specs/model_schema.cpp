#include "sim/workload/specs/model_spec.hpp"

namespace distsim::workload {
namespace {

constexpr Range kWidth{1, 1 << 24};
constexpr Range kLayers{1, 10'000};
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
  s.choice<std::string>("embedding_dtype", &DlrmSpec::embedding_dtype,
                        {{"fp32", "fp32"}, {"fp16", "fp16"}, {"bf16", "bf16"}}, "Storage type of the tables.");
  s.choice<std::string>("exchange_dtype", &DlrmSpec::exchange_dtype,
                        {{"auto", "auto"}, {"fp32", "fp32"}, {"fp16", "fp16"}, {"bf16", "bf16"}},
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
  s.choice<std::string>(
      "balance", &DlrmSpec::balance, {{"cost", "cost"}, {"memory", "memory"}},
      "planner: what is balanced over the ranks: cost (lookups and exchange, splitting costly tables) or memory.");
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

Schema<DlrmSpec> dlrm_schema() {
  Schema<DlrmSpec> s("dlrm", "A recommender: embedding tables, MLPs and an interaction.");
  add_dense_part(s);
  add_embedding_part(s);
  add_sharding_part(s);
  return s;
}

Schema<TransformerSpec> transformer_schema() {
  Schema<TransformerSpec> s("transformer", "A BERT or GPT-2 style transformer.");
  s.choice<std::string>("family", &TransformerSpec::family, {{"bert", "bert"}, {"gpt", "gpt"}},
                        "Encoder with masked positions, or causal decoder.");
  s.optional("layers", &TransformerSpec::layers, kLayers, "Transformer blocks.");
  s.optional("hidden", &TransformerSpec::hidden, kWidth, "Width of the residual stream.");
  s.optional("heads", &TransformerSpec::heads, {1, 65536}, "Attention heads; divides hidden.");
  s.optional("ffn_hidden", &TransformerSpec::ffn_hidden, {0, 1 << 24}, "Width inside the MLP; 0: 4 x hidden.");
  s.optional("sequence", &TransformerSpec::sequence, {1, 1 << 24}, "Tokens per sample.");
  s.optional("mean_tokens", &TransformerSpec::mean_tokens, {0, 1 << 24},
             "Mean tokens per sample before padding, for frameworks that batch by length; 0: the full sequence.");
  s.optional("vocabulary", &TransformerSpec::vocabulary, {1, 1 << 26}, "Rows of the token embedding.");
  s.optional("positions", &TransformerSpec::positions, {0, 1 << 24},
             "Rows of the position embedding; 0: at least 512 for bert, otherwise sequence.");
  s.optional("predictions", &TransformerSpec::predictions, {0, 1 << 24},
             "bert: masked positions per sample whose logits are computed; 0: all.");
  s.optional("activation_checkpointing", &TransformerSpec::activation_checkpointing,
             "Activation checkpointing: blocks keep only their input and are recomputed in the backward pass.");
  s.optional("dropout", &TransformerSpec::dropout, "Dropout after attention and MLP.");
  s.rule([](const TransformerSpec& t) -> std::optional<std::string> {
    if (t.hidden % t.heads == 0) return {};
    return "hidden: found " + std::to_string(t.hidden) + ", expected a multiple of heads (" + std::to_string(t.heads) +
           ")";
  });
  return s;
}

Schema<ResnetSpec> resnet_schema() {
  Schema<ResnetSpec> s("resnet", "A residual network for images.");
  s.choice<std::int64_t>("depth", &ResnetSpec::depth, {{"18", 18}, {"34", 34}, {"50", 50}, {"101", 101}, {"152", 152}},
                         "Layers with weights.");
  s.choice<std::string>(
      "variant", &ResnetSpec::variant, {{"v1", "v1"}, {"v1b", "v1b"}, {"v1.5", "v1.5"}},
      "Which convolution of a downsampling bottleneck has the stride: v1 the first 1x1; v1.5 and v1b the 3x3.");
  s.optional("image", &ResnetSpec::image, {32, 8192}, "Height and width of an image.");
  s.optional("classes", &ResnetSpec::classes, kWidth, "Classes, i.e. outputs of the classifier.");
  s.optional("channels_last", &ResnetSpec::channels_last, "Activations are stored as NHWC.");
  return s;
}

Schema<MlpSpec> mlp_schema() {
  Schema<MlpSpec> s("mlp", "Fully connected layers.");
  s.optional("inputs", &MlpSpec::inputs, kWidth, "Features per sample.");
  s.scalars("layers", &MlpSpec::layers, kWidth, "Layer widths.");
  s.rule([](const MlpSpec& m) {
    return m.layers.empty() ? std::optional<std::string>("layers: found none, expected at least one") : std::nullopt;
  });
  return s;
}

Schema<TransformerXlSpec> transformer_xl_schema() {
  Schema<TransformerXlSpec> s("transformer_xl", "Transformer-XL with an adaptive softmax.");
  s.optional("layers", &TransformerXlSpec::layers, kLayers, "Blocks.");
  s.optional("hidden", &TransformerXlSpec::hidden, {1, 1 << 20}, "Width.");
  s.optional("heads", &TransformerXlSpec::heads, {1, 65536}, "Attention heads.");
  s.optional("head_dim", &TransformerXlSpec::head_dim, {1, 65536}, "Width of a head.");
  s.optional("ffn_hidden", &TransformerXlSpec::ffn_hidden, {1, 1 << 24}, "Width inside the MLP.");
  s.optional("target_length", &TransformerXlSpec::target_length, {1, 1 << 24}, "Tokens per segment.");
  s.optional("memory_length", &TransformerXlSpec::memory_length, {0, 1 << 24},
             "Tokens before the segment that it also attends to.");
  s.optional("vocabulary", &TransformerXlSpec::vocabulary, {1, 1 << 26}, "Words.");
  s.scalars("cutoffs", &TransformerXlSpec::cutoffs, {1, 1 << 26},
            "Frequency ranks at which the second and later clusters of the adaptive softmax begin.");
  s.optional("div_value", &TransformerXlSpec::div_value, {1, 64},
             "Factor by which each cluster's vectors are narrower than the previous cluster's.");
  s.optional("tail_tokens", &TransformerXlSpec::tail_tokens, {0, 1},
             "Fraction of the tokens outside the first cluster.");
  s.optional("tail_exponent", &TransformerXlSpec::tail_exponent, {0, 10},
             "Exponent of the power law of word frequency in the tail.");
  s.optional("dropout", &TransformerXlSpec::dropout, "Dropout after embedding, attention and MLP.");
  return s;
}

Schema<SsdSpec> ssd_schema() {
  Schema<SsdSpec> s("ssd", "SSD detector on a ResNet truncated after its third stage.");
  s.choice<std::int64_t>("depth", &SsdSpec::depth, {{"18", 18}, {"34", 34}, {"50", 50}},
                         "Layers with weights in the backbone.");
  s.optional("image", &SsdSpec::image, {264, 8192}, "Height and width of an image.");
  s.optional("classes", &SsdSpec::classes, kWidth, "Classes, including the background.");
  s.optional("channels_last", &SsdSpec::channels_last, "Activations are stored as NHWC.");
  return s;
}

Schema<NcfSpec> ncf_schema() {
  Schema<NcfSpec> s("ncf", "NeuMF collaborative filtering, all tables replicated.");
  s.optional("users", &NcfSpec::users, kRows, "Users.");
  s.optional("items", &NcfSpec::items, kRows, "Items.");
  s.optional("factors", &NcfSpec::factors, {1, 65536}, "Width of the matrix factorization vectors.");
  s.scalars("mlp", &NcfSpec::mlp, kWidth,
            "Widths of the MLP, starting with that of the concatenated user and item vectors.");
  s.optional("index_skew", &NcfSpec::index_skew, {0, 4}, "Exponent of the power law of users' and items' popularity.");
  s.optional("dropout", &NcfSpec::dropout, "Dropout after each layer of the MLP.");
  return s;
}

Schema<ProgramStep> program_step_schema() {
  Schema<ProgramStep> s("step", "A computation with a measured time, or a collective.");
  s.optional("name", &ProgramStep::name, "Name in reports.");
  s.optional("compute", &ProgramStep::compute, {0, 1e5}, "Time of the computation on every rank, as measured.");
  s.optional("collective", &ProgramStep::collective, "Kind of collective, as in `distsim list collectives`.");
  s.optional("size", &ProgramStep::size, {0, 1e15}, "Its size, as in the size column of nccl-tests.");
  s.choice<std::string>(
      "group", &ProgramStep::group, {{"all", "all"}, {"node", "node"}, {"rails", "rails"}},
      "Its groups: all ranks, the ranks of each node, or the GPUs with the same local index on all nodes.");
  s.rule([](const ProgramStep& step) -> std::optional<std::string> {
    const bool computes = step.compute > Duration{}, talks = !step.collective.empty();
    if (computes == talks)
      return "name: found '" + step.name + "' with " + (computes ? "both" : "neither") +
             ", expected compute or collective";
    if (!talks) return std::nullopt;
    const auto kind = graph::parse_collective(step.collective);
    return kind.ok() ? std::nullopt : std::optional("collective: " + kind.error().what);
  });
  return s;
}

Schema<ProgramSpec> program_schema() {
  Schema<ProgramSpec> s("program", "A program described step by step.");
  s.list("steps", &ProgramSpec::steps, program_step_schema(), false, 10'000);
  return s;
}

void add_training(Schema<ModelSpec>& s) {
  s.optional("global_batch", &ModelSpec::global_batch, {0, 1e12},
             "Samples per optimizer step over all ranks and micro-steps.");
  s.optional("per_gpu_batch", &ModelSpec::per_gpu_batch, {0, 1e9},
             "Instead of global_batch: samples per GPU and micro-step.");
  s.optional(
      "memory_check", &ModelSpec::memory_check,
      "Refuse a dense model whose estimated weights, gradients and activations exceed GPU memory; false: list this as an assumption and continue.");
  s.optional("accumulation", &ModelSpec::accumulation, {1, 1e6},
             "Micro-steps whose gradients are summed before the optimizer step.");
  s.choice("precision", &ModelSpec::precision,
           {{"fp32", Precision::fp32},
            {"tf32", Precision::tf32},
            {"fp16", Precision::fp16},
            {"bf16", Precision::bf16},
            {"fp8", Precision::fp8}},
           "Arithmetic; fp16, bf16 and fp8 are mixed precision with fp32 master weights.");
  s.choice("optimizer", &ModelSpec::optimizer,
           {{"sgd", graph::OptimizerKind::sgd},
            {"momentum", graph::OptimizerKind::momentum},
            {"adagrad", graph::OptimizerKind::adagrad},
            {"adam", graph::OptimizerKind::adam},
            {"lamb", graph::OptimizerKind::lamb},
            {"lars", graph::OptimizerKind::lars}},
           "Optimizer of the dense weights.");
}

}  // namespace

Schema<ModelSpec> model_schema() {
  Schema<ModelSpec> s("model", "The model to train.");
  s.optional("name", &ModelSpec::name, "Name in reports.");
  s.optional("description", &ModelSpec::description, "One-sentence description.");
  s.choice("kind", &ModelSpec::kind,
           {{"dlrm", ModelKind::dlrm},
            {"resnet", ModelKind::resnet},
            {"transformer", ModelKind::transformer},
            {"mlp", ModelKind::mlp},
            {"transformer_xl", ModelKind::transformer_xl},
            {"ssd", ModelKind::ssd},
            {"ncf", ModelKind::ncf},
            {"program", ModelKind::program},
            {"megatron", ModelKind::megatron}},
           "Model family, which is also the name of the section below that applies.", true);
  add_training(s);
  s.nested("dlrm", &ModelSpec::dlrm, dlrm_schema());
  s.nested("transformer", &ModelSpec::transformer, transformer_schema());
  s.nested("resnet", &ModelSpec::resnet, resnet_schema());
  s.nested("mlp", &ModelSpec::mlp, mlp_schema());
  s.nested("transformer_xl", &ModelSpec::transformer_xl, transformer_xl_schema());
  s.nested("ssd", &ModelSpec::ssd, ssd_schema());
  s.nested("ncf", &ModelSpec::ncf, ncf_schema());
  s.nested("program", &ModelSpec::program, program_schema());
  s.nested("megatron", &ModelSpec::megatron, megatron_schema());
  s.optional("source", &ModelSpec::source, "Where the figures come from.");
  return s;
}

}  // namespace distsim::workload
