#include "sim/workload/llm/llm_fitting.hpp"

#include <utility>
#include <vector>

#include "sim/workload/graph/memory.hpp"
#include "sim/workload/llm/layer_by_layer/layer_by_layer.hpp"

namespace distsim::workload {
namespace {

struct Change {
  std::string text;
  ParallelSpec parallel;
  bool is_micro_batch = false;  ///< of which the largest is proposed
};

std::string setting(const char* key, std::int64_t value) {
  return "parallel." + std::string(key) + "=" + std::to_string(value);
}

/// `size_now`: of a micro-batch.
void add_smaller_micro_batches(std::vector<Change>& out, const ParallelSpec& now, std::int64_t size_now) {
  for (std::int64_t size = size_now / 2; size >= 1; size /= 2) {
    ParallelSpec p = now;
    p.micro_batch = size;
    p.states_micro_batch = true;
    out.push_back({setting("micro_batch", size), p, true});
  }
}

void add_recomputation(std::vector<Change>& out, const ParallelSpec& now) {
  if (now.recompute.kind == RecomputeKind::full && now.recompute.layers == 0) return;
  ParallelSpec p = now;
  p.recompute = {RecomputeKind::full, 0, {}};
  out.push_back({"parallel.recompute=full", p});
}

void add_sharding(std::vector<Change>& out, const ParallelSpec& now) {
  for (const StateSplit shard : {StateSplit::optimizer, StateSplit::gradients, StateSplit::weights}) {
    if (shard <= now.shard) continue;
    ParallelSpec p = now;
    p.shard = shard;
    out.push_back({"parallel.shard=" + std::string(name_of(shard)), p});
  }
}

void add_more_splits(std::vector<Change>& out, const ParallelSpec& now) {
  for (const std::int64_t times : {2, 4}) {
    ParallelSpec tensor = now, pipeline = now;
    tensor.tensor *= times;
    tensor.sequence_parallel = true;
    pipeline.pipeline *= times;
    out.push_back({setting("tensor", tensor.tensor) + " --set parallel.sequence_parallel=true", tensor});
    out.push_back({setting("pipeline", pipeline.pipeline), pipeline});
  }
}

std::vector<Change> changes_of(const ParallelSpec& now, std::int64_t micro_batch) {
  std::vector<Change> out;
  add_smaller_micro_batches(out, now, micro_batch);
  add_recomputation(out, now);
  add_sharding(out, now);
  add_more_splits(out, now);
  const std::size_t single = out.size();
  for (std::size_t i = 0; i < single; ++i) {
    std::vector<Change> both;
    add_recomputation(both, out[i].parallel);
    for (Change& c : both) out.push_back({out[i].text + " --set " + c.text, c.parallel});
  }
  return out;
}

bool fits_with(ModelSpec model, const ParallelSpec& parallel, const FrameworkSpec& framework,
               const ClusterShape& cluster, std::int64_t batch) {
  model.parallel = parallel;
  return layout_fits(model, framework, cluster, batch);
}

/// Of a layout that a change would start from.
std::int64_t micro_batch_of(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& cluster,
                            std::int64_t batch) {
  if (model.parallel.states_micro_batch) return model.parallel.micro_batch;
  if (is_layer_by_layer(model, framework, cluster.ranks())) {
    const Result<SamplePlan> samples = plan_samples(model, cluster.ranks());
    return samples.ok() ? samples->micro_step(0).largest() : 1;
  }
  const Result<LlmPlan> plan = plan_llm(model, framework, cluster, batch);
  return plan.ok() ? plan->parallel.micro_batch : model.parallel.micro_batch;
}

}  // namespace

bool layout_fits(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& cluster,
                 std::int64_t batch) {
  if (is_layer_by_layer(model, framework, cluster.ranks())) {
    const Result<SamplePlan> samples = plan_samples(model, cluster.ranks());
    if (!samples.ok()) return false;
    const Result<RankNeeds> needs = needs_layer_by_layer(model, framework, *samples);
    return needs.ok() && check_memory(needs->memory, cluster.ranks(), cluster.memory_per_gpu).ok();
  }
  const Result<LlmPlan> plan = plan_llm(model, framework, cluster, batch);
  return plan.ok() && fits(*plan);
}

std::string changes_that_fit(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& cluster,
                             std::int64_t batch) {
  constexpr std::size_t kMost = 3;
  ParallelSpec now = model.parallel;
  if (now.shard == StateSplit::automatic) now.shard = framework.parallel.shard;
  std::vector<std::string> found;
  bool smaller = false;
  for (const Change& change : changes_of(now, micro_batch_of(model, framework, cluster, batch))) {
    if (found.size() == kMost) break;
    if (change.is_micro_batch && smaller) continue;
    if (!fits_with(model, change.parallel, framework, cluster, batch)) continue;
    found.push_back("--set " + change.text);
    smaller = smaller || change.is_micro_batch;
  }
  if (found.empty())
    return "no smaller micro-batch, recomputation, sharding or split of these GPUs fits: use more GPUs";
  std::string text = "it fits with ";
  for (std::size_t i = 0; i < found.size(); ++i) text += (i == 0 ? "" : ", or ") + found[i];
  return text;
}

}  // namespace distsim::workload
