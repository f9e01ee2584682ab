// The timed loop of backends whose calls return when the work is done.
#pragma once

#include <chrono>

#include "mpi_bench/collective/backend/backend.hpp"
#include "mpi_bench/common/pulse.hpp"

namespace distsim::bench {

inline double seconds_between(std::chrono::steady_clock::time_point a, std::chrono::steady_clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

/// `calls` calls, as one function of its own: timed and bare loops of one `CallOnce` (a type of its own, not a lambda
/// in each place) then run the same instructions, and only the clock is between them. `call_once()` returns a
/// Result<void>.
template <class CallOnce>
[[gnu::noinline]] Result<void> repeat(int calls, const CallOnce& call_once) {
  for (int i = 0; i < calls; ++i) TRY(call_once());
  return {};
}

template <class CallOnce>
Result<LoopTimes> timed_loop(const LoopShape& loop, const CallOnce& call_once) {
  LoopTimes times;
  times.each_s.resize(static_cast<std::size_t>(loop.samples));
  const auto start = std::chrono::steady_clock::now();
  auto last = start;
  for (double& each : times.each_s) {
    TRY(repeat(loop.calls_each, call_once));
    pulse().call_done();
    const auto now = std::chrono::steady_clock::now();
    each = seconds_between(last, now) / loop.calls_each;
    last = now;
  }
  times.mean_s = seconds_between(start, last) / loop.calls();
  return times;
}

template <class CallOnce>
Result<double> bare_loop(int calls, const CallOnce& call_once) {
  const auto start = std::chrono::steady_clock::now();
  TRY(repeat(calls, call_once));
  return seconds_between(start, std::chrono::steady_clock::now());
}

}  // namespace distsim::bench
