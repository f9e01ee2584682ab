// Plans: which collectives, groups and sizes are to be measured. `distsim curves plan` writes one from an experiment.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "mpi_bench/collective/options.hpp"

namespace distsim::bench {

/// CSV with a header. Columns: collective (a name of nccl-tests or of distsim), dtype (fp32, fp16, bf16, int8, ... ; may be empty: float), ranks, nodes
/// (of one group), at_once (1: all groups of that shape run together; 0: one alone), bytes (as in the size column). Other columns are ignored. Rows of
/// the same collective, type and group are one curve; its sizes are sorted and counted once.
/// Errors: file:line, what was found, what was expected; more than 100,000 rows.
Result<std::vector<PlannedCurve>> parse_plan(std::string_view text, const std::string& file);

}  // namespace distsim::bench
