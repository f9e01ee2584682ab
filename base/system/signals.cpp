#include "base/system/signals.hpp"

#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <new>
#include <system_error>

#include "base/system/memory.hpp"
#include "base/system/temporaries.hpp"
#include "base/threads/stop.hpp"

namespace distsim {
namespace {

constexpr int kEnding[] = {SIGINT,  SIGTERM, SIGHUP,    SIGQUIT, SIGPIPE, SIGUSR1,
                           SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU};

std::atomic<bool> waits{false}, asked{false}, ends{false};
const char* program_name = "distsim";
std::uintptr_t stack_top = 0, stack_size = 0;
alignas(16) std::array<char, 16384> handler_stack;

/// Without stdio and memory. Of threads that come to it together, the first one.
[[noreturn]] void end_with(const char* why, const char* detail = "") {
  while (ends.exchange(true)) ::pause();
  remove_temporaries();
  std::array<char, 400> line;
  std::size_t size = 0;
  for (const char* part : {program_name, ": ", why, detail}) {
    for (; *part != 0 && size + 1 < line.size(); ++part) line[size++] = *part >= ' ' && *part < 0x7f ? *part : '?';
  }
  line[size++] = '\n';
  (void)!::write(STDERR_FILENO, line.data(), size);
  ::_exit(kFailureExit);
}

void end_by_signal(int signal) {
  const bool at_once = signal == SIGQUIT || signal == SIGPIPE;
  if (!at_once && waits && !asked.exchange(true)) return;
  remove_temporaries();
  ::signal(signal, SIG_DFL);
  ::raise(signal);  // as the parent expects: it sees which signal
}

[[noreturn]] void end_uncaught() {
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    end_with(kMemoryRanOut);
  } catch (const std::system_error& e) {
    end_with("the system refused what was asked of it: ", e.what());
  } catch (const std::exception& e) {
    end_with("internal error: an exception was not caught: ", e.what());
  } catch (...) {
    end_with("internal error: an exception was not caught");
  }
  end_with("internal error: the program cannot go on");
}

/// An access just beyond the stack of the main thread.
void end_without_stack(int signal, siginfo_t* info, void*) {
  constexpr std::uintptr_t kBelow = std::uintptr_t{1} << 20;  // frames are far smaller
  const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
  if (at < stack_top && at > stack_top - stack_size - kBelow) end_with("out of stack; raise `ulimit -s`");
  ::signal(signal, SIG_DFL);  // the access is repeated, and ends the process as it would have
}

void on(int signal, void (*handler)(int)) {
  struct sigaction now {};
  if (::sigaction(signal, nullptr, &now) != 0 || now.sa_handler == SIG_IGN) return;
  now = {};
  now.sa_handler = handler;
  ::sigaction(signal, &now, nullptr);
}

void watch_stack() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  stack_top = reinterpret_cast<std::uintptr_t>(&limit) + (std::uintptr_t{1} << 16);
  stack_size = limit.rlim_cur + (std::uintptr_t{1} << 16);
  const stack_t own{.ss_sp = handler_stack.data(), .ss_flags = 0, .ss_size = handler_stack.size()};
  struct sigaction action {};
  action.sa_sigaction = end_without_stack;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  if (::sigaltstack(&own, nullptr) == 0) ::sigaction(SIGSEGV, &action, nullptr);
}

/// Where standard input, output or error is closed, the next file that is opened would be it, and be printed into. What takes
/// the place can only be used the other way, so that reading and printing fail as before.
void keep_standard_places() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF)
      (void)!::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

}  // namespace

void handle_signals(const char* program) {
  program_name = program;
  keep_standard_places();
  for (const int signal : kEnding) on(signal, end_by_signal);
  ::signal(SIGXFSZ, SIG_IGN);
  std::set_terminate(end_uncaught);
  // An exception that passes pthread_once (std::call_once) makes glibc look for its unwinder, for which there may be no
  // memory then. It keeps what it finds.
  std::array<void*, 1> frame{};
  (void)::backtrace(frame.data(), 1);
#if !defined(__SANITIZE_ADDRESS__)  // which reports such an access itself
  watch_stack();
#endif
}

void end_at_once(int exit_code) {
  remove_temporaries();
  ::_exit(exit_code);
}

EarlyEnd::EarlyEnd() { waits = true; }
EarlyEnd::~EarlyEnd() { waits = false; }

SignalsHeld::SignalsHeld() {
  sigset_t held;
  ::sigemptyset(&held);
  for (const int signal : kEnding) ::sigaddset(&held, signal);
  ::pthread_sigmask(SIG_BLOCK, &held, &before_);
}
SignalsHeld::~SignalsHeld() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

bool unless_signalled(const std::function<void()>& work) {
  if (stop_question() != nullptr) {
    work();
    return true;
  }
  try {
    const StopScope scope([] { return asked.load(); });
    work();
    return true;
  } catch (const Stopped&) {
    return false;
  }
}

bool end_asked() { return asked || stop_asked(); }

}  // namespace distsim
