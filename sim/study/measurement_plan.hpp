// What has to be measured on a cluster so that an experiment's collectives are priced from curves of exactly their
// groups and sizes.
#pragma once

#include <string>

#include "base/result.hpp"
#include "sim/config/config.hpp"

namespace distsim::study {

/// CSV for `collective_bench --plan`: collective,dtype,ranks,nodes,at_once,bytes,calls. A row for each distinct
/// collective of one iteration; `at_once` is 1 where all groups of the partition run together; `calls` is how often the
/// iteration has it. Groups of one rank and barriers are left out. Errors: those of building topology and workload, and
/// an experiment without collectives.
Result<std::string> measurement_plan(const config::Experiment& experiment);

}  // namespace distsim::study
