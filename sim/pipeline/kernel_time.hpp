// Kernel times of an experiment: the op models' predictions, times what was fitted for a framework and a device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/graph/costed_graph.hpp"
#include "sim/workload/specs/framework_spec.hpp"
#include "sim/workload/specs/model_spec.hpp"
#include "topology/devices/device_spec.hpp"

namespace distsim::pipeline {

/// Factors on the time of every kernel that an op model prices (graph::Work::kernel). Copies and collectives have
/// models of their own, and a time that is given (a program's step, host work) is taken as it is.
struct KernelTime {
  double framework = 1;  ///< FrameworkSpec::Kernels::scale_16bit or scale_32bit
  double device =
      1;  ///< DeviceCalibration::kernels_16bit or kernels_32bit; not for costs that were measured on the device
  double slowest = 1;  ///< 1 + speed_variation x expected largest of as many normal values as there are ranks:
                       ///< synchronous training waits for the slowest
};

/// `precision` is that of the model's matrix products (Workload::precision).
KernelTime kernel_time_of(const workload::FrameworkSpec& framework, const topology::DeviceSpec& device,
                          workload::Precision precision, std::uint32_t ranks);

/// Whether any op is a kernel priced by a model, which factors apply to.
bool has_kernels(const graph::CostedGraph& graph);

/// Multiplies means, lows and highs. Refuses what leaves the range of Duration.
Result<void> scale_kernels(graph::CostedGraph& graph, const KernelTime& factors);

/// The factors that are not 1, in words.
std::vector<std::string> describe(const KernelTime& factors);

}  // namespace distsim::pipeline
