// Host threads as a list of points: runtime calls, step marks, and where one thread hands over to another.
//
// Hand-over. A thread that has no op and no runtime call for kIdle or longer, while another thread was busy, is taken
// to have waited for the last work that another thread finished before it went on (main thread -> autograd thread ->
// main thread). The time from that finish on is its own.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/trace.hpp"

namespace distsim::replay {

/// Records of a thread closer than this (ns) are one burst of work. Chosen, not fitted.
inline constexpr std::int64_t kIdleHostNs = 50'000;

struct Handoff {
  std::uint32_t from_thread = 0, to_thread = 0;
  std::int64_t left_ns = 0;                  ///< end of the work that is waited for
  std::int64_t idle_ns = 0, resumed_ns = 0;  ///< the gap of the waiting thread
};

struct HostPoint {
  enum class Kind : std::uint8_t { leave, resume, step_end, step_begin, call };  // in this order where times are equal
  std::int64_t ns = 0;
  Kind kind = Kind::call;
  std::uint32_t ref = 0;  ///< leave, resume: index into handoffs; step_*: into steps; call: host record
};

struct HostPoints {
  std::vector<std::vector<HostPoint>> threads;  ///< by thread, in order of time
  std::vector<Handoff> handoffs;
};

HostPoints host_points(const traces::TraceRank& rank);

}  // namespace distsim::replay
