#include "sim/workload/graph/memory.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text/quantity_text.hpp"

namespace distsim::workload {
std::int64_t state_bytes_per_parameter(graph::OptimizerKind kind) {
  switch (kind) {
    case graph::OptimizerKind::sgd:
      return 0;
    case graph::OptimizerKind::momentum:
      return 4;
    case graph::OptimizerKind::adagrad:
      return 4;
    case graph::OptimizerKind::adam:
      return 8;
    case graph::OptimizerKind::lamb:
      return 8;
    case graph::OptimizerKind::lars:
      return 4;
  }
  return 0;
}

namespace {

std::string amount(std::int64_t bytes) { return format_decimal_bytes(bytes); }

/// "embeddings 84.1 GB, activations 5.2 GB, ...", largest first, without empty parts.
std::string parts_of(const RankMemory& m) {
  std::vector<std::pair<std::int64_t, std::string>> parts{{m.embeddings, "embeddings"}, {m.activations, "activations"},
                                                          {m.weights, "weights"},       {m.gradients, "gradients"},
                                                          {m.optimizer, "optimizer"},   {m.buffers, "buffers"}};
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string out;
  for (const auto& [bytes, name] : parts) {
    if (bytes > 0) out += (out.empty() ? "" : ", ") + name + " " + amount(bytes);
  }
  return out;
}

std::string advice(const RankMemory& m) {
  if (m.copies > m.total() / 2)  // whatever the batch is, and however many GPUs there are
    return "split the tables over the GPUs, by another parallel.sharding or a smaller parallel.data_parallel_below: " +
           amount(m.copies) + " are tables that every GPU holds in whole";
  if (m.buffers > std::max({m.embeddings, m.activations, m.weights}))
    return "use a smaller batch: the exchanged vectors fill the buffers";
  if (m.embeddings >= m.activations && m.embeddings >= m.weights)
    return "use more GPUs, split tables by rows (parallel.row_wise_above), or embedding_dtype: fp16";
  if (m.activations >= m.weights)
    return "use a smaller batch per GPU (a smaller model.per_gpu_batch; of a model.global_batch also "
           "model.accumulation), or recomputation where the model has it (of kind llm: parallel.recompute)";
  return "split it over more GPUs where the model has it (of kind llm: parallel.shard, tensor or pipeline), or use a GPU "
         "with more memory";
}

}  // namespace

RankMemory dense_memory(std::int64_t parameters, graph::OptimizerKind optimizer, const Numerics& n,
                        std::uint32_t ranks) {
  RankMemory m;
  m.weights = parameters * (4 + (n.mixed ? 2 : 0));
  m.gradients = parameters * graph::size_of(n.gradient);
  m.optimizer = parameters * state_bytes_per_parameter(optimizer);
  if (ranks > 1) m.buffers = parameters * graph::size_of(n.gradient);  // the buckets
  return m;
}

Result<void> check_memory(std::span<const RankMemory> memory, std::uint32_t ranks, Bytes per_gpu, std::uint32_t each) {
  const auto fullest = std::max_element(memory.begin(), memory.end(),
                                        [](const auto& a, const auto& b) { return a.total() < b.total(); });
  if (fullest == memory.end() || fullest->total() <= per_gpu.value()) return {};
  const std::string who =
      memory.size() == 1 && ranks > 1 ? "every rank" : "rank " + std::to_string((fullest - memory.begin()) * each);
  return Error{"model: " + who + " needs " + amount(fullest->total()) + " of " + amount(per_gpu.value()) + " (" +
                   amount(fullest->total() - per_gpu.value()) + " over): " + parts_of(*fullest),
               "", advice(*fullest)};
}

Result<void> check_or_assume(Workload& workload, const ModelSpec& model, std::uint32_t ranks, Bytes per_gpu) {
  const Result<void> fits = check_memory(workload.memory, ranks, per_gpu);
  if (fits.ok() || model.memory_check) return fits;
  workload.assumptions.push_back(
      {graph::AssumptionKind::workload, "memory check disabled; estimate: " + fits.error().what});
  return {};
}

}  // namespace distsim::workload
