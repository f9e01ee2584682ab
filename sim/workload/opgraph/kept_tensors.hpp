// Memory of what a graph holds and does not train: frozen weights, those that the loss does not reach, and buffers.
#pragma once

#include <cstdint>

#include "sim/opgraph/op_graph.hpp"
#include "sim/workload/opgraph/graph_spec.hpp"
#include "sim/workload/specs/numerics.hpp"

namespace distsim::workload {

/// Bytes of a GPU that has all of them.
struct KeptTensors {
  std::uint64_t parameters = 0;      ///< tensors without a gradient
  std::int64_t elements = 0;         ///< of them
  std::int64_t parameter_bytes = 0;  ///< of them, with the 16-bit copies of those that autocast products read
  std::int64_t buffer_bytes = 0;
  std::int64_t bytes() const { return parameter_bytes + buffer_bytes; }
};

/// Tensors that share memory count once.
KeptTensors kept_tensors(const opgraph::OpGraph& graph, const Numerics& numerics, Amp amp);

}  // namespace distsim::workload
