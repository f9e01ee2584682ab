// Stacks of Python's profilers: collapsed, speedscope, cProfile's table.
#include "fuzz_target.hpp"
#include "traces/stacks/host_stacks.hpp"

FUZZ_TARGET(stacks) {
  using namespace distsim;
  const fuzz::MemoryFile file(text);
  const auto stacks = traces::read_host_stacks(file.path());
  fuzz::check_answer(stacks);
  if (!stacks.ok()) return;
  CHECK(!stacks->functions.empty() && stacks->sum > 0);
  for (const traces::HostFunction& f : stacks->functions)
    CHECK(f.self >= 0 && f.self <= 1.000001 * stacks->sum) << f.name;
}
