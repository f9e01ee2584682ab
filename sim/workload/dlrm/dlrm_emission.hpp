// Writes the tasks of a planned recommender iteration. One micro-step, by stream:
//   copy     input copy
//   comm     ids to owners, pooled vectors, gradients of pooled vectors, buckets of dense gradients
//   compute  lookups of owned tables, bottom MLP, interaction, top MLP, loss, backward in reverse, update of tables,
//            dense optimizer
//
// dlrm_emission.cpp has the order of a step, dlrm_lookups.cpp what happens on tables, dlrm_exchange.cpp how vectors
// travel.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/workload/dlrm/dlrm_plan.hpp"
#include "sim/workload/graph/exchange.hpp"
#include "sim/workload/graph/gradient_sync.hpp"
#include "sim/workload/graph/iteration.hpp"
#include "sim/workload/graph/micro_steps.hpp"

namespace distsim::workload {

Result<graph::TaskGraph> emit_dlrm(const DlrmPlan& plan);

/// A plan and the graph that it is written into.
struct DlrmEmission {
  explicit DlrmEmission(const DlrmPlan& p);

  const DlrmPlan& plan;
  Iteration it;
  LayerStacks bottoms, interactions, tops;
  std::uint32_t set_table = graph::Task::kUniform;  ///< rank -> its set of shards
};

/// All micro-steps, each by forward(e, split) and backward(e, split, accumulate, sync), and the optimizer of the parameters that
/// are not sharded. `pending`: their gradients, as they become ready; `split_tensors`: parameters beside them that are reduced
/// otherwise. Error: more tasks than can be numbered.
template <class Forward, class Backward>
Result<graph::TaskGraph> emit_micro_steps(DlrmEmission& e, const std::vector<PendingGradient>& pending,
                                          std::int64_t dense_parameters, const Forward& forward,
                                          const Backward& backward, std::int64_t split_tensors = 0) {
  const DlrmPlan& plan = e.plan;
  GradientSynchronizer sync(e.it, pending);
  for (std::int64_t step = 0; step < plan.samples.micro_steps; ++step) {
    const SampleSplit split = plan.samples.micro_step(step);
    forward(e, split);
    backward(e, split, step > 0, step + 1 == plan.samples.micro_steps ? &sync : nullptr);
    if (step == 0) TRY(check_micro_steps(plan.samples.micro_steps, e.it.end_id().value()));
  }
  sync.finish();
  const std::int64_t replicated = plan.frozen() ? 0 : plan.replicated_parameters();
  add_optimizer(e.it, plan.model.optimizer, dense_parameters + replicated,
                static_cast<std::int64_t>(pending.size()) + split_tensors, plan.model.precision == Precision::fp16);
  return std::move(e.it).finish();
}

constexpr graph::Phase phase_of(graph::Pass pass) {
  return pass == graph::Pass::forward ? graph::Phase::forward : graph::Phase::backward;
}

// On tables (dlrm_lookups.cpp). `split`: the samples of the micro-step.
void add_ids(DlrmEmission& e, const SampleSplit& split);
void add_lookups(DlrmEmission& e, const SampleSplit& split);
/// Lookups in the replicated tables, or their gradients where they are trained.
void add_replicated(DlrmEmission& e, const SampleSplit& split, graph::Pass pass, GradientSynchronizer* sync);
/// Gradients of the frequent rows of a hybrid embedding: they need only the all-reduce with the dense gradients.
void add_frequent_gradients(DlrmEmission& e, const SampleSplit& split, GradientSynchronizer* sync);
/// `last`: of the step's micro-steps, after which the optimizer visits the rows that had no gradients.
void add_sparse_update(DlrmEmission& e, const SampleSplit& split, bool last);
/// Gradients of tables that join those of the dense layers: frequent rows of a hybrid embedding, replicated tables.
void append_table_gradients(const DlrmPlan& plan, double flops_before, std::vector<PendingGradient>& out);

// Between owners and samples (dlrm_exchange.cpp).
/// Horovod carries the exchange, as it does the gradients.
bool by_horovod(const DlrmPlan& plan);
/// Vectors pass through host memory on their way between GPUs.
bool through_host(const DlrmPlan& plan);
/// The task that brings the vectors (or their gradients) home; invalid where nothing is exchanged.
TaskId add_exchange(DlrmEmission& e, const SampleSplit& split, Direction direction);
/// Frameworks that go table by table cut the received buffer into a tensor per vector (and join them again backward).
/// Partial sums of row slices that came by all-to-all are added up here too.
void add_unpacking(DlrmEmission& e, const SampleSplit& split, const char* name, graph::Phase phase);

}  // namespace distsim::workload
