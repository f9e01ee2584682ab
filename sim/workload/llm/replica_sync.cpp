#include "sim/workload/llm/replica_sync.hpp"

#include <map>
#include <string>
#include <utility>

namespace distsim::workload {
namespace {

/// Bytes of the weights, or gradients, of layers [first, end): those of experts, or of all else.
std::int64_t bytes_of(const MegatronPlan& plan, std::size_t first, std::size_t end, bool experts, graph::DType dtype) {
  std::int64_t sum = 0;
  for (std::size_t i = first; i < end; ++i)
    sum += plan.split.of_expert[i] == experts ? parameters_of(plan.split.layers[i]) : 0;
  return sum * graph::size_of(dtype);
}

/// Replicas of a weight: experts are held by one in `expert` of them.
graph::Partition replicas_of(const MegatronPlan& plan, bool experts) {
  return experts ? graph::Partition::strided(plan.replicas / plan.expert, plan.tensor * plan.expert)
                 : graph::Partition::strided(plan.replicas, plan.tensor);
}

TaskId over_replicas(MegatronEmission& e, const graph::Collective& op, bool experts, const std::string& name,
                     graph::Phase phase) {
  const graph::Partition groups = replicas_of(e.plan, experts);
  if (op.bytes == 0 || groups.size < 2) return TaskId();
  return e.it.add_collective(name, PipelineParts::kReplicaStream, phase, op, groups);
}

/// Weights of layers [first, end) of `chunks` chunks. The next compute task waits for those of experts; the task that
/// gathers the others is returned.
TaskId gather(MegatronEmission& e, std::size_t first, std::size_t end, std::int64_t chunks = 1) {
  const graph::DType dtype = e.plan.numerics.mixed ? e.plan.numerics.activation : graph::DType::fp32;
  const auto add = [&](bool experts) {
    const graph::Collective op{
        graph::CollectiveKind::all_gather, bytes_of(e.plan, first, end, experts, dtype) * chunks, dtype, {}, {}};
    return over_replicas(e, op, experts, experts ? "weights.gather.experts" : "weights.gather", graph::Phase::exchange);
  };
  e.it.compute_waits_for(add(true));
  return add(false);
}

/// Reduces gradients of the dense weights, and of the experts', of which there are bytes(experts).
template <class Bytes>
void reduce(MegatronEmission& e, Bytes bytes) {
  const graph::CollectiveKind kind =
      e.plan.sharded(1) ? graph::CollectiveKind::reduce_scatter : graph::CollectiveKind::all_reduce;
  for (const bool experts : {false, true}) {
    const graph::Collective op{kind, bytes(experts), e.plan.numerics.gradient, {}, {}};
    e.synced.push_back(
        over_replicas(e, op, experts, experts ? "gradients.experts" : "gradients", graph::Phase::gradient_sync));
  }
}

std::int64_t gradient_bytes(const MegatronEmission& e, std::uint32_t stage, bool experts) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < e.layers(); ++i)
    sum += bytes_of(e.plan, i, i + 1, experts, e.plan.numerics.gradient) * e.plan.chunks_of(e.part_of(i), stage);
  return sum;
}

}  // namespace

std::size_t MegatronEmission::block_end(std::size_t first) const {
  const std::vector<int>& block = plan.split.block;
  std::size_t end = first;
  while (end < layers() && block[end] == block[first]) ++end;
  return end;
}

void gather_all_weights(MegatronEmission& e) {
  if (!e.plan.pipelined()) return e.it.compute_waits_for(gather(e, 0, e.layers()));
  for (const ModelPart part : kModelParts) {
    Stages holds(e.plan.stages, part == ModelPart::blocks);
    if (part == ModelPart::embedding) holds.front() = true;
    if (part == ModelPart::head) holds.back() = true;
    std::size_t first = 0, end = e.layers();
    while (e.part_of(first) != part) ++first;
    while (e.part_of(end - 1) != part) --end;
    e.it.restrict_to(*e.parts.table_of(holds));
    e.it.compute_waits_for(gather(e, first, end, part == ModelPart::blocks ? e.plan.spec.virtual_stages : 1));
  }
  e.it.restrict_to(graph::Task::kUniform);
}

void fetch_weights(MegatronEmission& e, const StagePasses& stages, std::size_t first, std::size_t next) {
  if (!e.plan.sharded(3)) return;
  e.restrict_to(stages, first);
  if (e.fetched != first) e.ahead = gather(e, first, e.block_end(first));
  e.it.compute_waits_for(e.ahead);
  e.fetched = next;
  e.ahead = TaskId();
  if (next == e.layers()) return;
  e.restrict_to(stages, next);
  e.ahead = gather(e, next, e.block_end(next));
}

void sync_block(MegatronEmission& e, const StagePasses& stages, std::size_t first) {
  const auto last = e.parts.table_of(both(stages.of(e.part_of(first)), stages.last));
  if (!last) return;
  e.it.restrict_to(*last);
  reduce(e,
         [&](bool experts) { return bytes_of(e.plan, first, e.block_end(first), experts, e.plan.numerics.gradient); });
}

/// The first and the last stage hold more than those between.
void sync_whole(MegatronEmission& e, const Stages& stages) {
  std::map<std::pair<bool, bool>, Stages> alike;
  for (std::uint32_t s = 0; s < e.plan.stages; ++s) {
    if (stages[s]) alike.try_emplace({s == 0, s + 1 == e.plan.stages}, e.plan.stages).first->second[s] = true;
  }
  for (const auto& [ends, those] : alike) {
    e.it.restrict_to(*e.parts.table_of(those));
    const auto stage = static_cast<std::uint32_t>(std::find(those.begin(), those.end(), true) - those.begin());
    reduce(e, [&](bool experts) { return gradient_bytes(e, stage, experts); });
  }
}

}  // namespace distsim::workload
