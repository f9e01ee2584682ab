#include "traces/trace_reader.hpp"

#include <algorithm>

#include "base/system/inputs/input_record.hpp"
#include "base/text/printable.hpp"
#include "traces/agreement.hpp"
#include "traces/build/collective_join.hpp"
#include "traces/job_assembly.hpp"
#include "traces/ranks/collective_match.hpp"
#include "traces/ranks/step_numbers.hpp"
#include "traces/ranks/unnamed_groups.hpp"
#include "traces/registry.hpp"
#include "traces/trace_file.hpp"
#include "traces/trace_format.hpp"
#include "traces/trace_steps.hpp"
#include "traces/verdict.hpp"

namespace distsim::traces {
namespace {

Result<TraceJob> read(const std::vector<std::string>& paths, const TraceOptions& options) {
  if (paths.empty()) return Error{"found no trace, expected at least one file, folder or pattern", "", ""};
  TraceJob job;
  job.budget.left = options.max_records;
  std::vector<ReadRank> read;
  TRY_ASSIGN(const std::vector<std::string> files, expand_paths(paths));
  for (const std::string& path : files) {
    TRY_ASSIGN(const std::vector<TraceFile> traces, open_trace_file(path, options));
    for (const TraceFile& trace : traces) {
      TRY_ASSIGN(std::vector<ReadRank> ranks, read_trace_file(trace, options, job));
      if (job.budget.is_spent) return beyond_budget(options, path);
      std::ranges::move(ranks, std::back_inserter(read));
    }
  }
  TRY(assemble(job, std::move(read)));
  for (TraceRank& rank : job.ranks) {
    TRY(find_steps(rank, job.names, options));
    complete_collectives(job, rank);
  }
  note_steps_apart(job);
  match_collectives(job);
  TRY(check_agreement(job));
  align_clocks(job, kClockTolerance);
  TRY(check_meetings(job));
  give_up_unlike_matches(job, kClockTolerance);
  if (!options.slice) TRY(check_plausible(job));  // of slices, all of them together say it
  return job;
}

}  // namespace

Result<TraceJob> read_traces(const std::vector<std::string>& paths, const TraceOptions& options) {
  InputRecord opened;  // a file is opened to tell its format, and again to be read
  Result<TraceJob> job = read(paths, options);
  const Result<void> unchanged = check_unchanged(opened.take());
  if (job.ok() && unchanged.ok()) return job;
  Error error = unchanged.ok() ? job.error() : unchanged.error();
  error.where = printable(error.where, 300);  // a path may hold anything
  return error;
}

}  // namespace distsim::traces
