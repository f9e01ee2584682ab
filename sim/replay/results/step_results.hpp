// Steps of a replay: how long each took in the trace and in the replay, and what its time was made of.
//
// Step time: GPU start to start, from the first device record launched inside a step to the first one launched inside
// the next; where the trace has no next one, the span of the step's marks on the host, or what its work takes on the
// device where that is longer than in the trace; without steps, from the first device record to the end of the last.
// Parts: unions of device records over the step's time from its first device record on (without one: from its mark), so
// that compute, exposed, copies alone and idle are the step. compute: kernels that do not communicate; comm: those that
// do, waiting for other ranks included, as a profiler sees them; exposed: comm while no compute kernel runs; idle:
// nothing on the device, copies included.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/replay/play.hpp"

namespace distsim::replay {

enum class StepBasis : std::uint8_t { device_start_to_start, profiler_step, window, stated };
std::string_view name_of(StepBasis basis);

struct StepParts {
  std::int64_t window = 0, compute = 0, comm = 0, exposed = 0, idle = 0;
};  ///< ps

struct StepResult {
  std::uint32_t rank = 0;        ///< the rank's number, not its place
  std::uint32_t step_index = 0;  ///< into the rank's steps
  std::string name;
  std::int64_t number = 0;
  StepBasis basis = StepBasis::window;
  std::int64_t measured = -1, replayed = 0;  ///< ps; measured -1: the trace has no times
  StepParts parts;                           ///< of the replay
  double error() const { return measured > 0 ? static_cast<double>(replayed) / static_cast<double>(measured) - 1 : 0; }
};

/// By rank, then step. A rank without steps has one result, its whole window.
std::vector<StepResult> step_results(const ReplayGraph& graph, const ReplayTimes& times);

/// From the first work of any device to the end of the last, ps; 0 where there is none. What a step is long depends on where
/// it begins, which moves when work of before becomes shorter or longer; this does not.
std::int64_t device_span(const ReplayGraph& graph, const ReplayTimes& times);

/// Medians over the results of the best basis among them (start to start, else profiler steps, else windows); ps. Where any
/// was measured, over those that were; measured -1: none was.
struct StepMedians {
  std::int64_t measured = -1, replayed = 0;
  std::size_t steps = 0, ranks = 0;  ///< ranks: that have one of them
  StepBasis basis = StepBasis::window;
  double median_error = 0, worst_error = 0;
};
StepMedians medians(const std::vector<StepResult>& results);

}  // namespace distsim::replay
