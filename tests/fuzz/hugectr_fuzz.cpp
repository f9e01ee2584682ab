// HugeCTR's inline profiler: results and lists of events.
#include "fuzz_target.hpp"
#include "traces/hugectr/hugectr_profile.hpp"
#include "traces/hugectr/hugectr_schedule.hpp"

FUZZ_TARGET(hugectr) {
  using namespace distsim;
  const fuzz::MemoryFile file(text);
  fuzz::check_answer(traces::read_hugectr_events(file.path()));
  fuzz::check_answer(traces::read_hugectr_profile(file.path(), {}));
}
