// Report: what a prediction says, computed from a played program. Text, JSON and timeline are written from it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "sim/engine/program.hpp"
#include "sim/engine/timeline.hpp"
#include "sim/graph/costed_graph.hpp"

namespace distsim {

/// What a step of the program stands for.
enum class StepRole : std::uint8_t { host_dispatch, device, host_work, step_overhead };
struct StepOrigin {
  TaskId task;               ///< invalid for step_overhead
  StepRole role = StepRole::device;
  std::uint16_t iteration = 0;
};

/// A played program with all that is needed to read it. Several iterations are played so that the host can run ahead; the report is about the last one.
struct Played {
  const CostedGraph* costed = nullptr;
  const Program* program = nullptr;
  const IdVector<StepId, StepOrigin>* origins = nullptr;
  const Timeline* timeline = nullptr;
  std::uint16_t iterations = 1;
};

/// Facts that the report repeats or divides by.
struct ReportContext {
  std::string title, system, device, model, framework;
  std::uint32_t nodes = 1, gpus_per_node = 1;
  double samples = 0, model_flops = 0, peak_flops = 0;   ///< per iteration over all ranks; peak of one GPU for the model's precision
  std::vector<std::int64_t> memory_per_rank;             ///< bytes; one entry where all are equal
  std::int64_t memory_capacity = 0;
  std::vector<std::string> assumptions;
  std::string placement;
};

struct OpKindTime { std::string kind; Duration time; std::uint32_t kernels = 0; double tflops = 0; };   ///< mean over ranks
struct CollectiveTime {
  std::string name, kind; std::int64_t bytes = 0; std::uint32_t group_size = 0;
  Duration total, exposed, waiting;  ///< mean over ranks: transfer, part of transfer and waiting not hidden by compute, waiting for the last member
  double busbw = 0;
  Basis basis = Basis::analytic; std::string source;
};
struct CriticalStep { std::string name; std::string stream; std::uint32_t rank = 0; Duration start, time; };
struct BasisShare { Basis basis; double share = 0; };     ///< share of the critical path's time

struct RankTime { Duration compute, comm, exposed_comm, idle, host_bound; };

struct Report {
  ReportContext context;
  Duration iteration, low, high;
  double samples_per_second = 0, achieved_flops_per_gpu = 0, mfu = 0;
  Duration compute, comm, exposed_comm, host_bound, idle;   ///< mean over ranks; compute + exposed_comm + host_bound + idle = iteration
  std::vector<OpKindTime> ops;
  std::vector<CollectiveTime> collectives;
  std::vector<CriticalStep> critical_path;
  std::vector<BasisShare> bases;
  std::vector<RankTime> ranks;                              ///< per rank; one entry where all are equal
  std::uint32_t slowest_rank = 0, fastest_rank = 0;         ///< by compute time
  std::uint64_t digest = 0;
};

Report analyse(const Played& played, ReportContext context);
std::string to_text(const Report& report, int width = 100);
/// JSON with the schema of docs/report_schema.md.
std::string to_json(const Report& report);

}  // namespace distsim
