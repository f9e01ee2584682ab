#include "sim/workload/registry.hpp"

namespace distsim::workload {
namespace {

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
  std::vector<std::pair<std::string, Precision>> precisions;
  for (const Precision p : {Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16, Precision::fp8,
                            Precision::fp8_current, Precision::fp8_blockwise, Precision::mxfp8, Precision::nvfp4})
    precisions.emplace_back(name_of(p), p);
  precisions.emplace_back("fp8_delayed", Precision::fp8);
  s.choice(
      "precision", &ModelSpec::precision, precisions,
      "Arithmetic; from fp16 on mixed precision with fp32 master weights. fp8 is scaled by tensor with the maxima of earlier steps (also fp8_delayed); fp8_current with those of this step; fp8_blockwise by blocks of 128; mxfp8 by 32 elements; nvfp4 by 16.");
  s.choice("optimizer", &ModelSpec::optimizer,
           {{"sgd", graph::OptimizerKind::sgd},
            {"momentum", graph::OptimizerKind::momentum},
            {"adagrad", graph::OptimizerKind::adagrad},
            {"adam", graph::OptimizerKind::adam},
            {"lamb", graph::OptimizerKind::lamb},
            {"lars", graph::OptimizerKind::lars}},
           "Optimizer of the dense weights.");
}

/// Sections of earlier files.
constexpr MovedKey kMovedKeys[] = {
    {"megatron", "llm",
     "kind: llm; tensor, sequence_parallel, expert, pipeline, schedule, virtual_stages and micro_batch are keys of the section parallel, as are shard (zero), recompute (activation_checkpointing) and overlap_pipeline (overlap_p2p)"},
};

}  // namespace

std::string_view name_of(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return "fp32";
    case Precision::tf32:
      return "tf32";
    case Precision::fp16:
      return "fp16";
    case Precision::bf16:
      return "bf16";
    case Precision::fp8:
      return "fp8";
    case Precision::fp8_current:
      return "fp8_current";
    case Precision::fp8_blockwise:
      return "fp8_blockwise";
    case Precision::mxfp8:
      return "mxfp8";
    case Precision::nvfp4:
      return "nvfp4";
  }
  CHECK(false) << "precision " << static_cast<int>(precision);
  return "";
}

std::string_view peak_of(Precision precision) {
  switch (precision) {
    case Precision::fp8_current:
    case Precision::fp8_blockwise:
    case Precision::mxfp8:
      return "fp8";
    default:
      return name_of(precision);
  }
}

Schema<ModelSpec> model_schema() {
  Schema<ModelSpec> s("model", "The model to train.");
  s.optional("name", &ModelSpec::name, "Name in reports.");
  s.optional("description", &ModelSpec::description, "One-sentence description.");
  std::vector<std::pair<std::string, const ModelFamily*>> kinds;
  for (const ModelFamily* family : model_families()) kinds.emplace_back(family->name, family);
  s.choice("kind", &ModelSpec::family, kinds, "Model family, which is also the name of the section below that applies.",
           true);
  add_training(s);
  for (const ModelFamily* family : model_families()) family->add_section(s);
  s.nested("parallel", &ModelSpec::parallel, parallel_schema());
  s.optional("source", &ModelSpec::source, "Where the figures come from.");
  s.moved(kMovedKeys);
  return s;
}

}  // namespace distsim::workload
