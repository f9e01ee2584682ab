#include "sim/workload/registry.hpp"

#include <algorithm>

#include "base/text/quantity_text.hpp"

namespace distsim::workload {
namespace {

// A new family: one line here, its builder in a file of its own, its section in model_spec.hpp.
constexpr ModelFamily kFamilies[] = {
    {ModelKind::dlrm, "dlrm",
     "Recommender: sharded embedding tables, MLPs, dot, DCN-v2 or concat interaction; hybrid parallel", build_dlrm},
    {ModelKind::resnet, "resnet", "Residual network for images (18 to 152 layers; v1, v1b, v1.5); data parallel",
     build_resnet},
    {ModelKind::transformer, "transformer", "BERT or GPT-2 style transformer; data parallel", build_transformer},
    {ModelKind::mlp, "mlp", "Fully connected layers; data parallel", build_mlp},
    {ModelKind::transformer_xl, "transformer_xl",
     "Transformer-XL: relative attention with memory, adaptive softmax; data parallel", build_transformer_xl},
    {ModelKind::ssd, "ssd", "SSD detector on a ResNet backbone; data parallel", build_ssd},
    {ModelKind::ncf, "ncf", "NeuMF collaborative filtering; data parallel, replicated embeddings", build_ncf},
    {ModelKind::program, "program",
     "Steps of measured computation and collectives in sequence: the loop of an MPI program", build_program},
    {ModelKind::megatron, "megatron",
     "GPT split over GPUs: tensor, sequence, pipeline, expert and sharded data parallel (ZeRO, FSDP)", build_megatron},
};

/// Among whom a global batch is divided: the GPUs that share a model's layers take their samples together.
std::uint32_t takers(const ModelSpec& model, std::uint32_t ranks) {
  if (model.kind != ModelKind::megatron || model.global_batch == 0) return ranks;
  return static_cast<std::uint32_t>(
      std::max<std::int64_t>(1, ranks / (model.megatron.tensor * model.megatron.pipeline)));
}

}  // namespace

std::span<const ModelFamily> workload_registry() { return kFamilies; }

Result<Workload> build_workload(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape) {
  if (std::uint64_t{shape.nodes} * shape.gpus_per_node != shape.ranks() || shape.ranks() == 0 ||
      shape.ranks() > kMaxRanks) {
    return Error{"cluster: found " + std::to_string(std::uint64_t{shape.nodes} * shape.gpus_per_node) +
                     " GPUs, expected 1 .. " + std::to_string(kMaxRanks),
                 "", ""};
  }
  TRY_ASSIGN(const SamplePlan samples, plan_samples(model, takers(model, shape.ranks())));
  if (framework.input_per_sample.seconds() * static_cast<double>(samples.micro_step(0).largest()) >
      Duration::kMaxSeconds) {
    return Error{"framework.input_per_sample: found " +
                     format_quantity(framework.input_per_sample.seconds(), Dimension::seconds) + " for each of " +
                     std::to_string(samples.micro_step(0).largest()) +
                     " samples of a rank, expected at most 1e6 s in total",
                 "", ""};
  }
  const auto family = std::find_if(std::begin(kFamilies), std::end(kFamilies),
                                   [&](const ModelFamily& f) { return f.kind == model.kind; });
  CHECK(family != std::end(kFamilies)) << "model kind " << static_cast<int>(model.kind);
  return family->build(model, framework, shape, samples);
}

}  // namespace distsim::workload
