// What moves between a GPU and its host where parallel.offload keeps something there, and the update on the host.
#include <algorithm>
#include <cmath>

#include "sim/workload/graph/memory.hpp"
#include "sim/workload/llm/llm_emission.hpp"

namespace distsim::workload {
namespace {

/// At which a core of a server streams from and to memory; 10 to 20 GB/s are usual. Launchers give each process one thread
/// (torchrun sets OMP_NUM_THREADS=1), so that the update of a GPU's share runs on one core. 8e9 parameters on 8 GPUs take
/// about 2 s more than without offload on hosts of H200 and of B200 alike (ml-engineering, ZeRO 3 with offload).
constexpr double kCoreBandwidth = 14e9;

/// Of a parameter, reads and writes: the gradient; master weight and optimizer state both ways; the weight for the GPU.
/// The host keeps them in fp32, as ZeRO-Offload's Adam does.
double host_update_bytes(const LlmPlan& plan) {
  const double weight = plan.numerics.mixed ? 2 : 0;
  return static_cast<double>(graph::size_of(plan.numerics.gradient)) +
         2 * (4 + static_cast<double>(state_bytes_per_parameter(plan.model.optimizer))) + weight;
}

}  // namespace

/// Of a pass over a chunk. Activations of blocks that wait on the host leave it in the forward pass and come back before the
/// backward pass; weights that live there come for each pass, and their gradients go back.
LlmEmission::HostTraffic LlmEmission::traffic_of(Way way, const PartWork& work) const {
  HostTraffic out;
  const double activations = plan_.offloaded_activations * work.movable;
  if (way == Way::forward) out.to_host += activations;
  if (way == Way::backward || way == Way::inputs) out.to_gpu += activations;
  const double owners = plan_.splits(StateSplit::weights) ? plan_.shard_group : 1;
  if (way != Way::weights)
    out.to_gpu += plan_.offloaded_weights * (work.dense + work.expert) * gathered_width(plan_) / owners;
  if (way == Way::backward || way == Way::weights)
    out.to_host += plan_.offloaded_weights * work.trained() *
                   static_cast<double>(graph::size_of(plan_.numerics.gradient)) / owners;
  return out;
}

/// Beside a pass, which the next one waits for.
std::vector<TaskId> LlmEmission::offload(Way way, const Chunks& chunks, double times, std::span<const TaskId> deps) {
  std::vector<TaskId> out;
  if (plan_.offloaded_activations == 0 && plan_.offloaded_weights == 0) return out;
  for (const graph::CopyKind kind : {graph::CopyKind::h2d, graph::CopyKind::d2h}) {
    std::vector<std::int64_t> bytes(plan_.stages, 0);
    for (std::uint32_t s = 0; s < plan_.stages; ++s) {
      if (chunks[s] < 0) continue;
      const HostTraffic all = traffic_of(way, plan_.chunk(static_cast<std::uint32_t>(chunks[s])).work);
      bytes[s] = std::llround((kind == graph::CopyKind::h2d ? all.to_gpu : all.to_host) * times);
    }
    const graph::Phase phase = way == Way::forward ? graph::Phase::forward : graph::Phase::backward;
    add_copies(kind == graph::CopyKind::h2d ? "offload.to_gpu" : "offload.to_host", kind, phase, bytes, deps, out);
  }
  return out;
}

/// `bytes` of a rank of each stage.
void LlmEmission::add_copies(std::string_view name, graph::CopyKind kind, graph::Phase phase,
                             const std::vector<std::int64_t>& bytes, std::span<const TaskId> deps,
                             std::vector<TaskId>& out) {
  if (std::ranges::all_of(bytes, [](std::int64_t n) { return n == 0; })) return;
  graph::TaskGraphBuilder::Options options{graph::Stream::copy, phase, {1, 1}};
  if (!plan_.pipelined()) {
    out.push_back(graph_.add(name, options, graph::Copy{kind, bytes.front()}, deps));
    return;
  }
  options.skipped_where_absent = true;
  std::vector<graph::Op> variants;
  std::vector<std::int64_t> known;
  std::vector<std::uint32_t> variant_of_stage;
  for (const std::int64_t n : bytes) {
    const auto it = std::ranges::find(known, n);
    variant_of_stage.push_back(static_cast<std::uint32_t>(it - known.begin()));
    if (it != known.end()) continue;
    known.push_back(n);
    variants.emplace_back(n > 0 ? graph::Op(graph::Copy{kind, n}) : graph::Op(graph::Absent{}));
  }
  out.push_back(graph_.add_per_rank(name, options, std::move(variants), messages_.table_of(variant_of_stage), deps));
}

/// Gradients go to the host while the last backward pass makes them, all but the last bucket; a core updates each GPU's
/// share; the weights come back.
void LlmEmission::update_on_host(const std::vector<double>& parameters_of_stage, std::span<const TaskId> deps) {
  std::vector<TaskId> before(deps.begin(), deps.end());
  const double here = 1 - plan_.offloaded_weights;
  const double gradient = here * static_cast<double>(graph::size_of(plan_.numerics.gradient));
  const auto copies = [&](std::string_view name, graph::CopyKind kind, double width, std::span<const TaskId> after) {
    std::vector<std::int64_t> bytes;
    for (const double n : parameters_of_stage) bytes.push_back(std::llround(n * width));
    add_copies(name, kind, graph::Phase::optimizer, bytes, after, before);
  };
  const double most = *std::ranges::max_element(parameters_of_stage);
  const double hidden = plan_.framework.gradients.overlap && !last_backward_.empty() ? hidden_share(most) : 0;
  copies("offload.gradients", graph::CopyKind::d2h, gradient * hidden, last_backward_);
  copies("offload.gradients", graph::CopyKind::d2h, gradient * (1 - hidden), deps);
  const double rate = std::min(kCoreBandwidth, plan_.cluster.host_memory.value() / plan_.cluster.gpus_per_node);
  std::vector<graph::Op> updates;
  std::vector<std::uint32_t> stages;
  for (std::uint32_t s = 0; s < plan_.stages; ++s) {
    const double seconds = parameters_of_stage[s] * host_update_bytes(plan_) / rate;
    updates.emplace_back(graph::HostWork{Duration::picoseconds(std::llround(seconds * 1e12))});
    stages.push_back(s);
  }
  const graph::TaskGraphBuilder::Options options{graph::Stream::host, graph::Phase::optimizer, {0, 0}};
  const TaskId update = plan_.pipelined()
                            ? graph_.add_per_rank("optimizer.update_on_host", options, std::move(updates),
                                                  messages_.table_of(stages), before)
                            : graph_.add("optimizer.update_on_host", options, std::move(updates.front()), before);
  const double weight = here * (plan_.numerics.mixed ? 2 : 4);
  copies("offload.weights", graph::CopyKind::h2d, weight, std::vector<TaskId>{update});
  end(before);
}

}  // namespace distsim::workload
