#include "base/system/program.hpp"

#include <pthread.h>
#include <sys/resource.h>

#include <cstddef>
#include <cstdio>
#include <exception>
#include <initializer_list>
#include <new>
#include <system_error>

#include "base/system/memory.hpp"
#include "base/system/signals.hpp"

namespace distsim {
namespace {

constexpr std::size_t kEnoughStack = std::size_t{1}
                                     << 20;  // the deepest path, through yaml-cpp and CLI11, takes 0.2 MB

/// Without memory for a line.
int fail_plainly(const Program& program, std::initializer_list<const char*> what, int exit_code) {
  std::fputs(program.name, stderr);
  std::fputs(": ", stderr);
  for (const char* part : what) {
    for (const char* c = part; *c != 0; ++c) std::fputc(*c >= ' ' && *c < 0x7f ? *c : '?', stderr);
  }
  std::fputc('\n', stderr);
  return exit_code;
}

/// What runs on a thread of its own.
struct Call {
  const Program& program;
  const std::function<int()>& run;
  int exit_code = 0;
};

void* run_call(void* call) {
  auto* c = static_cast<Call*>(call);
  c->exit_code = run_caught(c->program, c->run);
  return nullptr;
}

/// Where `ulimit -s` allows less stack than a program needs: on a thread with enough, as are all threads that follow,
/// since they get as much as the limit says.
int run_with_stack(Call& call) {
  pthread_attr_t attributes;
  pthread_t thread;
  rlimit limit{};
  const bool enough = ::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kEnoughStack;
  if (enough || pthread_attr_init(&attributes) != 0) return run_caught(call.program, call.run);
  pthread_attr_setstacksize(&attributes, 8 * kEnoughStack);
  pthread_setattr_default_np(&attributes);
  if (pthread_create(&thread, &attributes, run_call, &call) != 0) return run_caught(call.program, call.run);
  pthread_join(thread, nullptr);
  return call.exit_code;
}

}  // namespace

int run_caught(const Program& program, const std::function<int()>& run) {
  try {
    return run();
  } catch (const std::bad_alloc&) {
    return fail_plainly(program, {kMemoryRanOut, "; ", program.spends_less}, 2);
  } catch (const std::system_error& e) {
    return fail_plainly(program, {"the system refused what was asked of it: ", e.what()}, kFailureExit);
  } catch (const std::exception& e) {
    return fail_plainly(program, {"internal error: ", e.what()}, kFailureExit);
  }
}

int run_program(const Program& program, const std::function<int()>& run) {
  handle_signals(program.name);
  Call call{program, run};
  return run_with_stack(call);
}

}  // namespace distsim
