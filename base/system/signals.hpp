// What the program does when it is told to end, or when something it cannot go on without fails.
#pragma once

#include <signal.h>

#include <functional>

namespace distsim {

/// For programs, once at their start. Signals that end a process, from a terminal, a batch system or a timer (SIGINT,
/// SIGTERM, SIGHUP, SIGUSR1, SIGXCPU, ...; unless ignored, as under nohup), remove unfinished files and then end it as they
/// would have. A file that would grow beyond a limit (SIGXFSZ) is an error of the
/// write. An exception that nobody catches, and a stack that is full, end with one line and kFailureExit. Standard input,
/// output and error that are closed have their places kept. `program` begins the lines; it must outlive the process.
void handle_signals(const char* program = "distsim");

/// Exit code where not the input is at fault: an interrupt, a full stack, an exception that nobody catches.
constexpr int kFailureExit = 3;

/// Ends the process at once, with nothing flushed and no unfinished file left.
[[noreturn]] void end_at_once(int exit_code);

/// While one lives, the first of these signals, but for SIGQUIT and SIGPIPE, only asks for an early end; the second one ends
/// the process.
class EarlyEnd {
 public:
  EarlyEnd();
  ~EarlyEnd();
  EarlyEnd(const EarlyEnd&) = delete;
  EarlyEnd& operator=(const EarlyEnd&) = delete;
};

/// While one lives, these signals wait, where this thread is who would take them.
class SignalsHeld {
 public:
  SignalsHeld();
  ~SignalsHeld();
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_;
};

/// Calls `work`, which such a first signal ends at its next end_if_stopped() (base/threads/stop.hpp): false. What the work has
/// done until then is to be dropped. Of this thread alone; where somebody else asks its call already, that one does.
bool unless_signalled(const std::function<void()>& work);

/// Whether an early end was asked for: by a signal, or of this call alone (base/threads/stop.hpp).
bool end_asked();

}  // namespace distsim
