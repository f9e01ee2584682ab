// Workload: model + parallelism -> TaskGraph, with the memory every rank needs. Shapes and bytes, no times.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/config/config_node.hpp"
#include "base/result.hpp"
#include "sim/graph/assumption.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/workload/specs/framework_spec.hpp"
#include "sim/workload/specs/model_spec.hpp"

namespace distsim::workload {

inline constexpr std::uint32_t kMaxRanks = 1u << 20;

/// What a workload needs to know of the cluster.
struct ClusterShape {
  std::uint32_t nodes = 1;
  std::uint32_t gpus_per_node = 1;
  Bytes memory_per_gpu;               ///< usable by the job
  std::uint32_t gpus_per_domain = 0;  ///< that NVLink joins; 0: those of a node
  BytesPerSecond host_memory{200e9};  ///< of a node, over its sockets
  std::uint32_t ranks() const { return nodes * gpus_per_node; }
};

/// Memory of one rank, by what holds it.
struct RankMemory {
  std::int64_t weights = 0, gradients = 0, optimizer = 0, activations = 0, embeddings = 0, buffers = 0;
  std::int64_t copies = 0;  ///< of all these: tables that every rank holds in whole
  std::int64_t total() const { return weights + gradients + optimizer + activations + embeddings + buffers; }
  RankMemory& operator+=(const RankMemory& m) {
    weights += m.weights, gradients += m.gradients, optimizer += m.optimizer;
    activations += m.activations, embeddings += m.embeddings, buffers += m.buffers;
    copies += m.copies;
    return *this;
  }
};

struct Workload {
  graph::TaskGraph graph;
  std::vector<RankMemory> memory;  ///< one for every rank, or a single one where all are equal
  double samples = 0;              ///< per iteration, all ranks
  double model_flops = 0;          ///< useful flops per iteration, all ranks (forward + backward, no recomputation)
  double repeated_flops = 0;       ///< of products and attention that the backward pass computes again, all ranks
  Precision precision = Precision::fp32;  ///< of the matrix products, which MFU is measured against
  std::int64_t dense_parameters = 0, embedding_parameters = 0;
  std::vector<graph::Assumption> assumptions;  ///< what was decided for the user
  std::string placement;                       ///< sharding plan as text, for --dump-after and the report
  std::string table_places;                    ///< the part of it that says which ranks have which tables
};

/// Builds one training iteration (one optimizer step, all accumulation micro-steps). Errors name the key: a model that
/// does not fit says by how much and on which rank. The graph holds HostWork for the input pipeline only; what the
/// host spends on calls, launches and once a step (FrameworkSpec::Host) is added by whoever turns dispatches
/// into time. Time and memory grow with ranks + tasks, never with their product.
Result<Workload> build_workload(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape);

}  // namespace distsim::workload
