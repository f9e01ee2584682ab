// Kernel times of an experiment: the op models' predictions, corrected by what was fitted for a framework and a device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "opmodels/graph/graph_network.hpp"
#include "sim/graph/costed_graph.hpp"
#include "sim/workload/specs/framework_spec.hpp"
#include "sim/workload/specs/model_spec.hpp"
#include "topology/devices/device_spec.hpp"

namespace distsim::pipeline {

/// Corrections of the parts of a kernel's time (Cost::described_shares): of matrix units, and of memory and plain lanes.
/// Latency has none.
struct Correction {
  double matrix = 1, memory = 1;
  topology::FitEvidence evidence;
};

/// Factors on the time of every kernel that an op model prices (graph::Work::kernel). Copies and collectives have
/// models of their own, and a time that is given (a program's step, host work) is taken as it is.
struct KernelTime {
  Correction framework;  ///< FrameworkSpec::Kernels
  Correction device;     ///< DeviceCalibration; not for costs that were measured on the device
  double slowest = 1;    ///< 1 + speed_variation x expected largest of as many normal values as there are ranks:
                         ///< synchronous training waits for the slowest
  topology::DeviceClocks clock;  ///< of the device, for what its power limit leaves of it
  Watts power_limit{0};
  Hertz priced{0};          ///< topology::clock_of_prices
  bool wide = false;        ///< `device` is that of matrix products of 32 bits
  double other_matrix = 1;  ///< the device's correction of matrix products of the other width
  std::shared_ptr<const topology::DeviceSpec>
      graphs_on;  ///< where whole graphs are corrected by what was learned of them
};

/// `precision` is that of most of the model's matrix products (Workload::precision).
KernelTime kernel_time_of(const workload::FrameworkSpec& framework, const topology::DeviceSpec& device,
                          workload::Precision precision, std::uint32_t ranks);

/// What the corrections make of a cost, without `slowest` and learned ratios: 1 + sum over bounds of share x (correction - 1),
/// of the framework and, unless it was measured, of the device for products as wide as the kernel's.
double framework_factor(const KernelTime& factors, const graph::Cost& cost);
double device_factor(const KernelTime& factors, const graph::Cost& cost);

/// Whether any op is a kernel priced by a model, which factors apply to.
bool has_kernels(const graph::CostedGraph& graph);

/// The clock that a graph's kernels hold, beside that before power limits and that which they are priced at.
struct HeldClock {
  Hertz before, held, priced;
  double slower() const { return priced.value() / held.value(); }
};

/// By what the kernels draw one after the other (topology::clock_of_mix): communication and waiting, which draw less, are
/// left out, because a limiter acts within tens of milliseconds, the time of a layer or two.
HeldClock held_clock(const graph::CostedGraph& graph, const KernelTime& factors);

/// What was learned of such graphs says of this one, as it was priced; a ratio of 1 where graphs are not corrected. Errors:
/// as shipped_graph_network().
Result<opmodels::GraphNetwork::Answer> graph_answer(const graph::CostedGraph& graph, const KernelTime& factors);

/// Slows matrix and vector work to the held clock, then scales means, lows and highs:
///   mean' = slowest x max(graph x mean x (1 + sum over bounds of share x (correction - 1)), least)
/// where graph is the ratio of graph_answer and `least` is what the device's sustained rates allow (Cost::least; not for measured costs), so that no
/// correction makes a kernel faster than the hardware. Refuses what leaves the range of Duration.
Result<void> scale_kernels(graph::CostedGraph& graph, const KernelTime& factors, const HeldClock& clock);

/// The factors that are not 1, in words, with what they were fitted on; `graph`: whose kernels they scale.
std::vector<std::string> describe(const KernelTime& factors, const graph::CostedGraph& graph);

/// The clock in words, where power holds it down; empty otherwise.
std::string describe(const HeldClock& clock, Watts power_limit);

/// The factor on the host's time per call in words, where there is one; empty otherwise.
std::string describe_host(const workload::FrameworkSpec& framework);

}  // namespace distsim::pipeline
