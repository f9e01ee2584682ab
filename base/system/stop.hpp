// Work that somebody may want to end before it is done: the answer to a question that nobody asks any more.
//
//   const Stoppable stoppable(flag);   // on the thread that does the work; another one sets the flag
//   try { work(); } catch (const Stopped&) { ... }
//
// Long loops call end_if_stopped(), which throws where the flag is set. Threads that the work starts are not stopped by
// it: they finish, and what waits for them goes on to its next call.
#pragma once

#include <atomic>

namespace distsim {

/// What end_if_stopped() throws. No std::exception, so that nobody takes it for a failure.
struct Stopped {};

class Stoppable {
 public:
  /// `asked` must outlive it. The innermost of a thread counts.
  explicit Stoppable(const std::atomic<bool>& asked);
  ~Stoppable();
  Stoppable(const Stoppable&) = delete;
  Stoppable& operator=(const Stoppable&) = delete;

 private:
  const std::atomic<bool>* const before_;
};

/// Whether the flag of this thread's Stoppable is set; false without one. A load of a thread's variable: cheap enough for
/// loops whose rounds take a microsecond.
bool stop_asked();

/// Throws Stopped where stop_asked().
void end_if_stopped();

}  // namespace distsim
