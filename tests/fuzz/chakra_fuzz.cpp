// Chakra traces of both layouts, and lists of communicators.
#include "fuzz_target.hpp"
#include "traces/chakra/chakra.hpp"
#include "traces/chakra/chakra_reader.hpp"

FUZZ_TARGET(chakra) {
  using namespace distsim;
  fuzz::check_answer(traces::read_chakra(text, "fuzz.0.et"));
  fuzz::check_answer(traces::read_chakra_groups(text, "groups.json"));
}
