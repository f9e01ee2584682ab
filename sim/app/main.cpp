#include "sim/app/commands.hpp"

#if __has_include(<malloc.h>)
#include <malloc.h>
#endif

namespace {

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
  return distsim::app::run_command(argc, argv);
}
