// What the section `parallel` comes to where it leaves keys open.
#pragma once

#include <optional>

#include "sim/config/config.hpp"
#include "sim/workload/specs/parallel_spec.hpp"

namespace distsim::study {

/// The layout of an experiment of a language model that is played by blocks, with what was decided for its open keys, or
/// nothing where it cannot be planned. Written out, its keys make the same plan: a key stays open where what was decided
/// has no value of its own, such as an offload of a part of the weights. Overlaps, which the framework decides, stay as
/// written.
std::optional<workload::ParallelSpec> settled_layout(const config::Experiment& experiment);

}  // namespace distsim::study
