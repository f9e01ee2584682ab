#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <exception>
#include <string_view>

#include "base/system/signals.hpp"
#include "sim/app/commands.hpp"

#if __has_include(<malloc.h>)
#include <malloc.h>
#endif

namespace {

constexpr std::size_t kEnoughStack = std::size_t{1}
                                     << 20;  // the deepest path, through yaml-cpp and CLI11, takes 0.2 MB

/// Before main and before libraries have set themselves up, which takes memory that there may be none of (`ulimit -d`).
/// Nothing is open yet.
[[noreturn]] void end_before_main() {
  constexpr std::string_view kLine = "distsim: out of memory at its start\n";
  (void)!::write(STDERR_FILENO, kLine.data(), kLine.size());
  ::_exit(distsim::kFailureExit);
}
void set_first_terminate(int, char**, char**) { std::set_terminate(end_before_main); }

#if defined(__linux__)
/// What the loader calls before the constructors of shared libraries.
[[gnu::section(".preinit_array"), gnu::used]] void (*const before_libraries)(int, char**, char**) = set_first_terminate;
#endif

/// A validation or sweep makes and drops the same tens of megabytes for every case. Given back to the kernel each time,
/// a fifth of the run is page faults.
void keep_freed_memory() {
#ifdef M_TRIM_THRESHOLD
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
  mallopt(M_TOP_PAD, 16 << 20);
  mallopt(M_MMAP_THRESHOLD, 64 << 20);
#endif
}

/// What runs on a thread of its own.
struct Call {
  int argc;
  char** argv;
  int exit_code = 0;
};

void* run(void* call) {
  auto* c = static_cast<Call*>(call);
  c->exit_code = distsim::app::run_command(c->argc, c->argv);
  return nullptr;
}

/// Where `ulimit -s` allows less stack than the program needs: on a thread with enough, as are all threads that follow,
/// since they get as much as the limit says.
int run_with_stack(Call& call) {
  pthread_attr_t attributes;
  pthread_t thread;
  rlimit limit{};
  const bool enough = ::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kEnoughStack;
  if (enough || pthread_attr_init(&attributes) != 0) return distsim::app::run_command(call.argc, call.argv);
  pthread_attr_setstacksize(&attributes, 8 * kEnoughStack);
  pthread_setattr_default_np(&attributes);
  if (pthread_create(&thread, &attributes, run, &call) != 0) return distsim::app::run_command(call.argc, call.argv);
  pthread_join(thread, nullptr);
  return call.exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  keep_freed_memory();
  distsim::handle_signals();
  Call call{argc, argv};
  return run_with_stack(call);
}
