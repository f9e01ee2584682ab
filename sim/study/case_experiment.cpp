#include "sim/study/case_experiment.hpp"

#include <algorithm>
#include <regex>

namespace distsim::study {
namespace {

/// GPT of Megatron-LM: tied embeddings, vocabulary of GPT-2 padded to a multiple of 128, activation checkpointing.
workload::ModelSpec megatron_gpt(const std::smatch& ids) {
  workload::ModelSpec m;
  m.name = ids[0];
  m.kind = workload::ModelKind::transformer;
  m.optimizer = graph::OptimizerKind::adam;
  m.transformer.family = "gpt";
  m.transformer.hidden = std::stoll(ids[1]);
  m.transformer.layers = std::stoll(ids[2]);
  m.transformer.heads = std::stoll(ids[3]);
  m.transformer.sequence = std::stoll(ids[4]);
  m.transformer.vocabulary = 50304;
  m.transformer.activation_checkpointing = true;
  return m;
}

/// Wide and Deep of HugeCTR as DLPerf ran it: `layers` of `width` with dropout, a deep table for 26 slots and a wide
/// one of width 1, both of `vocabulary` rows on each GPU, Adam over all of them (configs/models/wide_deep_*.yaml says
/// the same of the sizes that were published).
workload::ModelSpec wide_deep(const std::smatch& ids) {
  const std::int64_t layers = std::stoll(ids[1]), width = std::stoll(ids[2]), dim = std::stoll(ids[3]),
                     vocabulary = std::stoll(ids[4]);
  workload::ModelSpec m;
  m.name = ids[0];
  m.kind = workload::ModelKind::dlrm;
  m.optimizer = graph::OptimizerKind::adam;
  workload::DlrmSpec& d = m.dlrm;
  d.embedding_dim = dim;
  d.bottom_mlp = {};
  d.interaction = workload::InteractionKind::concat;
  d.top_mlp.assign(static_cast<std::size_t>(layers), width);
  d.top_mlp.push_back(1);
  d.embedding_optimizer = graph::EmbeddingOptimizer::adam;
  d.top_dropout = d.exchange_through_host = true;
  d.distribute_input = false;
  d.swept_parameters = vocabulary * (dim + 1);
  workload::TableSpec slot, wide;
  slot.rows = std::max<std::int64_t>(1, vocabulary / 26);
  slot.count = 26;
  wide.rows = vocabulary;
  wide.dim = 1;
  wide.pooling_factor = 4;
  d.tables = {slot, wide};
  return m;
}

/// Whether a case was submitted to this round of MLPerf Training, "v1.0".
bool of_round(const MeasuredCase& c, const std::string& round) {
  return c.case_id.starts_with("mlperf-" + round + "-") || c.series.find("|" + round + "|") != std::string::npos;
}

/// HugeCTR's profiles follow its releases; a round of MLPerf, or the year of DLPerf's Wide and Deep, tells which one
/// ran.
std::string hugectr_release(const MeasuredCase& c) {
  if (of_round(c, "v0.7") || c.model_id.starts_with("wide_deep_")) return "hugectr_2020";
  return of_round(c, "v1.0") ? "hugectr_2021_05" : "hugectr";
}

/// NVIDIA's PyTorch recommenders are hybrid parallel in a way of their own; the other models use the framework as it
/// is.
std::string framework_of(const MeasuredCase& c, workload::ModelKind kind) {
  if (c.framework_id == "hugectr") return hugectr_release(c);
  return c.framework_id == "pytorch" && kind == workload::ModelKind::dlrm ? "pytorch_dlrm" : c.framework_id;
}

/// MLPerf Training v3.0 ran DLRM-DCNv2 without data-parallel tables: thresholds for those came with v3.1 (printed in
/// the submissions' logs).
bool replicates_no_tables(const MeasuredCase& c) { return of_round(c, "v3.0") && c.model_id.starts_with("dlrm_dcnv2"); }

}  // namespace

Result<workload::ModelSpec> model_by_id(const std::string& id) {
  static const std::regex gpt("gpt_h([0-9]{1,6})_l([0-9]{1,4})_a([0-9]{1,4})_s([0-9]{1,6})");
  std::smatch match;
  if (std::regex_match(id, match, gpt)) return megatron_gpt(match);
  static const std::regex wide("wide_deep_fc([0-9]{1,2})x([0-9]{1,5})_dim([0-9]{1,4})_vocab([0-9]{1,10})");
  if (std::regex_match(id, match, wide) && std::stoll(match[1]) > 0 && std::stoll(match[2]) > 0 &&
      std::stoll(match[3]) > 0 && std::stoll(match[4]) > 0) {
    return wide_deep(match);
  }
  return config::load_model(id);
}

Result<workload::Precision> parse_precision(const std::string& text, const topology::DeviceSpec& device) {
  const bool open = text.starts_with("FP32/TF32");
  if (open) return device.peak.contains("tf32") ? workload::Precision::tf32 : workload::Precision::fp32;
  if (text.starts_with("FP16") || text == "fp16") return workload::Precision::fp16;
  if (text.starts_with("BF16") || text == "bf16") return workload::Precision::bf16;
  if (text.starts_with("FP8") || text == "fp8") return workload::Precision::fp8;
  if (text.starts_with("TF32") || text == "tf32") return workload::Precision::tf32;
  if (text.starts_with("FP32") || text == "fp32") return workload::Precision::fp32;
  return Error{"precision: found '" + text + "', expected FP32, TF32, FP16, BF16 or FP8", "", ""};
}

template <class T, class Load>
Result<T> CaseExperiments::remembered(std::map<std::string, T>& known, const std::string& name, const Load& load) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto it = known.find(name); it != known.end()) return it->second;
  }
  TRY_ASSIGN(T loaded, load(name));
  const std::lock_guard lock(mutex_);
  return known.try_emplace(name, std::move(loaded)).first->second;
}

Result<config::Experiment> CaseExperiments::of(const MeasuredCase& c) {
  if (c.nodes < 1 || c.gpus < c.nodes || c.gpus % c.nodes != 0) {
    return Error{"gpus: found " + std::to_string(c.gpus) + " on " + std::to_string(c.nodes) +
                     " nodes, expected the same number on each",
                 "", ""};
  }
  config::Experiment e;
  e.title = c.case_id;
  TRY_ASSIGN(e.cluster, remembered(systems_, c.system_id, config::load_system));
  TRY_ASSIGN(e.device, remembered(devices_, e.cluster.device, config::load_device));
  TRY_ASSIGN(e.model, remembered(models_, c.model_id, model_by_id));
  TRY_ASSIGN(e.framework, remembered(frameworks_, framework_of(c, e.model.kind), config::load_framework));
  TRY_ASSIGN(e.model.precision, parse_precision(c.precision, e.device));
  e.cluster.nodes = c.nodes;
  e.cluster.gpus_per_node = c.gpus / c.nodes;
  e.model.global_batch = c.global_batch;
  e.model.per_gpu_batch = 0;
  e.model.accumulation = c.accumulation;
  e.model.memory_check = false;  // it ran
  if (replicates_no_tables(c)) e.model.dlrm.data_parallel_below = e.model.dlrm.data_parallel_below_nodes = Bytes(1);
  e.collectives.curve_dirs = config::curve_folders();
  return e;
}

}  // namespace distsim::study
