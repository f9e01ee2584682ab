// What to change where a language model does not fit on its GPUs.
#pragma once

#include <string>

#include "sim/workload/llm/llm_plan.hpp"

namespace distsim::workload {

/// Whether every rank has the memory, however the job is played.
bool layout_fits(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& cluster,
                 std::int64_t batch);

/// Up to three changes of the layout with which the model fits, the smallest first, as --set takes them: "parallel.micro_batch=1,
/// or parallel.recompute=full". Tried are a smaller micro-batch (of those that fit the largest is named), recomputation, sharding, and twice and four times the tensor and
/// pipeline degrees; then each of these with recomputation. Says so where none of them fits.
std::string changes_that_fit(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& cluster,
                             std::int64_t batch);

}  // namespace distsim::workload
