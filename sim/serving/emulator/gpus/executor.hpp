// How GPUs execute pieces of work whose data is there: one after the other, several at the same time, or as a pipeline.
// It plans ends as events of the heap; the emulator hands them back when their time has come.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/serving/emulator/event_heap.hpp"
#include "sim/serving/emulator/gpus/pipeline_stages.hpp"
#include "sim/serving/emulator/gpus/shared_gpu.hpp"
#include "sim/serving/emulator/scenario.hpp"
#include "sim/serving/emulator/work.hpp"
#include "sim/serving/policies/queues.hpp"

namespace distsim::serving {

class Executor {
 public:
  Executor(const Scenario& s, WorkPool& works, EventHeap& heap);

  /// What a piece of work needs has arrived.
  void ready(std::uint32_t id, std::int64_t now_ps);
  /// A serial GPU, or the first stage of a pipeline, is free for what it has begun before.
  void free(std::uint32_t gpu, std::int64_t now_ps);
  /// What a shared GPU has executed by now, in the order of assignment; empty where the plan has changed since.
  const std::vector<std::uint32_t>& shared_done(std::uint32_t gpu, std::uint32_t version, std::int64_t now_ps);
  /// To be called when the work that shared_done() named is dealt with.
  void plan_shared(std::uint32_t gpu);

  /// When a model's layers from `begin` on would be executed as a batch whose data is there at `at_ps`, without a factor of
  /// its own: after the work whose data is there already on a serial GPU and in a pipeline, and alone on a shared GPU.
  std::int64_t end_if_ready(std::uint32_t gpu, std::uint32_t model, std::uint32_t begin, std::uint32_t batch,
                            std::int64_t at_ps) const;

  /// Time in which a GPU executed, up to what is done; of a pipeline the mean over its stages.
  const std::vector<std::int64_t>& busy_ps() const { return busy_ps_; }
  /// The same up to now, with what is under way as far as it is done; of a pipeline with all that has entered it.
  std::vector<std::int64_t> busy_until(std::int64_t now_ps) const;
  /// Time of whole resources that shared GPUs used up to now; 0 of others.
  std::vector<Demand> used_until(std::int64_t now_ps) const;

 private:
  struct GpuState {
    bool executing = false;
    std::int64_t end_ps = 0;  ///< of what a serial GPU executes
    Fifo ready;               ///< pieces of work whose data is there
    SharedGpu shared;
    std::int64_t shared_since_ps = 0;
    std::unique_ptr<PipelineStages> pipeline;
    std::int64_t stages_rest_ps = 0;  ///< of its stages' busy time, what is less than a picosecond for each
  };
  void start_next(std::uint32_t gpu, std::int64_t now_ps);
  void start_shared(std::uint32_t id, std::int64_t now_ps);

  const Scenario& s_;
  WorkPool& works_;
  EventHeap& heap_;
  std::vector<GpuState> gpus_;
  std::vector<std::int64_t> busy_ps_;
  std::vector<std::uint32_t> done_;
};

}  // namespace distsim::serving
