// One run of an experiment, with its warm-up left out.
#pragma once

#include "base/result.hpp"
#include "sim/serving/spec/serving_spec.hpp"

namespace distsim::serving {

/// A first run shows the warm-up, which a second one leaves out; not where more came than could be served, over the whole run
/// or for a while, as what looks like a warm-up then is the queue that grows. `warm_up`: not null: instead of that of the
/// experiment, and not looked for. Errors: no request is left to count; what emulate() refuses.
Result<RunResult> play(const Experiment& e, const PolicyEntry& policy, const Load& load,
                       const std::uint64_t* warm_up = nullptr);

}  // namespace distsim::serving
