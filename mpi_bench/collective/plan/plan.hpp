// Plans: which collectives, groups and sizes are to be measured. `distsim curves plan` writes one from an experiment.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "mpi_bench/collective/options/options.hpp"

namespace distsim::bench {

/// CSV with a header. Columns: collective (a name of nccl-tests or of distsim), dtype (fp32, fp16, bf16, int8, ... ;
/// may be empty: float), ranks, nodes (of one group), at_once (1: all groups of that shape run together; 0: only one),
/// bytes (as in the size column). Other columns are ignored. Rows of the same collective, type and group are one curve;
/// its sizes are sorted and counted once. Errors: file:line, what was found, what was expected; more than 100,000 rows.
Result<std::vector<PlannedCurve>> parse_plan(std::string_view text, const std::string& file);

struct LoadedPlan {
  std::vector<PlannedCurve> curves;
  std::string remarks;  ///< lines of the program that made it
};

/// The curves of options.selected.plan. "simulate" runs the `distsim` next to this program (`distsim curves plan
/// --config options.selected.config`), so it must be called before MPI starts.
Result<LoadedPlan> load_plan(const Options& options);

/// One curve and the ranks that take part in it on this machine.
struct Measurement {
  PlannedCurve curve;
  Grouping grouping;
};

/// What a run measures, in the order asked for. Shapes that are the same ranks here under two names (8x2 and 8x2.alone
/// on a machine with one such group, all and nodes on one node) are one curve, under the first name and with the sizes
/// of both: a file holds one curve of an identity, which is collective, type, ranks, nodes, and whether other groups
/// run at the same time.
struct Schedule {
  std::vector<Measurement> measurements;
  std::vector<std::string> remarks;  ///< what was merged, a line each
};

/// `node_of` as in groups_of(), whose errors these are.
Result<Schedule> schedule_of(std::span<const PlannedCurve> curves, std::span<const int> node_of);

}  // namespace distsim::bench
