// What bounds a kernel, inferred from its name and, where the trace recorded them, from the shapes of the op that
// launched it.
#pragma once

#include <optional>
#include <string_view>

#include "sim/graph/op.hpp"
#include "traces/trace.hpp"

namespace distsim::replay {

enum class KernelKind : std::uint8_t {
  matrix,       ///< matrix products and convolutions: tensor cores or FMA units
  streaming,    ///< everything else: device memory
  host_copy,    ///< between host and device: PCIe
  device_copy,  ///< within or between devices: device memory
  communication,
};
std::string_view name_of(KernelKind kind);
KernelKind kernel_kind(const traces::DeviceRecord& record, std::string_view name);

/// Data type of a matrix kernel, by the words that cuBLAS, cuDNN, CUTLASS and rocBLAS put into names; fp32 where there
/// is none.
graph::DType matrix_dtype(std::string_view name);

/// The matrix product or convolution that a matrix kernel carries out. Recorded inputs are needed; aten::mm, addmm,
/// bmm, baddbmm, linear, and convolutions with their gradients are understood.
std::optional<graph::Op> matrix_op(const traces::TraceJob& job, const traces::TraceRank& rank,
                                   const traces::DeviceRecord& record);

/// True for kernels whose work does not grow with the batch: those launched within an optimizer's step.
bool is_optimizer_work(const traces::TraceJob& job, const traces::TraceRank& rank, const traces::DeviceRecord& record);

}  // namespace distsim::replay
