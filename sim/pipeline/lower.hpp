// lower: CostedGraph -> Program. Adds what a framework adds to the kernels: the host thread that launches them, the gap
// between kernels, and repetition, so that the host can run ahead of the GPU as it does in a training loop.
#pragma once

#include "base/result.hpp"
#include "sim/engine/program/program.hpp"
#include "sim/graph/costed_graph.hpp"
#include "sim/report/report.hpp"
#include "sim/workload/specs/framework_spec.hpp"
#include "topology/devices/cluster_spec.hpp"
#include "topology/devices/device_spec.hpp"

namespace distsim::pipeline {

struct Lowered {
  engine::Program program;
  IdVector<StepId, report::StepOrigin> origins;
  std::uint16_t iterations = 1;
};

/// What turns kernel times into steps.
struct LaunchModel {
  workload::FrameworkSpec framework;
  topology::HostSpec host;
  topology::DeviceLaunch launch;
};

/// Streams are numbered as enum Stream. Per task and iteration:
///   eager:      host step of (framework_ops x host.per_op x host.scale + kernels x host.per_launch) x launch_factor,
///   then the device step, which waits for it; CUDA graph: one host step launches all device steps of the iteration.
/// Device step = Cost::mean + kernels x gap (collectives, copies on a DMA engine and absent parts have no gap). A task
/// with `blocks_host` holds the next host step until it has ended. Iterations follow each other without a barrier.
Result<Lowered> lower(const graph::CostedGraph& costed, const LaunchModel& launch, std::uint16_t iterations);

}  // namespace distsim::pipeline
