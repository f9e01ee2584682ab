// Counters of a replay for the timeline writers: link use, copies between host and device, memory; for both the
// measured and the replayed run.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "sim/replay/play.hpp"
#include "traces/timeline/slices.hpp"

namespace distsim::replay {

/// Of each rank, where its trace has what they need:
///   link use   GB/s: bus bandwidth (as nccl-tests defines it) of the collectives that transfer at the moment, from
///   sizes as recorded; a transfer begins when
///              the last rank that was seen has come, so that waiting for others does not count
///   copies     GB/s: between host and device
///   memory     GB: allocated on the device, as the framework's allocator said (`profile_memory=True`); played, each
///   allocation has the place in its
///              thread's work that it was measured at
class ReplayCounters {
 public:
  /// `times` is null for the trace as measured. The arguments must outlive this.
  ReplayCounters(const ReplayGraph& graph, const ReplayTimes* times);

  const std::vector<traces::CounterTrack>& tracks() const { return tracks_; }
  void emit(const std::function<void(const traces::CounterSample&)>& sink) const;

 private:
  struct Span {
    std::int64_t begin = 0, end = 0;
  };
  enum class What : std::uint8_t { links, copies, memory };

  void add_track(std::uint32_t rank, What what);
  Span span_of(std::uint32_t rank, std::uint32_t record) const;
  double gigabytes(std::uint32_t rank, const traces::DeviceRecord& d, What what) const;
  void emit_rates(std::uint32_t counter, const std::function<void(const traces::CounterSample&)>& sink) const;
  void emit_memory(std::uint32_t counter, const std::function<void(const traces::CounterSample&)>& sink) const;

  const ReplayGraph& graph_;
  const ReplayTimes* times_;
  std::vector<traces::CounterTrack> tracks_;
  std::vector<What> what_;                  ///< by track
  std::vector<std::int64_t> last_arrival_;  ///< by match, measured ns
};

/// Gives `source` the counters of a replay.
void add_counters(traces::SliceSource& source, const ReplayGraph& graph, const ReplayTimes* times);

}  // namespace distsim::replay
