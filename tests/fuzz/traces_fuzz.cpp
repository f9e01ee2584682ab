// Traces of all formats, packed or not, from the file to the texts that `distsim profile` prints.
#include "fuzz_target.hpp"
#include "sim/profile/profile.hpp"
#include "sim/report/profile/profile_report.hpp"
#include "traces/trace_reader.hpp"

FUZZ_TARGET(traces) {
  using namespace distsim;
  const fuzz::MemoryFile file(text);
  traces::TraceOptions options;
  options.window = std::size_t{1} << 12;
  options.max_bytes = std::uint64_t{1} << 24;
  const auto job = traces::read_traces({file.path()}, options);
  fuzz::check_answer(job);
  if (!job.ok()) return;
  const auto profile = profile::make_profile(*job);
  fuzz::check_answer(profile);
  if (profile.ok()) CHECK(!report::profile_json(*job, *profile).empty());
}
