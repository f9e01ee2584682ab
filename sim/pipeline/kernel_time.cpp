#include "sim/pipeline/kernel_time.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/random.hpp"

namespace distsim::pipeline {
namespace {

Result<graph::Cost> scaled(graph::Cost cost, double factor) {
  TRY_ASSIGN(cost.mean, Duration::from_seconds(cost.mean.seconds() * factor));
  TRY_ASSIGN(cost.low, Duration::from_seconds(cost.low.seconds() * factor));
  TRY_ASSIGN(cost.high, Duration::from_seconds(cost.high.seconds() * factor));
  return cost;
}

}  // namespace

KernelTime kernel_time_of(const workload::FrameworkSpec& framework, const topology::DeviceSpec& device,
                          workload::Precision precision, std::uint32_t ranks) {
  const bool wide = precision == workload::Precision::fp32 || precision == workload::Precision::tf32;
  KernelTime t;
  t.framework = wide ? framework.kernels.scale_32bit : framework.kernels.scale_16bit;
  t.device = wide ? device.calibration.kernels_32bit : device.calibration.kernels_16bit;
  t.slowest = 1 + device.calibration.speed_variation * expected_largest_of(ranks);
  return t;
}

bool has_kernels(const graph::CostedGraph& graph) {
  return std::any_of(graph.graph.ops.begin(), graph.graph.ops.end(),
                     [](const graph::Op& op) { return graph::work_of(op) == graph::Work::kernel; });
}

Result<void> scale_kernels(graph::CostedGraph& graph, const KernelTime& t) {
  const double common = t.framework * t.slowest;
  for (std::uint32_t i = 0; i < graph.graph.ops.size(); ++i) {
    const OpId id(i);
    graph::Cost& cost = graph.costs[id];
    const double factor = cost.basis == graph::Basis::measured ? common : common * t.device;
    const bool predicted = graph::work_of(graph.graph.ops[id]) == graph::Work::kernel;
    if (!predicted || factor == 1 || cost.mean == Duration()) continue;
    TRY_ASSIGN(cost, scaled(cost, factor));
  }
  return {};
}

std::vector<std::string> describe(const KernelTime& t) {
  std::vector<std::string> out;
  const auto add = [&](double factor, const char* what) {
    if (factor != 1) out.push_back(fmt::format("kernel times x{:.3f} ({})", factor, what));
  };
  add(t.framework, "framework, fitted to measured iterations");
  add(t.device, "device, fitted to measured iterations");
  add(t.slowest, "slowest rank");
  return out;
}

}  // namespace distsim::pipeline
