// lower: CostedGraph -> Program. Adds what a framework adds to the kernels: the host thread that launches them, the gap
// between kernels, and repetition, so that the host can run ahead of the GPU as it does in a training loop.
#pragma once

#include "base/result.hpp"
#include "sim/engine/program/loop.hpp"
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
  double collective_launch = 1;  ///< of the host's time to launch a collective
};

/// How much later than one rank the latest of `ranks` is, after each was busy on its host for `busy_seconds`: the
/// operating system takes the core away at a rate r, for times that are exponential with mean d. The longest of the
/// r x busy x ranks detours of all ranks lasts about d x ln(1 + their number); that of a single rank is in the
/// host times, by HostSpec::launch_factor(). Grows with the logarithm of ranks; hidden wherever the host runs ahead of the GPU.
/// Mechanism: F. Petrini, D. Kerbyson and S. Pakin, The Case of the Missing Supercomputer Performance, SC 2003; T. Hoefler,
/// T. Schneider and A. Lumsdaine, Characterizing the Influence of System Noise on Large-Scale Applications by Simulation,
/// SC 2010. Rate and length are estimates of ours at the quiet end of what Linux nodes show there: 0.025 % of a core.
double detours_of_latest(const topology::HostSpec& host, double busy_seconds, std::uint32_t ranks);

/// The steps of one iteration, which follow each other without a barrier. Ranks that the graph says are alike are one
/// place. Origins have no iteration.
struct LoweredLoop {
  engine::Loop loop;
  IdVector<StepId, report::StepOrigin> origins;
};

/// Streams are numbered as enum Stream. Per task and iteration:
///   eager:      host step of (framework_ops x host.per_op x host.scale + kernels x host.per_launch) x launch_factor,
///   then the device step, which waits for it; CUDA graph: one host step launches all device steps of the iteration.
/// Device step = Cost::mean + kernels x gap (collectives, copies on a DMA engine and absent parts have no gap). A task
/// with `blocks_host` holds the next host step until it has ended. Iterations follow each other without a barrier.
Result<LoweredLoop> lower_loop(const graph::CostedGraph& costed, const LaunchModel& launch);

/// The same, so many iterations written out.
Result<Lowered> lower(const graph::CostedGraph& costed, const LaunchModel& launch, std::uint16_t iterations);

}  // namespace distsim::pipeline
