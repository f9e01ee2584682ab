// What to change where a language model does not fit on its GPUs.
#pragma once

#include <string>

#include "sim/workload/llm/llm_plan.hpp"

namespace distsim::workload {

/// Whether every rank has the memory, however the job is played.
bool layout_fits(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& cluster,
                 std::int64_t batch);

/// Up to three changes of the layout with which the model fits, those of the fewest keys first, as --set takes them:
/// "it fits with --set parallel.micro_batch=1, or --set parallel.recompute=full". Tried are a smaller micro-batch,
/// recomputation, sharding, larger degrees of tensor (on GPUs that NVLink joins), pipeline, expert and context parallelism, and
/// all of these together. Of changes that contain another one that fits only that one is named. Says so where none that was
/// tried fits; of very many GPUs not all are.
std::string changes_that_fit(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& cluster,
                             std::int64_t batch);

}  // namespace distsim::workload
