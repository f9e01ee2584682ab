#include <unistd.h>

#include <exception>
#include <string_view>

#include "base/system/program.hpp"
#include "base/system/signals.hpp"
#include "sim/app/commands.hpp"

#if __has_include(<malloc.h>)
#include <malloc.h>
#endif

namespace {

/// Before main and before libraries have set themselves up, which takes memory that there may be none of (`ulimit -d`).
/// Nothing is open yet.
[[noreturn]] void end_before_main() {
  constexpr std::string_view kLine = "distsim: this machine's memory ran out at its start\n";
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

}  // namespace

int main(int argc, char** argv) {
  keep_freed_memory();
  return distsim::run_program(distsim::app::kProgram, [&] { return distsim::app::run_command(argc, argv); });
}
