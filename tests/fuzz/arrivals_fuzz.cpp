// Files of arrival times for serving experiments: distsim's own columns, Azure's LLM inference and functions traces.
#include "fuzz_target.hpp"
#include "sim/serving/spec/arrival_file.hpp"

FUZZ_TARGET(arrivals) {
  using namespace distsim;
  const fuzz::MemoryFile file(text);
  const auto rows = serving::read_arrivals(file.path(), {"m", "n"});
  fuzz::check_answer(rows);
  if (!rows.ok()) return;
  CHECK(!rows->empty());
  for (std::size_t i = 0; i < rows->size(); ++i)
    CHECK((*rows)[i].time_ps >= 0 && (i == 0 || (*rows)[i - 1].time_ps <= (*rows)[i].time_ps));
}
