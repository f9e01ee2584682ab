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
  for (const Precision p : {Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16, Precision::fp8})
    precisions.emplace_back(name_of(p), p);
  s.choice("precision", &ModelSpec::precision, precisions,
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
  }
  CHECK(false) << "precision " << static_cast<int>(precision);
  return "";
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
  s.optional("source", &ModelSpec::source, "Where the figures come from.");
  return s;
}

}  // namespace distsim::workload
